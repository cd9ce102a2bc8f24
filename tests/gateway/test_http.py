"""The JSON door on a real port: the same answers, errors, deadlines and callers as over gRPC."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any

import aiohttp
import grpc
import pytest
from lanemesh.v1.search_pb2 import SearchRequest

from gateway.__main__ import build
from gateway.http import Door, HttpSettings
from gateway.httpcall import HTTP_STATUS, deadline_of
from gateway.identity import ANYBODY, Caller, Callers
from services.runtime.errors import InvalidRequest, StartupError
from services.runtime.jsonform import to_json
from tests.gateway.reading import UNHURRIED, at_work, settled
from tests.gateway.test_guard import NARROW
from tests.gateway.test_main import ENVIRONMENT
from tests.otlp import UNSAMPLED, collected
from tests.support import NOBODY, TABLE, FakeLane, Mesh, evidence, mesh

WHY = {"query": "why"}
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
SETTINGS = HttpSettings(listen="127.0.0.1:0", max_body_bytes=4096, grace_seconds=0.1)


@asynccontextmanager
async def door(running: Mesh, ready: bool = True, settings: HttpSettings = SETTINGS) -> AsyncIterator[Any]:
    """A session that talks to the mesh's gateway over HTTP."""

    async def is_ready() -> bool:
        return ready

    serving = Door(running.gateway, is_ready, settings)
    port = await serving.start()
    try:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as session:
            yield session
    finally:
        await serving.stop()


@asynccontextmanager
async def talking(lane: FakeLane, **options: Any) -> AsyncIterator[Any]:
    async with mesh({"keyword": lane}, **{"table": UNHURRIED} | options) as running, door(running) as session:
        yield session


async def post(session: Any, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with session.post(path, json=body, headers=named) as response:
        return response.status, await response.json()


def without_times(reply: dict[str, Any]) -> dict[str, Any]:
    kept = {key: reply[key] for key in ("answer", "results", "sentences", "bibliography", "degradation", "missing")}
    return kept | {"ledger": [(row["lane"], row["status"], row["reason"], row["kept"]) for row in reply["ledger"]]}


async def test_an_answer_is_the_one_grpc_gives_as_the_command_prints_it() -> None:
    lane = FakeLane([evidence("a", "Kelp grows in cold water."), evidence("b")])
    async with mesh({"keyword": lane}, table=UNHURRIED) as running, door(running) as session:
        over_grpc = to_json(await running.search.Search(SearchRequest(query="where kelp grows")))
        status, over_http = await post(session, "/v1/search", {"query": "where kelp grows", "mode": "simple"})
    assert status == 200
    assert without_times(over_http) == without_times(over_grpc)
    assert over_http["results"]


async def test_plan_runs_nothing_and_lanes_are_listed() -> None:
    lane = FakeLane([evidence("a")])
    async with talking(lane) as session:
        status, planned = await post(session, "/v1/plan", WHY)
        async with session.get("/v1/lanes") as response:
            listed = await response.json()
    assert status == 200
    assert [row["lane"] for row in planned["plan"]["lanes"]] == list(TABLE.lanes)
    assert not lane.asked
    assert {row["name"]: row["serving"] for row in listed["lanes"]}["keyword"] == "READY"


async def test_refine_without_preflight_is_not_implemented() -> None:
    async with talking(FakeLane()) as session:
        status, body = await post(session, "/v1/refine", WHY)
    assert (status, body["error"]["code"]) == (501, "UNIMPLEMENTED")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "x", "max_results": 101}, "max_results"),
        ({"query": "x", "mode": "psychic"}, "mode"),
        ({"query": "x", "constraints": {"colour": "red"}}, "constraints.colour"),
        ({"query": "x", "access_labels": ["finance"]}, "access_labels"),
    ],
)
async def test_what_cannot_be_served_is_refused_by_its_field(body: Any, field: str) -> None:
    lane = FakeLane()
    async with talking(lane) as session:
        status, told = await post(session, "/v1/search", body)
    error = told["error"]
    assert (status, error["code"], error["reason"], error["field"]) == (400, *["INVALID_ARGUMENT"] * 2, field)
    assert error["message"]
    assert not lane.asked


