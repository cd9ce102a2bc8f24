"""Callers come in: gRPC, streams, gRPC-Web and JSON over the real Envoy."""

from __future__ import annotations

import json
import struct
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.search_pb2 import (
    IngestRequest,
    ListLanesRequest,
    SearchRequest,
    SearchResponse,
    StreamSearchRequest,
    StreamSearchResponse,
)

from tests.envoy.running import Door, asking, http

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"content_type": "application/json"}


async def post(door: Door, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    status, _, raw = await http(door.address, "POST", path, json.dumps(body).encode(), **JSON | headers)
    return status, json.loads(raw)


async def test_a_question_by_grpc(door):
    async with asking(door) as search:
        reply = await search.Search(SearchRequest(query="stock"), timeout=5.0)
    assert {row.document.id for row in reply.results} == {"a", "b"}
    assert reply.answer


async def test_the_events_of_a_stream_come_as_they_happen(door):
    async with asking(door) as search:
        events = [
            event async for event in search.StreamSearch(StreamSearchRequest(search=SearchRequest(query="stock")))
        ]
    assert [event.WhichOneof("event") for event in events] == ["plan", "lane", "lane", "final"]
    assert len(events[-1].final.results) == 2


async def test_a_stream_of_records_goes_in(door):
    lane = door.lanes["keyword"][0]
    body = "x" * 100_000
    records = [IngestRequest(document=Document(id=f"d{number}", title="t", content=body)) for number in range(20)]
    async with asking(door) as search:
        # More than Envoy buffers of any other call.
        reply = await search.Ingest(iter(records), timeout=20.0)
    assert (reply.received, reply.acknowledged) == (20, 20), reply
    assert len(lane.stored) == 20


async def test_an_error_keeps_its_details(door):
    async with asking(door) as search:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await search.Search(SearchRequest(query=""))
    assert raised.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert b"query" in dict(raised.value.trailing_metadata())["grpc-status-details-bin"]


@pytest.mark.parametrize("path", ["/lanemesh.v1.LaneService/Retrieve", "/nothing.Here/At"])
async def test_what_is_not_the_front_door_is_not_there(door, path):
    async with grpc.aio.insecure_channel(door.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await channel.unary_unary(path)(b"")
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_health_by_grpc_and_by_http(door):
    async with grpc.aio.insecure_channel(door.address) as channel:
        reply = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
    assert reply.status == health_pb2.HealthCheckResponse.SERVING
    assert (await http(door.address, "GET", "/healthz"))[0] == 200


async def test_only_readiness_and_figures_of_the_administration_are_open(door):
    status, _, figures = await http(door.metrics, "GET", "/stats/prometheus")
    assert status == 200
    assert b'envoy_cluster_name="vector"' in figures
    for method, path in (("GET", "/config_dump"), ("POST", "/quitquitquit"), ("POST", "/ready"), ("GET", "/")):
        assert (await http(door.metrics, method, path))[0] == 404
    assert (door.folder / "admin.sock").stat().st_mode & 0o777 == 0o600
    assert (await http(door.address, "GET", "/stats/prometheus"))[0] == 404


def frames(raw: bytes) -> list[tuple[int, bytes]]:
    """The frames of a gRPC-Web body: messages have flag 0, the trailers 0x80."""
    found = []
    while raw:
        flag, length = struct.unpack(">BI", raw[:5])
        found.append((flag, raw[5 : 5 + length]))
        raw = raw[5 + length :]
    return found


async def web(door: Door, method: str, message: Any, **headers: str) -> list[tuple[int, bytes]]:
    raw = message.SerializeToString()
    status, sent, body = await http(
        door.address,
        "POST",
        f"/lanemesh.v1.SearchService/{method}",
        struct.pack(">BI", 0, len(raw)) + raw,
        **{"content_type": "application/grpc-web+proto", "x_grpc_web": "1"} | headers,
    )
    assert status == 200
    # An error without a message is told in the headers alone.
    return frames(body) or [(0x80, f"grpc-status:{sent['grpc-status']}".encode())]


async def test_a_question_by_grpc_web(door):
    (flag, body), (end, trailers) = await web(door, "Search", SearchRequest(query="stock"))
    assert (flag, end) == (0, 0x80)
    assert len(SearchResponse.FromString(body).results) == 2
    assert b"grpc-status:0" in trailers


async def test_a_stream_by_grpc_web(door):
    question = StreamSearchRequest(search=SearchRequest(query="stock"))
    *events, (end, trailers) = await web(door, "StreamSearch", question)
    kinds = [StreamSearchResponse.FromString(body).WhichOneof("event") for _, body in events]
    assert kinds == ["plan", "lane", "lane", "final"]
    assert end == 0x80
    assert b"grpc-status:0" in trailers


async def test_an_error_by_grpc_web(door):
    assert b"grpc-status:3" in (await web(door, "Search", SearchRequest(query="")))[-1][1]


async def test_a_question_by_json(door):
    status, reply = await post(door, "/v1/search", {"query": "stock", "mode": "MODE_TECHNICAL", "max_results": 1})
    assert status == 200
    assert len(reply["results"]) == 1
    assert reply["plan"]["mode"] == "MODE_TECHNICAL"
    # Without a deadline of the caller the mode's own applies.
    assert round(reply["plan"]["deadline_ms"]) == 7000
    assert {row["lane"] for row in reply["ledger"] if row["status"] == "LANE_STATUS_OK"} == {"vector", "keyword"}


async def test_the_other_paths_by_json(door):
    status, reply = await post(door, "/v1/plan", {"query": "stock"})
    assert status == 200
    assert reply["plan"]["lanes"]
    status, _, raw = await http(door.address, "GET", "/v1/lanes")
    assert status == 200
    serving = {lane["name"]: lane["serving"] for lane in json.loads(raw)["lanes"]}
    assert (serving["vector"], serving["kg"]) == ("SERVING_READY", "SERVING_DISABLED")
    status, reply = await post(door, "/v1/refine", {"query": "stock"})
    # The preflight lane is not part of this mesh.
    assert (status, reply["code"]) == (501, grpc.StatusCode.UNIMPLEMENTED.value[0])


@pytest.mark.parametrize(
    ("path", "headers"), [("/v1/search:stream", {}), ("/v1/search", {"accept": "text/event-stream"})]
)
async def test_a_stream_by_json(door, path, headers):
    status, sent, raw = await http(door.address, "POST", path, b'{"query": "stock"}', **JSON | headers)
    assert (status, sent["content-type"]) == (200, "text/event-stream")
    events = [json.loads(event.removeprefix("data: ")) for event in raw.decode().strip().split("\n\n")]
    assert [next(iter(event)) for event in events] == ["plan", "lane", "lane", "final"]


async def test_an_error_by_json_names_its_field(door):
    status, reply = await post(door, "/v1/search", {"query": ""})
    assert (status, reply["code"], reply["message"]) == (400, 3, "query: must not be empty")
    assert reply["details"][0]["metadata"] == {"field": "query"}


@pytest.mark.parametrize("body", [b"not json", b'{"query": 7}', b'{"mode": "loud"}'])
async def test_json_that_cannot_be_read_is_refused(door, body):
    status, *_ = await http(door.address, "POST", "/v1/search", body, **JSON)
    assert status == 400


async def test_a_page_of_another_site_may_not_read(door):
    _, sent, _ = await http(
        door.address, "OPTIONS", "/v1/search", origin="https://evil.example", access_control_request_method="POST"
    )
    assert not [name for name in sent if name.startswith("access-control")]


async def test_the_access_log_joins_a_call_and_its_lanes_by_their_trace(door):
    trace = "0af7651916cd43dd8448eb211c80319c"
    async with asking(door) as search:
        metadata = (("traceparent", f"00-{trace}-b7ad6b7169203331-00"),)
        reply = await search.Search(SearchRequest(query="stock"), metadata=metadata)
        assert reply.trace_id == trace
        untraced = await search.ListLanes(ListLanesRequest())
    assert untraced.lanes
    came = await door.logged(direction="ingress", trace_id=trace)
    assert (came["path"], came["grpc_status"]) == ("/lanemesh.v1.SearchService/Search", "OK")
    went = await door.logged(direction="egress", path="/lanemesh.v1.FusionService/Fuse")
    assert went["upstream"].startswith("127.0.0.1:")
    lanes = [line for line in door.said() if line.get("direction") == "egress" and trace in (line["traceparent"] or "")]
    assert len(lanes) == 3, "two lanes and fusion"


async def test_who_brings_no_trace_gets_one(door):
    async with asking(door) as search:
        reply = await search.Search(SearchRequest(query="stock"))
    assert (await door.logged(direction="ingress", trace_id=reply.trace_id))["grpc_status"] == "OK"
