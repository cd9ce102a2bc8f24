"""The lane through its front door, the same on every engine: what is asked of the graph is what it answers."""

from __future__ import annotations

import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, Entity, Relation
from lanemesh.v1.lane_pb2 import (
    GRAPH_OPERATION_LOOKUP,
    GRAPH_OPERATION_PATHS,
    GRAPH_OPERATION_RESOLVE,
    GRAPH_OPERATION_SCOPE,
    GRAPH_OPERATION_TRAVERSE,
    SCOPE_MATCH_ALL,
    SCOPE_MATCH_ANY,
)

from services.kg.lane import KgLane
from services.runtime.errors import InvalidRequest
from services.runtime.lane import IndexLane
from tests.kg.conftest import titles

SERVICES = (
    Entity(id="s:Orders", name="OrderDesk", type="service", projects=["orders"], description="Takes orders."),
    Entity(id="s:Adapter", name="PayAdapter", type="service", projects=["payments"], aliases=["the pay door"]),
    Entity(id="s:Gateway", name="PayGateway", type="service", projects=["payments"], confidence=0.5),
    Relation(head="s:Orders", relation="CALLS", tail="s:Adapter", projects=["orders"], confidence=0.8),
    Relation(head="s:Adapter", relation="CALLS", tail="s:Gateway", description="With retries"),
    Relation(head="Ann", relation="LEADS", tail="s:Gateway"),
)
FILMS = tuple(
    Relation(head=head, relation=relation, tail=tail)
    for head, relation, tail in (
        ("North", "directed_by", "Ada Lund"),
        ("South", "directed_by", "Ada Lund"),
        ("South", "written_by", "Bo Ek"),
        ("North", "starred_actors", "Cy Dahl"),
        ("East", "starred_actors", "Cy Dahl"),
        ("East", "directed_by", "Di Falk"),
        ("East", "release_year", "1987"),
        ("When", "directed_by", "Ed Gran"),
        ("When", "release_year", "1991"),
    )
)


async def test_lane_keeps_all_kinds(lane: KgLane) -> None:
    assert isinstance(lane, IndexLane)
    assert lane.keeps == {"document", "entity", "relation"}
    await lane.check()


async def test_no_entity_is_said(store, ask) -> None:
    await store(*SERVICES)
    reply = await ask("what is the weather", projects=["orders"], access_labels=["held"])
    assert (reply.reason, len(reply.evidence)) == ("NO_ENTITY", 0)
    assert reply.message == "The graph knows no entity of the query by name within the filters projects."


@pytest.mark.parametrize(
    "query", ["PayGateway", "pay gateway", "the pay_gateway?", "PAY-GATEWAYS", "the pay gateway's", "paygateway"]
)
async def test_names_are_found_however_they_are_written(store, ask, query: str) -> None:
    await store(*SERVICES)
    reply = await ask(query, graph={"operation": GRAPH_OPERATION_LOOKUP})
    assert titles(reply) == ["PayGateway"]
    (linked,) = reply.entities
    assert (linked.entity_id, linked.name, linked.type) == ("s:Gateway", "PayGateway", "service")
    assert query[linked.span.start : linked.span.end] == linked.mention


async def test_look_up_tells_the_entity_in_sentences(store, ask) -> None:
    await store(*SERVICES)
    reply = await ask("paygateway", graph={"operation": GRAPH_OPERATION_LOOKUP})
    (evidence,) = reply.evidence
    assert evidence.document.id == "kg:s:Gateway"
    assert evidence.document.content.startswith("PayGateway is a service.")
    assert "PayAdapter calls PayGateway. With retries." in evidence.document.content
    assert "Ann leads PayGateway." in evidence.document.content
    assert (evidence.kind, evidence.graph.hops, list(evidence.graph.projects)) == ("entity", 0, ["payments"])
    assert evidence.confidence == 0.5


async def test_path_names_its_intermediary(store, ask) -> None:
    await store(*SERVICES)
    reply = await ask("How does the order desk connect to PayGateway?")
    (evidence,) = reply.evidence
    assert evidence.document.title == "OrderDesk → PayAdapter → PayGateway"
    assert evidence.document.content == "OrderDesk calls PayAdapter. PayAdapter calls PayGateway. With retries."
    assert [(step.head, step.tail, step.reversed) for step in evidence.graph.path] == [
        ("OrderDesk", "PayAdapter", False),
        ("PayAdapter", "PayGateway", False),
    ]
    assert (evidence.graph.hops, list(evidence.graph.relation_types)) == (2, ["CALLS"])
    assert list(evidence.graph.projects) == ["orders", "payments"]
    assert evidence.confidence == pytest.approx(0.8)