async def test_http_itself_refuses_in_the_same_form() -> None:
    async with talking(FakeLane()) as session:
        found = []
        for method, path, options in (
            ("GET", "/v2/search", {}),
            ("GET", "/v1/search", {}),
            ("POST", "/v1/search", {"json": {"query": "x" * 5000}}),
            ("POST", "/v1/search", {"data": "{}", "headers": {"Content-Type": "text/plain"}}),
        ):
            async with session.request(method, path, **options) as response:
                found.append((response.status, (await response.json())["error"]["field"]))
    assert found == [(404, ""), (405, ""), (413, "body"), (415, "Content-Type")]


@pytest.mark.parametrize("header", ["X_Deadline_Ms", "grpc_timeout"])
async def test_the_callers_deadline_is_kept(header: str) -> None:
    said = {"X_Deadline_Ms": "400", "grpc_timeout": "400m"}[header]
    async with talking(FakeLane(gate=asyncio.Event())) as session:
        status, reply = await post(session, "/v1/search", WHY, **{header: said})
    assert status == 200
    (row,) = [row for row in reply["ledger"] if row["lane"] == "keyword"]
    assert row["status"] == "TIMEOUT"
    assert 0 < reply["plan"]["deadline_ms"] <= 400


async def test_a_deadline_that_fits_no_lane_is_exceeded_at_once() -> None:
    async with talking(FakeLane()) as session:
        status, body = await post(session, "/v1/search", WHY, X_Deadline_Ms="2")
    assert (status, body["error"]["code"]) == (504, "DEADLINE_EXCEEDED")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"X-Deadline-Ms": "1500"}, 1.5),
        ({"grpc-timeout": "2S"}, 2.0),
        ({"grpc-timeout": "50000u"}, 0.05),
        ({"X-Deadline-Ms": "10", "grpc-timeout": "2S"}, 0.01),
    ],
)
def test_deadlines_in_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert deadline_of(headers) == seconds


@pytest.mark.parametrize("value", ["", "0", "-5", "soon", "nan", "1e3", "600001", "9" * 400])
def test_a_deadline_that_is_none_is_refused_by_its_header(value: str) -> None:
    for header in ("X-Deadline-Ms", "grpc-timeout"):
        with pytest.raises(InvalidRequest) as refused:
            deadline_of({header: value})
        assert refused.value.field == header


async def test_a_caller_that_leaves_cancels_everything_below() -> None:
    lane = FakeLane(gate=asyncio.Event())
    async with mesh({"keyword": lane}, table=UNHURRIED) as running, door(running) as session:
        before = at_work()
        call = asyncio.ensure_future(session.post("/v1/search", json=WHY))
        await lane.started.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await settled(before | at_work_of_http())
    assert lane.running == 0


async def test_a_caller_that_leaves_a_stream_cancels_everything_below() -> None:
    lane = FakeLane(gate=asyncio.Event())
    async with mesh({"keyword": lane}, table=UNHURRIED) as running, door(running) as session:
        before = at_work()
        async with session.post("/v1/search", json=WHY, headers={"Accept": "text/event-stream"}) as response:
            assert await response.content.readline() == b"event: plan\n"
            await lane.started.wait()
            response.close()
        await settled(before | at_work_of_http())
    assert lane.running == 0


def at_work_of_http() -> set[asyncio.Task[Any]]:
    """The standing task of each HTTP connection."""
    return {task for task in asyncio.all_tasks() if "RequestHandler" in getattr(task.get_coro(), "__qualname__", "")}


def events_of(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for kind, data in blocks]


async def test_a_stream_is_the_plan_each_lane_and_the_answer() -> None:
    async with talking(FakeLane([evidence("a")])) as session:
        headers = {"Accept": "text/event-stream", "traceparent": TRACE}
        async with session.post("/v1/search", json=WHY, headers=headers) as response:
            assert response.headers["Content-Type"] == "text/event-stream"
            assert response.headers["traceparent"].split("-")[1] == TRACE.split("-")[1]
            events = events_of(await response.text())
        _, answer = await post(session, "/v1/search", WHY)
    assert [kind for kind, _ in events] == ["plan", "lane", "final"]
    assert without_times(events[-1][1]) == without_times(answer)


async def test_a_stream_that_cannot_begin_has_a_status_of_its_own() -> None:
    async with talking(FakeLane()) as session:
        status, body = await post(session, "/v1/search", {"query": ""}, Accept="text/event-stream")
    assert (status, body["error"]["field"]) == (400, "query")


