"""Filters and access labels: what a caller may not see is in no result, name, path, scope, link or count."""

from __future__ import annotations

import tempfile
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation
from lanemesh.v1.lane_pb2 import (
    GRAPH_OPERATION_LOOKUP,
    GRAPH_OPERATION_PATHS,
    GRAPH_OPERATION_TRAVERSE,
    Filters,
    GraphOptions,
    RetrieveRequest,
    RetrieveResponse,
)

from services.kg.lane import KgLane, open_lane
from tests.kg.arango_server import Arango, arango_server
from tests.kg.conftest import at_server, records, titles

DOCUMENTS = (
    Document(id="a", content="zebra", project="p", source="news", language="en", published_at=Timestamp(seconds=10)),
    Document(id="b", content="zebra", project="q", source="docs", language="en-GB", published_at=Timestamp(seconds=20)),
    Document(id="c", content="zebra", language="eng", tags=["x"], published_at=Timestamp(seconds=20, nanos=1)),
    Document(id="d", content="zebra", access_labels=["l", "m"]),
)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "abc"),
        ({"projects": ["p"]}, "a"),
        ({"sources": ["docs"]}, "b"),
        ({"published_after": Timestamp(seconds=20)}, "bc"),
        ({"published_before": Timestamp(seconds=20)}, "a"),
        ({"published_before": Timestamp(seconds=20, nanos=1)}, "ab"),
        ({"language": "EN"}, "ab"),
        ({"tags": ["x", "y"]}, "c"),
        ({"access_labels": ["m"]}, "abcd"),
    ],
)
async def test_each_filter_on_linked_documents(lane, store, ask, filters: dict[str, Any], expected: str) -> None:
    await store(Entity(id="z", name="Zebra", projects=["p"]), *DOCUMENTS)
    reply = await ask("zebra", **filters)
    found = {each.document.id for each in reply.evidence if each.kind == "cross_ref"}
    # At most three documents are shown for an entity.
    assert found <= set(expected)
    assert len(found) == min(3, len(expected))


async def test_projects_limit_entities_relations_and_scope(store, ask) -> None:
    await store(
        Entity(id="a", name="Anchor", projects=["x", "y"]),
        Entity(id="b", name="Buoy", projects=["y"]),
        Relation(head="a", relation="HOLDS", tail="b"),
        Relation(head="a", relation="HOLDS", tail="Chain", projects=["x"]),
        Relation(head="a", relation="HOLDS", tail="Rope"),
    )
    within_x, within_y = await ask("what does Anchor hold", projects=["x"]), await ask("Anchor", projects=["y"])
    assert (titles(within_x), list(within_x.scope.projects)) == (["Chain", "Anchor"], ["x"])
    assert (set(titles(within_y)), list(within_y.scope.projects)) == ({"Buoy", "Anchor"}, ["y"])
    assert (await ask("Buoy", projects=["x"])).reason == "NO_ENTITY"
    assert (await ask("Rope", projects=["x"])).reason == "NO_ENTITY"


async def test_hidden_names_exist_for_nobody_else(lane: KgLane, store, ask) -> None:
    await store(
        Entity(id="s", name="Secret", access_labels=["inner"], projects=["vault"]),
        Entity(id="o", name="Open", projects=["hall"]),
        Relation(head="o", relation="GUARDS", tail="s"),
        Relation(head="s", relation="KNOWS", tail="Whisper"),
        Relation(head="o", relation="FEARS", tail="Rumour", access_labels=["inner"]),
    )
    for name in ("Secret", "Whisper", "Rumour"):
        assert (await ask(name)).reason == "NO_ENTITY"
        assert (await ask(name, access_labels=["inner"])).entities[0].name == name
    assert titles(await ask("what does Open guard and fear")) == ["Open"]
    assert (await lane.stats([])).entities == 1
    assert (await lane.stats(["inner"])).entities == 4
    assert ((await lane.stats([])).relations, (await lane.stats(["inner"])).relations) == (0, 3)


LABELS = st.lists(st.sampled_from(["a", "b", "a\x00b", "\\", "'"]), max_size=2, unique=True)
ENTITIES = st.lists(LABELS, min_size=3, max_size=5)
ENDS = st.integers(0, 6)
RELATIONS = st.lists(st.tuples(ENDS, ENDS, LABELS), max_size=8, unique_by=lambda each: each[:2])


def _name(number: int) -> str:
    return f"Thing{'ABCDEFG'[number]}x"


@pytest.mark.parametrize("engine", ["sqlite", "arango"])
@settings(max_examples=25, deadline=None)
@given(entities=ENTITIES, relations=RELATIONS, documents=st.lists(LABELS, max_size=3), held=LABELS)
async def test_random_labels_agree_with_a_plain_reference(engine, entities, relations, documents, held) -> None:
    """Entities beyond those given exist only through relations."""
    given_records = [
        *(Entity(id=_name(n), name=_name(n), access_labels=own, projects=[f"p{n}"]) for n, own in enumerate(entities)),
        *(
            Relation(
                head=_name(head), relation="JOINS", tail=_name(tail), access_labels=own, projects=[f"r{head}{tail}"]
            )
            for head, tail, own in relations
        ),
        *(
            Document(id=f"d{n}", content=" ".join(map(_name, range(7))), project=f"d{n}", access_labels=own)
            for n, own in enumerate(documents)
        ),
    ]

    def opens(own: list[str]) -> bool:
        return not own or bool(set(own) & set(held))

    visible = {n for n, own in enumerate(entities) if opens(own)}
    edges = {
        (head, tail)
        for head, tail, own in relations
        if opens(own) and all(end >= len(entities) or end in visible for end in (head, tail))
    }
    visible |= {end for edge in edges for end in edge}
    allowed = {f"p{n}" for n in visible} | {f"r{head}{tail}" for head, tail in edges}
    allowed |= {f"d{n}" for n, own in enumerate(documents) if opens(own)}
    with tempfile.TemporaryDirectory() as home, arango_server(Arango()) as server:
        environment = {"LANEMESH_HOME": home, "LANEMESH_KG_READERS": "1"}
        lane = await open_lane(environment | (at_server(server.url) if engine == "arango" else {}))
        await lane.upsert(records(*given_records))
        stats = await lane.stats(held)
        assert (stats.entities, stats.relations) == (len(visible), len(edges))
        assert stats.documents == sum(map(opens, documents))
        for operation in (GRAPH_OPERATION_LOOKUP, GRAPH_OPERATION_TRAVERSE, GRAPH_OPERATION_PATHS, 0):
            reply = await _asked(lane, operation, held)
            names = {linked.name for linked in reply.entities}
            assert names == {_name(n) for n in visible}
            assert set(reply.scope.projects) <= allowed
            told = str(reply).replace(QUERY, "")
            for number in range(7):
                assert (_name(number) in told.replace("content", "")) <= (number in visible or _quoted(reply))
        await lane.close()


QUERY = " ".join(map(_name, range(7)))


def _quoted(reply: RetrieveResponse) -> bool:
    """Whether a document that the caller may read quotes the names itself."""
    return any(each.kind == "cross_ref" and each.document.id.startswith("d") for each in reply.evidence)


async def _asked(lane: KgLane, operation: Any, held: list[str]) -> RetrieveResponse:
    reply = RetrieveResponse()
    options = GraphOptions(operation=operation)
    request = RetrieveRequest(query=QUERY, max_results=20, filters=Filters(access_labels=held), graph=options)
    await lane.retrieve(request, reply)
    return reply
