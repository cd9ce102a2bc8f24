"""What the ingress of the real Envoy refuses, and the deadlines it hands on, before a gateway that only listens."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
import pytest_asyncio
from lanemesh.v1 import search_pb2_grpc
from lanemesh.v1.search_pb2 import (
    ListLanesRequest,
    ListLanesResponse,
    PlanRequest,
    PlanResponse,
    SearchRequest,
    SearchResponse,
)

from services.runtime.server import Service
from tests.envoy.running import Door, asking, free_base, http, running, values_of
from tests.support import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content_type": "application/json"}
LISTED = 20


@dataclass
class Listening(search_pb2_grpc.SearchServiceServicer):
    """Answers at once, but never a search."""

    left: list[float | None] = field(default_factory=list)
    metadata: dict[str, str | bytes] = field(default_factory=dict)
    given_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def Plan(self, request: PlanRequest, context: Any) -> PlanResponse:
        self.left.append(context.time_remaining())
        self.metadata = dict(context.invocation_metadata())
        return PlanResponse()

    async def ListLanes(self, request: ListLanesRequest, context: Any) -> ListLanesResponse:
        return ListLanesResponse()

    async def Search(self, request: SearchRequest, context: Any) -> SearchResponse:
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()
        raise AssertionError("nobody sets it")


@dataclass
class Front:
    door: Door
    gateway: Listening


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def front(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Front]:
    """Small limits, and behind a proxy that says who calls, so that each test can be a caller of its own."""
    gateway = Listening()
    register = search_pb2_grpc.add_SearchServiceServicer_to_server
    folder = tmp_path_factory.mktemp("envoy")
    door = Door(free_base(), folder)
    ingress = {
        "body": 10_000,
        "header_kib": 8,
        "headers": 30,
        "trusted_hops": 1,
        # One call for each tenth of a second: more than the test makes in that time.
        "rate": {"per_second": 10, "burst": LISTED},
        "origins": ["https://search.example.org"],
    }
    service = Service("lanemesh.v1.SearchService", lambda server: register(gateway, server))
    async with serving(service) as address:
        values = values_of(door.base, folder, {"gateway": [address]}, {"ingress": ingress})
        async with running(door, values):
            yield Front(door, gateway)


async def plan(front: Front, body: bytes = b'{"query": "why"}', **headers: str) -> tuple[int, bytes]:
    status, _, reply = await http(front.door.address, "POST", "/v1/plan", body, **JSON | headers)
    return status, reply


async def test_one_caller_too_many_is_refused_and_the_others_are_not(front):
    greedy, modest = (("x-forwarded-for", "192.0.2.1"),), (("x-forwarded-for", "192.0.2.2"),)
    codes = []
    async with asking(front.door) as search:
        for _ in range(3 * LISTED):
            try:
                await search.ListLanes(ListLanesRequest(), metadata=greedy)
                codes.append(grpc.StatusCode.OK)
            except grpc.aio.AioRpcError as error:
                codes.append(error.code())
        assert await search.ListLanes(ListLanesRequest(), metadata=modest) == ListLanesResponse()
    assert codes[:LISTED] == [grpc.StatusCode.OK] * LISTED
    assert set(codes[LISTED:]) >= {grpc.StatusCode.RESOURCE_EXHAUSTED}
    statuses = [(await plan(front, x_forwarded_for="192.0.2.1"))[0] for _ in range(LISTED)]
    assert 429 in statuses


async def test_a_body_that_is_too_large_is_refused(front):
    caller = "192.0.2.3"
    assert (await plan(front, json.dumps({"query": "x" * 9_000}).encode(), x_forwarded_for=caller))[0] == 200
    before = len(front.gateway.left)
    assert (await plan(front, json.dumps({"query": "x" * 11_000}).encode(), x_forwarded_for=caller))[0] == 413
    large = PlanRequest(search=SearchRequest(query="x" * 11_000))
    async with asking(front.door) as search:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await search.Plan(large, metadata=(("x-forwarded-for", caller),))
    assert raised.value.details() == "Payload Too Large"
    assert len(front.gateway.left) == before


async def test_headers_that_are_too_large_or_too_many_are_refused(front):
    caller = {"x_forwarded_for": "192.0.2.4"}
    assert (await plan(front, large="x" * 7_000, **caller))[0] == 200
    assert (await plan(front, large="x" * 9_000, **caller))[0] == 431
    assert (await plan(front, **caller, **{f"h{number}": "x" for number in range(40)}))[0] == 431


@pytest.mark.parametrize("path", ["/v1/plan%2f..%2f..%2fadmin", "/v1%5cplan"])
async def test_a_path_that_hides_another_is_refused(front, path):
    assert (await http(front.door.address, "POST", path, b"{}", **JSON, x_forwarded_for="192.0.2.5"))[0] == 400


async def test_what_the_mesh_says_to_itself_no_caller_may_say(front):
    said = {"lanemesh_echo": "guess", "x_forwarded_client_cert": "DNS=admin", "x_envoy_attempt_count": "9"}
    assert (await plan(front, x_forwarded_for="192.0.2.6", **said))[0] == 200
    assert not {"lanemesh-echo", "x-forwarded-client-cert", "x-envoy-attempt-count"} & set(front.gateway.metadata)


async def test_the_deadline_of_a_json_call_reaches_the_gateway(front):
    assert (await plan(front, x_deadline_ms="1500", x_forwarded_for="192.0.2.7"))[0] == 200
    left = front.gateway.left[-1]
    assert left is not None
    assert 0.75 < left <= 1.5
    assert "x-deadline-ms" not in front.gateway.metadata
    assert (await plan(front, grpc_timeout="700m", x_forwarded_for="192.0.2.7"))[0] == 200
    left = front.gateway.left[-1]
    assert left is not None
    assert 0.35 < left <= 0.7
    assert (await plan(front, x_forwarded_for="192.0.2.7"))[0] == 200
    assert front.gateway.left[-1] is None


@pytest.mark.parametrize("said", ["0", "-1", "soon", "1.5", "600001", "9999999"])
async def test_a_deadline_that_cannot_be_read_is_refused(front, said):
    before = len(front.gateway.left)
    status, reply = await plan(front, x_deadline_ms=said, x_forwarded_for="192.0.2.8")
    assert (status, len(front.gateway.left)) == (400, before)
    assert json.loads(reply)["message"].startswith("X-Deadline-Ms: ")


async def test_envoy_ends_what_outlives_its_deadline(front):
    # A caller over HTTP/1.1 has no clock of its own that could end the call.
    raw = SearchRequest(query="why").SerializeToString()
    status, sent, body = await http(
        front.door.address,
        "POST",
        "/lanemesh.v1.SearchService/Search",
        struct.pack(">BI", 0, len(raw)) + raw,
        content_type="application/grpc-web+proto",
        grpc_timeout="200m",
        x_forwarded_for="192.0.2.9",
    )
    # From Envoy's clock, or from the gateway's gRPC, whichever is first.
    assert status == 504 or sent.get("grpc-status") == "4" or b"grpc-status:4" in body
    await asyncio.wait_for(front.gateway.given_up.wait(), 10)


async def test_envoy_ends_a_json_call_that_outlives_its_deadline(front):
    caller = {"x_forwarded_for": "192.0.2.9"}
    question = b'{"query": "why"}'
    status, *_ = await http(front.door.address, "POST", "/v1/search", question, **JSON, x_deadline_ms="200", **caller)
    assert status == 504


async def test_pages_of_the_sites_that_are_named_may_call_by_grpc_web(front):
    asked = {"access_control_request_method": "POST", "x_forwarded_for": "192.0.2.10"}
    path = "/lanemesh.v1.SearchService/Search"
    _, sent, _ = await http(front.door.address, "OPTIONS", path, origin="https://search.example.org", **asked)
    assert sent["access-control-allow-origin"] == "https://search.example.org"
    _, sent, _ = await http(front.door.address, "OPTIONS", path, origin="https://evil.example", **asked)
    assert "access-control-allow-origin" not in sent