async def test_a_full_gateway_is_429_with_a_hint() -> None:
    lane = FakeLane([evidence("a")], gate=asyncio.Event())
    async with talking(lane, table=NARROW) as session:
        first = asyncio.ensure_future(post(session, "/v1/search", WHY))
        await lane.started.wait()
        async with session.post("/v1/search", json=WHY) as response:
            assert response.status == 429
            assert int(response.headers["Retry-After"]) >= 1
            assert (await response.json())["error"]["code"] == "RESOURCE_EXHAUSTED"
        assert lane.gate is not None
        lane.gate.set()
        assert (await first)[0] == 200


async def test_callers_are_known_by_their_token() -> None:
    callers = Callers({sha256(b"secret").hexdigest(): Caller("billing", ("finance",))}, anybody=ANYBODY)
    lane = FakeLane([evidence("a")])
    async with talking(lane, callers=callers) as session:
        assert (await post(session, "/v1/search", WHY, Authorization="Bearer secret"))[0] == 200
        status, body = await post(session, "/v1/search", WHY, Authorization="Bearer wrong")
    assert list(lane.asked[0].filters.access_labels) == ["finance"]
    assert (status, body["error"]["code"]) == (401, "UNAUTHENTICATED")
    assert "wrong" not in json.dumps(body)


async def test_the_trace_goes_on() -> None:
    async with (
        talking(FakeLane([evidence("a")])) as session,
        session.post("/v1/search", json=WHY, headers={"traceparent": TRACE}) as response,
    ):
        assert (await response.json())["trace_id"] == TRACE.split("-")[1]
        assert response.headers["traceparent"].split("-")[1] == TRACE.split("-")[1]
        assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize(("ready", "status"), [(True, 200), (False, 503)])
async def test_health_and_metrics(ready: bool, status: int) -> None:
    async with mesh({"keyword": FakeLane()}, table=UNHURRIED) as running, door(running, ready) as session:
        async with session.get("/healthz") as response:
            assert response.status == status
        await post(session, "/v1/search", WHY)
        async with session.get("/metrics") as response:
            assert 'lanemesh_rpc_total{code="OK",method="http/Search"}' in await response.text()


async def test_a_scraper_that_reads_openmetrics_gets_it() -> None:
    accepted = {"Accept": "application/openmetrics-text"}
    async with (
        mesh({"keyword": FakeLane()}, table=UNHURRIED) as running,
        door(running) as session,
        session.get("/metrics", headers=accepted) as response,
    ):
        assert response.headers["Content-Type"].startswith("application/openmetrics-text")
        assert (await response.text()).endswith("# EOF\n")


async def test_a_degraded_query_over_http_is_a_trace_too() -> None:
    lanes = {"keyword": FakeLane([evidence("k")]), "kg": NOBODY}
    async with collected() as collector, mesh(lanes, table=UNHURRIED) as running, door(running) as session:
        await post(session, "/v1/search", WHY, traceparent=UNSAMPLED)
    assert {("", "http/Search"), ("http/Search", "lane keyword"), ("http/Search", "fuse")} <= collector.edges()


def test_every_status_code_has_an_http_status() -> None:
    assert set(HTTP_STATUS) == set(grpc.StatusCode)


async def test_a_body_that_never_ends_is_given_up() -> None:
    async def forever() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    settings = replace(SETTINGS, body_seconds=0.05)
    async with mesh({"keyword": FakeLane()}, table=UNHURRIED) as running, door(running, settings=settings) as session:
        headers = {"Content-Type": "application/json"}
        async with session.post("/v1/search", data=forever(), headers=headers) as response:
            assert response.status == 504


async def test_the_door_is_off_unless_told_where_to_listen() -> None:
    server, close = await build(TABLE.only({"keyword"}), ENVIRONMENT | {"LANEMESH_HTTP_LISTEN": "127.0.0.1:0"})
    await server.stop()
    await close()
    with pytest.raises(StartupError, match="LANEMESH_HTTP_LISTEN"):
        await build(TABLE.only({"keyword"}), ENVIRONMENT | {"LANEMESH_HTTP_LISTEN": "127.0.0.1:never"})
