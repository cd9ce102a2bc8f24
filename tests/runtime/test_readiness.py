"""Readiness over HTTP against a real server; over gRPC it is tested with the supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.runtime.readiness import answers_http


@asynccontextmanager
async def answering(*replies: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that gives these replies one after another, the last for ever; what it was asked."""
    left, asked = list(replies), []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}", asked


async def test_ready_at_the_first_200():
    replies = (b"HTTP/1.1 503 Unavailable\r\n\r\n", b"", b"nonsense\r\n", b"HTTP/1.1 200 OK\r\n\r\n")
    async with answering(*replies) as (address, asked):
        await answers_http("/ready")(address)
    assert len(asked) == len(replies)
    assert asked[0].startswith(b"GET /ready HTTP/1.1\r\nHost: " + address.encode())


@pytest.mark.parametrize("reply", [b"HTTP/1.1 404 Not Found\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n"])
async def test_another_answer_is_not_ready(reply):
    async with answering(reply) as (address, asked):
        waiting = asyncio.create_task(answers_http("/")(address))
        while len(asked) < 3:  # noqa: ASYNC110 - nothing of ours runs when it is asked again
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()


async def test_where_nobody_listens_yet_it_waits():
    async with answering(b"HTTP/1.1 200 OK\r\n\r\n") as (address, _):
        pass
    waiting = asyncio.create_task(answers_http("/")(address))
    done, _ = await asyncio.wait([waiting], timeout=0.1)
    assert not done
    waiting.cancel()
