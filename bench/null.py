"""The floor: bare grpc.aio servers that do nothing but answer.

`python -m bench.null lane NAME PORT` answers every question with 15 documents of 1 KB.
`python -m bench.null gateway PORT PORT…` fans out to the lanes on the other ports and passes their replies through.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from functools import cache
from pathlib import Path
from typing import Any

import grpc
import uvloop
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from lanemesh.v1 import lane_pb2_grpc
from lanemesh.v1.evidence_pb2 import Document, Evidence
from lanemesh.v1.lane_pb2 import LANE_STATUS_OK, RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse

LANES = ("web", "vector", "kg", "keyword", "news", "markets", "local")
DOCUMENTS = 15
CHARACTERS = 1024
Context = grpc.aio.ServicerContext[Any, Any]


@cache
def prose() -> str:
    """The text of the demo corpus, front matter left out."""
    files = sorted((Path(__file__).parents[1] / "examples" / "corpus").rglob("*.md"))
    return "".join(file.read_text(encoding="utf-8").rpartition("\n---\n")[2] for file in files)


def text(lane: str, number: int) -> str:
    """1 KB of prose, different for every document of every lane."""
    whole = prose()
    start = (LANES.index(lane) * DOCUMENTS + number) * (len(whole) - CHARACTERS) // (len(LANES) * DOCUMENTS)
    return whole[start : start + CHARACTERS]


def reply_of(lane: str) -> RetrieveResponse:
    """What a null lane answers."""
    reply = RetrieveResponse(lane=lane, status=LANE_STATUS_OK, total_found=DOCUMENTS)
    for number in range(DOCUMENTS):
        identity = f"{lane}-{number}"
        document = Document(id=identity, title=f"Note {number} of {lane}", content=text(lane, number), project=lane)
        reply.evidence.append(Evidence(document=document, score=1.0 / (number + 1)))
    return reply


class NullLane(lane_pb2_grpc.LaneServiceServicer):
    """Answers the same to everything."""

    def __init__(self, name: str) -> None:
        self._reply = reply_of(name)

    async def Retrieve(self, _request: RetrieveRequest, _context: Context) -> RetrieveResponse:
        """The canned reply."""
        return self._reply


class NullGateway:
    """Asks every lane at once and passes the evidence through."""

    def __init__(self, ports: list[int]) -> None:
        self._channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}") for port in ports]
        self._lanes = [lane_pb2_grpc.LaneServiceStub(channel).Retrieve for channel in self._channels]

    async def search(self, request: SearchRequest, _context: Context) -> SearchResponse:
        """All evidence of all lanes, untouched."""
        question = RetrieveRequest(query=request.query, max_results=DOCUMENTS)
        replies = await asyncio.gather(*(lane(question, timeout=1.0) for lane in self._lanes))
        response = SearchResponse()
        for reply in replies:
            response.results.extend(reply.evidence)
        return response


async def serve(arguments: list[str]) -> None:
    """Runs one bare server until it is killed."""
    server = grpc.aio.server()
    if arguments[0] == "lane":
        lane_pb2_grpc.add_LaneServiceServicer_to_server(NullLane(arguments[1]), server)
        port = int(arguments[2])
    else:
        port = int(arguments[1])
        gateway = NullGateway([int(argument) for argument in arguments[2:]])
        method = grpc.unary_unary_rpc_method_handler(
            gateway.search,
            request_deserializer=SearchRequest.FromString,
            response_serializer=SearchResponse.SerializeToString,
        )
        handler = grpc.method_handlers_generic_handler("lanemesh.v1.SearchService", {"Search": method})
        server.add_generic_rpc_handlers((handler,))
    # Channels of the mesh watch the readiness of their peers.
    servicer = health.aio.HealthServicer()
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    gc.collect()
    gc.freeze()
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1:]))
