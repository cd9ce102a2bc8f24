"""Peers that misbehave: servers that answer raw bytes, abort, or accept a connection and never speak."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc

RETRIEVE = "lanemesh.v1.LaneService/Retrieve"
FUSE = "lanemesh.v1.FusionService/Fuse"

Answer = Callable[[bytes, Any], Awaitable[bytes]]


@asynccontextmanager
async def answering(method: str, answer: Answer | grpc.RpcMethodHandler[Any, Any]) -> AsyncIterator[str]:
    """A server of one method, bytes in and bytes out, unary unless a handler is given; yields the address."""
    service, name = method.split("/")
    handler = answer if isinstance(answer, grpc.RpcMethodHandler) else grpc.unary_unary_rpc_method_handler(answer)
    server = grpc.aio.server(options=[("grpc.max_send_message_length", -1)])
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {name: handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def saying(reply: bytes) -> Answer:
    """Answers these bytes, whatever was asked."""

    async def answer(_request: bytes, _context: Any) -> bytes:
        return reply

    return answer


def aborting(code: grpc.StatusCode, trailing: tuple[tuple[str, bytes], ...] = ()) -> Answer:
    """Refuses with the code."""

    async def answer(_request: bytes, context: Any) -> bytes:
        await context.abort(code, "refused on purpose", trailing)
        raise AssertionError("abort returned")

    return answer


async def never(_request: bytes, _context: Any) -> bytes:
    """Takes the call and does not answer."""
    await asyncio.Event().wait()
    raise AssertionError("an event nobody sets was set")


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """Accepts connections and never says a byte; yields the address."""
    writers: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda _reader, writer: writers.append(writer), "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in writers:
            writer.close()
        await server.wait_closed()
