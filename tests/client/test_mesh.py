from __future__ import annotations

import grpc
import pytest
from lanemesh.v1 import lane_pb2, search_pb2

from client.mesh import Mesh
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import BadReply, DeadlinePassed, InvalidRequest, Unavailable

TRACE = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"


async def test_a_request_message_and_words_mean_the_same(gateway):
    gateway.replies["Search"] = search_pb2.SearchResponse(trace_id="t")
    async with Mesh() as mesh:
        reply = await mesh.search("Why?", mode="research", cost="low", projects=["crm"], skip_preflight=True)
        await mesh.search(gateway.requests[0])
    assert reply.trace_id == "t"
    assert gateway.requests[0] == gateway.requests[1]
    assert gateway.requests[0].mode == lane_pb2.MODE_RESEARCH
    assert gateway.requests[0].skip_preflight


async def test_every_call_of_the_service_is_there(gateway):
    gateway.replies |= {
        "Plan": search_pb2.PlanResponse(plan=search_pb2.QueryPlan(cues=["news"])),
        "Refine": search_pb2.RefineResponse(preflight=lane_pb2.Preflight(model="rules")),
        "ListLanes": search_pb2.ListLanesResponse(lanes=[search_pb2.LaneInfo(name="kg")]),
        "StreamSearch": [search_pb2.StreamSearchResponse(final=search_pb2.SearchResponse(answer="a"))],
    }
    async with Mesh(gateway.address) as mesh:
        assert (await mesh.plan("q")).plan.cues == ["news"]
        assert (await mesh.refine("q", mode="technical", depth="simple")).preflight.model == "rules"
        assert (await mesh.lanes()).lanes[0].name == "kg"
        assert [event.final.answer async for event in mesh.stream("q")] == ["a"]
    refine = gateway.requests[1]
    assert (refine.query, refine.mode, refine.constraints.depth) == ("q", 2, lane_pb2.DEPTH_SIMPLE)


async def test_the_trace_of_the_caller_is_passed_on(gateway):
    gateway.replies["ListLanes"] = search_pb2.ListLanesResponse()
    async with Mesh() as mesh:
        await mesh.lanes(traceparent=TRACE)
        assert gateway.metadata["traceparent"] == TRACE
        await mesh.lanes()
        first = gateway.metadata["traceparent"]
        await mesh.lanes()
    assert first.endswith("-00")
    assert gateway.metadata["traceparent"] not in (TRACE, first)


async def test_the_earlier_of_the_given_and_the_ambient_deadline_holds(gateway):
    gateway.replies["ListLanes"] = search_pb2.ListLanesResponse()
    async with Mesh() as mesh:
        await mesh.lanes()
        # What a server sees when the client sent no deadline.
        assert gateway.remaining is None or gateway.remaining > 1e9
        with ambient(Deadline.after(20)):
            await mesh.lanes(deadline=500)
            assert gateway.remaining <= 20
            await mesh.lanes(deadline=Deadline.after(10))
            assert gateway.remaining <= 10


async def test_a_deadline_that_has_passed_makes_no_call(gateway):
    async with Mesh() as mesh:
        with pytest.raises(DeadlinePassed):
            await mesh.search("q", deadline=-1)
    assert gateway.requests == []


async def test_the_guard_ends_a_call_that_hangs_even_when_grpc_was_told_no_deadline(gateway, monkeypatch):
    monkeypatch.setattr("client.mesh.PATIENCE", 0.1)
    gateway.silent = True
    gateway.replies["StreamSearch"] = []
    async with Mesh() as mesh:
        with pytest.raises(DeadlinePassed):
            await mesh.search("q")
        with pytest.raises(DeadlinePassed):
            await anext(mesh.stream("q"))


async def test_errors_are_ours(gateway):
    gateway.error = InvalidRequest("query", "must not be empty")
    async with Mesh() as mesh:
        with pytest.raises(InvalidRequest) as raised:
            await mesh.search("")
        assert (raised.value.field, raised.value.description) == ("query", "must not be empty")
        with pytest.raises(InvalidRequest, match="query"):
            await anext(mesh.stream(""))
        gateway.error = Unavailable("no lane is up")
        with pytest.raises(Unavailable, match="no lane is up"):
            await mesh.search("q")


async def test_a_reply_that_does_not_parse_is_a_bad_reply():
    async def garbage(request: bytes, context: object) -> bytes:
        return b"\xff\xff\xff"

    server = grpc.aio.server()
    handler = grpc.unary_unary_rpc_method_handler(garbage)  # type: ignore[arg-type]
    service = grpc.method_handlers_generic_handler("lanemesh.v1.SearchService", {"Search": handler})
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with Mesh(f"127.0.0.1:{port}") as mesh:
            with pytest.raises(BadReply):
                await mesh.search("q")
    finally:
        await server.stop(None)


def records(count: int) -> list[search_pb2.IngestRequest]:
    return [search_pb2.IngestRequest(line=number, delete_document_id=str(number)) for number in range(1, count + 1)]


async def test_records_go_in_one_call(gateway):
    async def source():
        for record in records(7):
            yield record

    async with Mesh() as mesh:
        assert (await mesh.ingest(records(3))).received == 3
        assert (await mesh.ingest(source())).received == 7
    assert [record.line for record in gateway.requests] == [1, 2, 3, *range(1, 8)]


async def test_an_error_while_records_are_read_reaches_the_caller(gateway):
    def source():
        yield records(1)[0]
        raise KeyError("broken file")

    async with Mesh() as mesh:
        with pytest.raises(KeyError, match="broken file"):
            await mesh.ingest(source())


async def test_a_refused_ingestion_says_why(gateway):
    gateway.error = InvalidRequest("document.id", "is required")
    async with Mesh() as mesh:
        with pytest.raises(InvalidRequest, match=r"document\.id"):
            await mesh.ingest(records(3))
