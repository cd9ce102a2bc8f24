"""The demo corpus, and the film graph where it is at hand: questions people ask, answered by the embedded graph."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from client import reading
from client.records import Record
from services.kg.lane import KgLane, open_lane
from tests.kg.conftest import titles

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FILMS = Path(__file__).parents[3] / "shared" / "data" / "metaqa"


@pytest.fixture
async def lane(environment: dict[str, str]):
    opened = await open_lane(environment)
    yield opened
    await opened.close()


async def ingest(lane: KgLane, *paths: Path) -> None:
    read = [item for item in reading.read(reading.find([str(path) for path in paths])) if isinstance(item, Record)]
    kinds = [(item.request.WhichOneof("record"), item.request) for item in read]
    records = [UpsertRequest(**{kind: getattr(request, kind)}) for kind, request in kinds]
    for start in range(0, len(records), 500):
        await lane.upsert(records[start : start + 500])


async def ask(lane: KgLane, query: str, *types: str) -> RetrieveResponse:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query=query, max_results=20, query_types=types), reply)
    return reply


async def test_path_between_services(lane: KgLane) -> None:
    await ingest(lane, CORPUS)
    best = (await ask(lane, "How does OrderService connect to PaymentGateway?", "relationship")).evidence[0]
    assert best.document.title == "OrderService → PaymentAdapter → PaymentGateway"
    assert best.document.content.startswith("OrderService calls PaymentAdapter.")
    assert best.graph.hops == 2


async def test_scope_of_customer_tables(lane: KgLane) -> None:
    await ingest(lane, CORPUS)
    reply = await ask(lane, "What patterns do other teams use for customer tables?", "cross_project", "pattern")
    assert list(reply.scope.projects) == ["auth", "billing", "crm"]
    assert {"Audit columns", "UUID primary key", "Natural primary key", "Composite primary key"} <= set(titles(reply))
    assert titles(reply)[:3] == ["billing.customers", "crm.customers", "auth.customers"]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who owns the payment gateway?", {"Payments team"}),
        ("Who leads the billing team?", {"Mara Lindqvist"}),
        ("What caused the double charge?", {"Marlow Acquiring"}),
        (
            "Which services subscribe to order.confirmed?",
            {"EventCollector", "InvoiceService", "NotificationService", "ShipmentService"},
        ),
        ("Which team owns the service that calls PaymentGateway?", {"Payments team"}),
    ],
)
async def test_questions_of_the_demo(lane: KgLane, question: str, answers: set[str]) -> None:
    await ingest(lane, CORPUS)
    assert set(titles(await ask(lane, question))[: len(answers)]) == answers


async def test_film_questions(lane: KgLane) -> None:
    if not FILMS.is_dir():
        pytest.skip(f"the film graph is not at {FILMS}")
    await ingest(lane, FILMS / "kb.txt")
    assert await _share_answered(lane, lines_of("1-hop.txt")) >= 0.98
    assert await _share_answered(lane, lines_of("2-hop.txt")) >= 0.95


def lines_of(name: str) -> list[str]:
    return (FILMS / name).read_text(encoding="utf-8").splitlines()


async def _share_answered(lane: KgLane, lines: list[str]) -> float:
    hits = []
    for line in lines:
        question, answers = line.split("\t")
        found = titles(await ask(lane, re.sub(r"[\[\]]", "", question)))
        hits.append(bool(set(found) & set(answers.split("|"))))
    return sum(hits) / len(hits)
