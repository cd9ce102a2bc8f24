"""The ArangoDB adapter on the wire: what it sends, byte for byte, and what it makes of every kind of reply."""

from __future__ import annotations

import asyncio
import json

import arango.exceptions
import pytest
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, Entity, Relation
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.kg import aql, arango_rows
from services.kg.arango_errors import EXCEPTIONS, STATUSES, translate
from services.kg.lane import KgLane, open_lane
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import STATUS, BadReply, DeadlinePassed, LanemeshError, Overloaded, Unavailable
from tests.kg.arango_data import STATEMENTS
from tests.kg.arango_server import OWN, SYSTEM, Arango, Sent, arango_server, error
from tests.kg.conftest import at_server, records

QUESTION = RetrieveRequest(query="Anchor", max_results=5)


@pytest.fixture
async def lane(environment: dict[str, str], arango: Arango):
    opened = await open_lane(environment | at_server(arango.url))
    yield opened
    await opened.close()


async def ask(lane: KgLane, seconds: float = 30.0) -> RetrieveResponse:
    reply = RetrieveResponse()
    with ambient(Deadline.after(seconds)):
        await lane.retrieve(QUESTION, reply)
    return reply


async def test_first_use_creates_database_graph_collections_and_indexes(lane: KgLane, arango: Arango) -> None:
    await lane.check()
    sent = [(each.method, each.path, each.query, each.body) for each in arango.requests]
    ends = ["entities"]
    assert sent[:-1] == [
        ("GET", f"{SYSTEM}/_api/database", {}, None),
        ("POST", f"{SYSTEM}/_api/database", {}, {"name": "sarvanom_kg"}),
        ("GET", f"{OWN}/_api/gharial/knowledge_graph", {}, None),
        (
            "POST",
            f"{OWN}/_api/gharial",
            {},
            {
                "name": "knowledge_graph",
                "options": {},
                "edgeDefinitions": [{"collection": "relations", "from": ends, "to": ends}],
            },
        ),
        ("GET", f"{OWN}/_api/collection", {}, None),
        ("POST", f"{OWN}/_api/collection", arango.requests[5].query, arango.requests[5].body),
        ("POST", f"{OWN}/_api/index", {"collection": ["entities"]}, index("by_key", "keys[*]")),
        ("POST", f"{OWN}/_api/index", {"collection": ["documents"]}, index("by_word", "words[*]")),
    ]
    assert arango.requests[5].body["name"] == "documents"
    arango.requests.clear()
    await lane.check()
    assert [each.path for each in arango.requests] == [f"{OWN}/_api/cursor"]


def index(name: str, field: str) -> dict[str, object]:
    return {"type": "persistent", "name": name, "fields": [field], "inBackground": True}


async def test_statements_are_constants_with_bind_variables_and_the_time_left(lane: KgLane, arango: Arango) -> None:
    await lane.upsert(records(Relation(head="Anchor", relation="HOLDS", tail="Ship")))
    arango.requests.clear()
    await ask(lane, seconds=5.0)
    assert arango.statements()
    for body in arango.statements():
        assert body["query"] in STATEMENTS
        assert 0.0 < body["options"]["maxRuntime"] <= 5.0
    first = arango.statements()[0]
    assert first["query"] == aql.LINK
    assert first["bindVars"] == {"keys": ["anchor"], "labels": [], "projects": None, "limit": 24, "most": 100}


async def test_batch_is_one_synchronous_transaction(lane: KgLane, arango: Arango) -> None:
    await lane.check()
    arango.requests.clear()
    relation = Relation(head="a", relation="HOLDS", tail="b", confidence=0.5, access_labels=["m", "l"])
    entity = Entity(id="b", name="Buoy", aliases=["the marks"], projects=["p"])
    document = Document(id="d", title="T", content="Red Buoys.", language="en-GB")
    await lane.upsert(records(relation, entity, document))
    begin, *writes, commit = arango.requests
    collections = ["entities", "relations", "documents"]
    assert (begin.path, begin.body) == (
        f"{OWN}/_api/transaction/begin",
        {"collections": {"write": collections}, "waitForSync": True},
    )
    assert (commit.method, commit.path) == ("PUT", f"{OWN}/_api/transaction/1")
    assert [write.headers["x-arango-trx-id"] for write in writes] == ["1"] * 4
    rows = {write.body["query"]: write.body["bindVars"]["rows"] for write in writes}
    assert rows == {
        aql.PUT_ENTITIES: [arango_rows.entity_row(entity)],
        aql.PUT_STUBS: [arango_rows.stub_row("a")],
        aql.PUT_RELATIONS: [arango_rows.relation_row(relation)],
        aql.PUT_DOCUMENTS: [arango_rows.document_row(document)],
    }
    (stored,) = rows[aql.PUT_ENTITIES]
    assert stored["keys"] == ["buoy", "the mark", "mark"]
    (edge,) = rows[aql.PUT_RELATIONS]
    assert (edge["_from"], edge["labels"]) == (f"entities/{arango_rows.key_of('a')}", ["l", "m"])


async def test_failed_batch_is_undone(lane: KgLane, arango: Arango) -> None:
    await lane.check()
    arango.instead = lambda sent: _failing(sent, aql.PUT_RELATIONS)
    with pytest.raises(Unavailable):
        await lane.upsert(records(Entity(id="a", name="Anchor"), Relation(head="a", relation="HOLDS", tail="b")))
    assert (arango.requests[-1].method, arango.requests[-1].path) == ("DELETE", f"{OWN}/_api/transaction/1")
    arango.instead = lambda _sent: None
    assert (await lane.stats([])).entities == 0


def _failing(sent: Sent, statement: str) -> tuple[int, object] | None:
    wrong = sent.path.endswith("/cursor") and sent.body["query"] == statement
    return (500, error(500, 4, "internal error")) if wrong else None


