"""A real gRPC gateway with canned replies, and the command run against it in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from lanemesh.v1 import search_pb2, search_pb2_grpc

from client.main import main
from services.runtime.errors import DETAILS_KEY, STATUS, LanemeshError, details


@dataclass
class Gateway(search_pb2_grpc.SearchServiceServicer):
    """Answers what the test put there and remembers what it was asked."""

    address: str = ""
    requests: list[Message] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    remaining: float | None = None
    replies: dict[str, Any] = field(default_factory=dict)
    # When set, answers Search in place of a canned reply.
    answering: Callable[[Any], Message] | None = None
    error: LanemeshError | None = None
    # When set, a call is not answered before `released` is.
    silent: bool = False
    released: threading.Event = field(default_factory=threading.Event)

    def Search(self, request: Any, context: Any) -> Any:
        return self._serve("Search", request, context)

    def Plan(self, request: Any, context: Any) -> Any:
        return self._serve("Plan", request, context)

    def Refine(self, request: Any, context: Any) -> Any:
        return self._serve("Refine", request, context)

    def ListLanes(self, request: Any, context: Any) -> Any:
        return self._serve("ListLanes", request, context)

    def StreamSearch(self, request: Any, context: Any) -> Iterator[Any]:
        yield from self._serve("StreamSearch", request, context)
        if self.silent:
            self.released.wait()

    def Ingest(self, request_iterator: Any, context: Any) -> Any:
        records = list(request_iterator)
        self.requests.extend(records)
        self._refuse(context)
        reply = self.replies.get("Ingest")
        if callable(reply):
            return reply(records)
        return search_pb2.IngestResponse(received=len(records), acknowledged=len(records))

    def _serve(self, method: str, request: Message, context: Any) -> Any:
        self.requests.append(request)
        self.metadata = dict(context.invocation_metadata())
        self.remaining = context.time_remaining()
        self._refuse(context)
        if self.silent and method != "StreamSearch":
            self.released.wait()
        if method == "Search" and self.answering is not None:
            return self.answering(request)
        return self.replies[method]

    def _refuse(self, context: Any) -> None:
        if self.error is not None:
            context.set_trailing_metadata(((DETAILS_KEY, details(self.error).SerializeToString()),))
            context.abort(STATUS[type(self.error)], self.error.message)


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    servicer = Gateway()
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool)
        search_pb2_grpc.add_SearchServiceServicer_to_server(servicer, server)
        servicer.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        monkeypatch.setenv("LANEMESH_GATEWAY", servicer.address)
        yield servicer
        servicer.released.set()
        server.stop(None).wait()


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def command(*arguments: str) -> Outcome:
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command