async def test_path_follows_relations_both_ways_and_says_so(store, ask) -> None:
    await store(*SERVICES)
    reply = await ask("path from Ann to OrderDesk")
    (evidence,) = reply.evidence
    assert [step.reversed for step in evidence.graph.path] == [False, True, True]


async def test_path_keeps_hops_and_relation_types(store, ask) -> None:
    await store(*SERVICES)
    for options in ({"max_hops": 1}, {"relations": ["LEADS"]}):
        reply = await ask("OrderDesk to PayGateway", graph={"operation": GRAPH_OPERATION_PATHS, **options})
        assert (reply.reason, len(reply.evidence)) == ("NO_PATH", 0)
        assert "joins" in reply.message


async def test_shortest_paths_come_first(store, ask) -> None:
    edges = [("a1", "b1"), ("b1", "c1"), ("a1", "c1"), ("a1", "d1"), ("d1", "e1"), ("e1", "c1")]
    await store(*(Relation(head=head, relation="JOINS", tail=tail) for head, tail in edges))
    reply = await ask("between a1 and c1", graph={"operation": GRAPH_OPERATION_PATHS})
    assert titles(reply) == ["a1 → c1", "a1 → b1 → c1", "a1 → d1 → e1 → c1"]


async def test_traverse_reaches_as_far_as_it_may(store, ask) -> None:
    await store(*SERVICES)
    for hops, expected in (
        (1, {"PayAdapter"}),
        (2, {"PayAdapter", "PayGateway"}),
        (3, {"PayAdapter", "PayGateway", "Ann"}),
    ):
        reply = await ask("OrderDesk", graph={"operation": GRAPH_OPERATION_TRAVERSE, "max_hops": hops})
        assert set(titles(reply)) == expected
        assert max(evidence.graph.hops for evidence in reply.evidence) == hops


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("who directed North", {"Ada Lund"}),
        ("what year was East released", {"1987"}),
        ("what did Ada Lund direct", {"North", "South"}),
        ("who wrote the films directed by Ada Lund", {"Bo Ek"}),
        ("the movies starring Cy Dahl were directed by who", {"Ada Lund", "Di Falk"}),
        ("which films share the same director of North", {"South"}),
        ("what other films were made by the director of South", {"North"}),
        ("who directed When", {"Ed Gran"}),
        ("When, when was it released", {"1991"}),
        ("who directed when", {"Ed Gran"}),
    ],
)
async def test_relation_words_decide_what_comes_first(store, ask, question: str, first: set[str]) -> None:
    await store(*FILMS)
    assert set(titles(await ask(question))[: len(first)]) == first


async def test_direction_of_the_sentence_decides_between_directions(store, ask) -> None:
    await store(*SERVICES)
    assert titles(await ask("What does PayAdapter call?"))[0] == "PayGateway"
    assert titles(await ask("What calls PayAdapter?"))[0] == "OrderDesk"
    assert titles(await ask("What is called by PayAdapter?"))[0] == "PayGateway"


async def test_resolve_finds_the_name_in_every_project(store, ask) -> None:
    tables = [Entity(id=f"{p}.users", name=f"{p}.users", aliases=["user table"], projects=[p]) for p in ("x", "y")]
    await store(*tables, Entity(id="z", name="z.other", projects=["z"]))
    reply = await ask("user tables", graph={"operation": GRAPH_OPERATION_RESOLVE})
    assert set(titles(reply)) == {"x.users", "y.users"}
    assert {evidence.kind for evidence in reply.evidence} == {"cross_ref"}
    assert list(reply.scope.projects) == ["x", "y"]


async def test_scope(store, ask) -> None:
    await store(*SERVICES, Entity(id="lone", name="Lonely"))
    whole = await ask("PayAdapter and PayGateway", graph={"operation": GRAPH_OPERATION_SCOPE})
    some = await ask("OrderDesk and PayGateway", graph={"operation": GRAPH_OPERATION_SCOPE})
    none = await ask("Lonely", graph={"operation": GRAPH_OPERATION_SCOPE})
    assert (list(whole.scope.projects), whole.scope.match) == (["payments"], SCOPE_MATCH_ALL)
    assert (list(some.scope.projects), some.scope.match) == (["orders", "payments"], SCOPE_MATCH_ANY)
    assert (list(none.scope.projects), none.message) == ([], "The graph knows no project that contains Lonely.")
    assert not whole.evidence