async def test_results_come_in_batches(lane: KgLane, arango: Arango) -> None:
    await lane.upsert(records(*(Relation(head="Anchor", relation="HOLDS", tail=f"link {n}") for n in range(30))))
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query="what does Anchor hold", max_results=20), reply)
    assert len(reply.evidence) == 20
    assert any("/cursor/" in each.path for each in arango.requests)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, error(401, 11, "secret text"), Unavailable),
        (403, error(403, 11, "secret text"), Unavailable),
        (404, error(404, 1203, "secret text"), Unavailable),
        (409, error(409, 1200, "secret text"), Unavailable),
        (410, error(410, 1500, "secret text"), DeadlinePassed),
        (429, error(429, 1, "secret text"), Overloaded),
        (400, error(400, 1501, "secret text"), LanemeshError),
        (500, error(500, 4, "secret text"), Unavailable),
        (503, error(503, 503, "secret text"), Unavailable),
        (301, b"", BadReply),
        (200, b"garbage", BadReply),
        (200, b"", BadReply),
        (201, {"result": [{"key": "anchor"}], "hasMore": False}, BadReply),
        (201, {"result": "text", "hasMore": False}, BadReply),
        (502, b"<html>secret text</html>", Unavailable),
    ],
)
async def test_every_kind_of_reply(lane: KgLane, arango: Arango, status: int, body: object, kind: type) -> None:
    await lane.check()
    arango.instead = lambda sent: (status, body) if sent.path.endswith("/cursor") else None
    with pytest.raises(kind) as raised:
        await ask(lane)
    assert type(raised.value) is kind
    assert "secret" not in raised.value.message
    # Whatever it was, it passes without a restart.
    arango.instead = lambda _sent: None
    assert (await ask(lane)).reason == "NO_ENTITY"


async def test_server_that_hangs_costs_no_more_than_the_deadline(lane: KgLane, arango: Arango) -> None:
    await lane.check()
    arango.released.clear()
    with pytest.raises(DeadlinePassed):
        await ask(lane, seconds=0.05)
    with pytest.raises(DeadlinePassed):
        await ask(lane, seconds=-1.0)
    arango.released.set()
    assert (await ask(lane)).reason == "NO_ENTITY"


async def test_wrong_password_is_unavailable_and_never_told(environment: dict[str, str], arango: Arango) -> None:
    lane = await open_lane(environment | at_server(arango.url) | {"ARANGO_PASSWORD": "hunter2"})
    with pytest.raises(Unavailable) as raised:
        await lane.check()
    assert "hunter2" not in str(raised.value)
    assert "credentials" in raised.value.message
    await lane.close()


async def test_server_may_be_down_at_start_and_come_and_go(environment: dict[str, str]) -> None:
    with arango_server(Arango()) as first:
        url = first.url
    lane = await open_lane(environment | at_server(url))
    with pytest.raises(Unavailable, match="cannot be reached"):
        await lane.check()
    port = int(url.rsplit(":", 1)[1])
    for _ in range(2):
        with arango_server(Arango(), port):
            await lane.check()
            await lane.upsert(records(Entity(id="a", name="Anchor")))
            assert (await ask(lane)).entities[0].name == "Anchor"
        with pytest.raises(Unavailable):
            await ask(lane)
    await lane.close()


async def test_calls_are_bounded_and_do_not_block_the_loop(lane: KgLane, arango: Arango) -> None:
    await lane.check()
    arango.requests.clear()
    arango.released.clear()
    calls = [asyncio.create_task(lane.check()) for _ in range(6)]
    async with asyncio.timeout(30):
        await asyncio.to_thread(arango.arrived.acquire)
        await asyncio.to_thread(arango.arrived.acquire)
    # Two threads, so two requests; the loop still turns.
    assert len(arango.requests) == 2
    arango.released.set()
    await asyncio.gather(*calls)


async def test_deletion_is_one_transaction(lane: KgLane, arango: Arango) -> None:
    await lane.upsert(records(Relation(head="a", relation="HOLDS", tail="b")))
    arango.requests.clear()
    assert await lane.delete(DeleteRequest(entity_ids=["a"])) == 1
    assert [each.body["query"] for each in arango.requests[1:-1]] == [
        aql.DROP_DOCUMENTS,
        aql.DROP_RELATIONS,
        aql.DROP_RELATIONS_OF,
        aql.DROP_ENTITIES,
        aql.DROP_UNNAMED,
    ]
    assert arango.requests[-1].method == "PUT"
    assert not arango.data.entities


def test_every_statement_is_known_to_the_fake_and_holds_no_value() -> None:
    constants = {value for name, value in vars(aql).items() if name.isupper() and " " in str(value) and name[0] != "_"}
    assert constants == set(STATEMENTS)


def test_table_of_errors_is_whole() -> None:
    for kind in vars(arango.exceptions).values():
        if isinstance(kind, type) and issubclass(kind, arango.exceptions.ArangoError):
            assert issubclass(kind, tuple(EXCEPTIONS))
    assert {1 * first for first in STATUSES if first < 10} == {2, 3, 4, 5}
    assert {kind for kind, _ in (*STATUSES.values(), *EXCEPTIONS.values())} <= set(STATUS)
    for foreign, (kind, message) in EXCEPTIONS.items():
        raised = translate(foreign("secret"))
        assert (type(raised), raised.message) == (kind, message)


def test_keys_tell_identities_apart() -> None:
    assert arango_rows.key_of("a", "bc") != arango_rows.key_of("ab", "c")
    assert arango_rows.key_of("1:a") != arango_rows.key_of("a")
    assert json.loads(json.dumps(arango_rows.stub_row("x\x00'"))) == arango_rows.stub_row("x\x00'")
