"""Traces read back from the real Jaeger after real queries over a real mesh: the edges, and the ledger's figures."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from urllib.request import urlopen

from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, LANE_STATUS_TIMEOUT, MODE_RESEARCH
from lanemesh.v1.search_pb2 import SearchResponse

from services.runtime import jaeger
from services.runtime.trace import TRACEPARENT
from tests.trace.conftest import LANEMESH, ROOT, Door, Traced, named_trace
from tests.trace.edges import LANES, PROVIDED, against_ledger, shape
from tests.trace.graph import Graph

SEARCH, STREAM = "gateway: SearchService/Search", "gateway: SearchService/StreamSearch"


def whole(reply: SearchResponse, root: str = SEARCH, hung: tuple[str, ...] = ()) -> Callable[[Graph], list[str]]:
    """What a trace is checked for once its query was answered."""
    return lambda graph: shape(graph, root, hung) + against_ledger(graph, reply) + _parts(graph, reply)


def _parts(graph: Graph, reply: SearchResponse) -> list[str]:
    """Fusion was asked when there was evidence, and with results went through all of its stages."""
    stages = {span.name for span in graph.spans if span.process == "fusion"} - {"FusionService/Fuse"}
    expected = {"identity", "rank"} if reply.HasField("fusion") else set()
    expected |= {"synthesise", "cite", "disagree"} if reply.results else set()
    return [] if stages == expected else [f"fusion went through {sorted(stages)}"]


async def test_every_lane_provider_and_engine_is_under_one_root(mesh: Traced, door: Door) -> None:
    query = "What is the latest canal lock news, the $AAPL price, and how does OrderService connect to PaymentGateway?"
    reply = await door.search(query, mode=MODE_RESEARCH, include_lanes=LANES)
    assert {row.lane for row in reply.ledger if row.budget_ms > 0} == set(LANES)
    graph = await mesh.trace(reply.trace_id, whole(reply))
    assert {span.process for span in graph.spans} == {"gateway", "fusion", *LANES}
    for lane in PROVIDED:
        assert any(span.process == lane and span.name.startswith("provider ") for span in graph.spans), str(graph)
    assert "OK" in {span.attributes["outcome"] for span in graph.named("provider brave")}
    assert graph.root().attributes["sampled_by"] == "head"
    assert not any(span.failed for span in graph.spans)
    # The question is nobody's business but the asker's.
    assert not any(query in str(span.attributes) for span in graph.spans)


async def test_a_second_asking_says_that_it_came_from_the_cache(mesh: Traced, door: Door) -> None:
    replies = [await door.search("How do canal locks raise boats?", include_lanes=["web"]) for _ in range(2)]
    graph = await mesh.trace(replies[1].trace_id, whole(replies[1]))
    (lane,) = graph.named("lane web")
    assert lane.attributes["cache"] == "HIT"
    assert graph.root().attributes["cache_hits"] == 1
    assert not [span for span in graph.spans if span.name.startswith("provider ")]


async def test_a_lane_that_hangs_is_a_failed_span_at_its_budget(mesh: Traced, door: Door) -> None:
    with mesh.stopped("vector"):
        reply = await door.search("How are refunds settled?", include_lanes=["vector", "keyword", "local"])
    graph = await mesh.trace(reply.trace_id, whole(reply, hung=("vector",)))
    (lane,) = graph.named("lane vector")
    assert lane.failed
    assert lane.attributes["status"] == "TIMEOUT"
    # Given up at the end of its budget, which a timer may meet a hair early.
    assert lane.attributes["budget_spent_ms"] > 0.9 * lane.attributes["budget_granted_ms"] > 0
    assert (graph.root().attributes["degradation"], graph.root().attributes["timeouts"]) == ("L1", 1)
    assert not any(span.failed for span in graph.spans if span != lane and span.process != "vector")


async def test_a_fallback_says_whom_it_stood_in_for(mesh: Traced, door: Door) -> None:
    with mesh.stopped("kg"):
        reply = await door.search("How does OrderService connect to PaymentGateway?")
    statuses = {row.lane: row.status for row in reply.ledger if row.budget_ms > 0}
    assert statuses["kg"] == LANE_STATUS_TIMEOUT
    assert statuses["vector"] == LANE_STATUS_OK
    graph = await mesh.trace(reply.trace_id, whole(reply, hung=("kg",)))
    (failed,), (stand_in,) = graph.named("lane kg"), graph.named("lane vector")
    assert stand_in.attributes["fallback_for"] == "kg"
    assert stand_in.start >= failed.end - 2_000_000
    assert graph.root().attributes["fallbacks"] == 1


async def test_a_scoped_search_is_a_second_call_limited_to_the_projects(mesh: Traced, door: Door) -> None:
    reply = await door.search("What patterns do other teams use for customer tables?")
    rows = {row.lane: row for row in reply.ledger}
    assert rows["vector"].scope
    graph = await mesh.trace(reply.trace_id, whole(reply))
    whole_search, scoped = sorted(graph.named("lane vector"), key=lambda span: span.start)
    assert scoped.attributes["scope"] == list(rows["vector"].scope)
    assert scoped.attributes["ledger_row"] is True
    assert whole_search.attributes["ledger_row"] is False
    assert "scope" not in whole_search.attributes
    (graph_lane,) = graph.named("lane kg")
    assert scoped.start >= graph_lane.end - 2_000_000


async def test_a_streamed_query_leaves_the_same_trace(mesh: Traced, door: Door) -> None:
    events = [event async for event in door.stream("How many times does PaymentAdapter retry?")]
    reply = events[-1].final
    graph = await mesh.trace(reply.trace_id, whole(reply, root=STREAM))
    assert len([span for span in graph.spans if span.name.startswith("lane ")]) >= len(events) - 2
    assert graph.root().attributes["rpc.response.status_code"] == "OK"


async def test_a_cancelled_query_ends_what_it_had_begun(mesh: Traced, door: Door) -> None:
    trace_id, metadata = named_trace()
    with mesh.stopped("vector"):
        call = door.stream("chargeback deadlines", metadata, include_lanes=["vector", "keyword"])
        async for event in call:
            if event.HasField("lane"):
                assert event.lane.row.lane == "keyword"
                break
        call.cancel()
        graph = await mesh.trace(trace_id, lambda graph: shape(graph, STREAM, hung=("vector",)))
    assert graph.root().attributes["rpc.response.status_code"] == "CANCELLED"
    lanes = {span.name: span.attributes["status"] for span in graph.spans if span.name.startswith("lane ")}
    assert lanes == {"lane keyword": "OK", "lane vector": "CANCELLED"}
    assert not graph.named("fuse")


async def test_a_degraded_query_that_nobody_sampled_is_kept_by_the_gateway(mesh: Traced, door: Door) -> None:
    caller = f"{7:032x}"
    with mesh.stopped("vector"):
        reply = await door.search(
            "session lifetime",
            ((TRACEPARENT, f"00-{caller}-{7:016x}-00"),),
            include_lanes=["vector", "keyword", "web"],
        )
    assert reply.trace_id == caller

    graph = await mesh.trace(caller, lambda graph: against_ledger(graph, reply) + _under_one_root(graph))
    root = graph.root()
    assert (root.attributes["sampled_by"], root.attributes["kept_because"]) == ("tail", "degraded")
    assert {span.process for span in graph.spans} == {"gateway"}
    reported = {span.name for span in graph.spans if span.attributes.get("reported")}
    assert reported == {"LaneService/Retrieve", "FusionService/Fuse"}


def _under_one_root(graph: Graph) -> list[str]:
    roots = [span.node for span in graph.spans if not span.parent]
    return [] if roots == [SEARCH] and not graph.orphans() else [f"the roots are {roots}"]


async def test_the_command_begins_the_trace_and_prints_where_it_is(mesh: Traced) -> None:
    process = await asyncio.create_subprocess_exec(
        *LANEMESH,
        *("ask", "How does checkout reserve stock?"),
        cwd=ROOT,
        env=mesh.environment | {"LANEMESH_TRACE_SAMPLE_RATE": "1"},
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    assert process.returncode == os.EX_OK
    found = re.search(f"{mesh.jaeger}/trace/([0-9a-f]{{32}})", out.decode())
    assert found, out.decode()
    graph = await mesh.trace(found[1], lambda graph: shape(graph, "client: client Search"))
    assert graph.named("SearchService/Search")
    assert await asyncio.to_thread(body, found[0]) == (jaeger.PAGE / "index.html").read_bytes()


def body(address: str) -> bytes:
    with urlopen(address, timeout=5) as page:
        content: bytes = page.read()
    return content