async def test_scope_of_an_entity_without_projects_comes_from_relations_then_documents(store, ask) -> None:
    await store(
        Relation(head="Kite", relation="FLIES", tail="Sky", projects=["air"]),
        Entity(id="d", name="Dinghy"),
        Document(id="doc", content="The dinghy leaks.", project="sea"),
    )
    assert list((await ask("Kite")).scope.projects) == ["air"]
    assert list((await ask("Dinghy")).scope.projects) == ["sea"]


@pytest.mark.parametrize("order", [0, 1])
async def test_documents_are_linked_in_whichever_order_they_arrive(store, ask, order: int) -> None:
    document = Document(id="doc", title="Notes", content="Nothing. We use Pay-Gateway daily. End.", project="orders")
    batches = [(document,), SERVICES]
    for batch in batches[::-1] if order else batches:
        await store(*batch)
    evidence = (await ask("What is PayGateway?")).evidence[-1]
    assert (evidence.document, evidence.kind, list(evidence.entities)) == (document, "cross_ref", ["PayGateway"])
    passage = evidence.passage
    assert document.content[passage.start : passage.end] == "We use Pay-Gateway daily."


async def test_replacing_and_deleting_leave_no_ghost(lane: KgLane, store, ask) -> None:
    await store(*SERVICES, Document(id="doc", content="PayGateway"))
    await store(Entity(id="s:Gateway", name="Renamed"), Document(id="doc", content="nothing"))
    assert (await ask("PayGateway")).reason == "NO_ENTITY"
    assert "doc" not in {evidence.document.id for evidence in (await ask("Renamed")).evidence}
    gone = DeleteRequest(entity_ids=["s:Gateway", "missing"], document_ids=["doc", "doc"])
    assert await lane.delete(gone) == 2
    assert await lane.delete(gone) == 0
    # Ann was only named by a relation that went with its entity.
    stats = await lane.stats([])
    assert (stats.documents, stats.entities, stats.relations) == (0, 2, 1)
    relation = Relation(head="s:Orders", relation="CALLS", tail="s:Adapter")
    assert await lane.delete(DeleteRequest(relations=[relation, relation])) == 1


async def test_storing_again_changes_nothing(lane: KgLane, store, ask) -> None:
    document = Document(id="doc", content="OrderDesk", project="p")
    await store(*SERVICES, document)
    before = await lane.stats([]), await ask("OrderDesk")
    await store(*SERVICES, document)
    assert ((await lane.stats([])).entities, await ask("OrderDesk")) == (before[0].entities, before[1])
    assert before[0].entities == 4


async def test_last_of_a_batch_wins(store, ask) -> None:
    await store(Entity(id="a", name="First"), Entity(id="a", name="Second"))
    assert (await ask("First")).reason == "NO_ENTITY"
    assert titles(await ask("Second")) == ["Second"]


async def test_limits(store, ask) -> None:
    await store(*(Relation(head="Hub", relation="HOLDS", tail=f"spoke {n}") for n in range(60)))
    reply = await ask("what does Hub hold", limit=100)
    assert len(reply.evidence) == 20
    assert reply.total_found >= 60
    scores = [evidence.score for evidence in reply.evidence]
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(InvalidRequest, match=r"graph\.max_hops"):
        await ask("Hub", graph={"max_hops": 6})
    with pytest.raises(InvalidRequest, match=r"graph\.operation"):
        await ask("Hub", graph={"operation": 99})


INJECTIONS = [
    "' OR 1=1 --",
    '"; REMOVE x IN entities',
    "`",
    "@labels",
    "RETURN 1",
    "%",
    "\\",
    "{}",
    "a\x00b",
    "*/",
    "‮x",
]


@pytest.mark.parametrize("text", INJECTIONS)
async def test_no_syntax_of_the_caller_acts(lane: KgLane, store, ask, text: str) -> None:
    await store(
        *SERVICES,
        Entity(id=text, name=f"zz {text}", aliases=[text], projects=[text], access_labels=[text]),
        Relation(head=text, relation=text, tail="s:Orders", projects=[text]),
        Document(id=text, content=f"zz {text} OrderDesk", project=text, source=text, tags=[text]),
    )
    hidden = await ask(f"zz {text} OrderDesk")
    assert text not in {linked.entity_id for linked in hidden.entities}
    opened = await ask(f"zz {text}", access_labels=[text])
    assert text in {linked.entity_id for linked in opened.entities} or not opened.entities
    for filters in ({"projects": [text]}, {"sources": [text]}, {"tags": [text]}, {"language": text}):
        await ask("OrderDesk", **filters)
    await ask("OrderDesk", graph={"relations": [text]})
    assert (await lane.stats([text])).entities == 5
    assert (await lane.stats([])).entities == 4
