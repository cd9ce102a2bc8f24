"""The shared cache against a real Redis server; what a dead or slow one costs is nothing but the cache."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from services.providers.cache import Entry
from services.providers.redis_store import RedisStore
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import StartupError
from tests.providers.clock import Clock
from tests.support import evidence

BINARY = shutil.which("redis-server")
needs_redis = pytest.mark.skipif(
    BINARY is None, reason="redis-server is not installed (Debian: apt install redis-server)"
)
ENTRY = Entry.of([evidence("a")], 12.5)


@pytest.fixture
async def redis_url(tmp_path: Path) -> AsyncIterator[str]:
    """A server of its own on a Unix socket, without a file of data."""
    socket = tmp_path / "redis.sock"
    options = ("--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no", "--dir", str(tmp_path))
    assert BINARY is not None
    process = await asyncio.create_subprocess_exec(BINARY, *options, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(30):
        while b"eady to accept connections" not in await process.stdout.readline():
            pass
    yield f"unix://{socket}"
    process.terminate()
    await process.communicate()


@needs_redis
async def test_entries_are_kept_with_their_expiry_and_shared(redis_url: str) -> None:
    first, second = RedisStore(redis_url, 5.0, 5.0), RedisStore(redis_url, 5.0, 5.0)
    assert await first.get("k") is None
    await first.put("k", ENTRY, 60.0)
    assert await second.get("k") == ENTRY
    plain = Redis.from_url(redis_url)
    assert 0 < await plain.pttl("k") <= 60_000
    await plain.set("garbage", b"x")
    assert await first.get("garbage") is None
    for connection in (first, second):
        await connection.close()
    await plain.aclose()


@needs_redis
async def test_a_server_that_hangs_is_left_alone_for_a_while(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    store = RedisStore(redis_url, 5.0, 10.0, clock)
    await store.put("k", ENTRY, 60.0)
    plain = Redis.from_url(redis_url)
    # The pause holds back every command of every client.
    await plain.execute_command("CLIENT", "PAUSE", "600000", "ALL")
    with caplog.at_level(logging.WARNING), ambient(Deadline.after(0.5)):
        assert await store.get("k") is None
    with ambient(Deadline.after(-1.0)):
        assert await store.get("k") is None
    assert len([record for record in caplog.records if "left alone" in record.message]) == 1
    await store.close()
    await plain.aclose()


async def test_a_dead_server_is_no_error() -> None:
    clock = Clock()
    store = RedisStore("redis://:hunter2@127.0.0.1:1/0", 5.0, 10.0, clock)
    await store.put("k", ENTRY, 60.0)
    assert await store.get("k") is None
    clock.now += 10.0
    assert await store.get("k") is None
    await store.close()


def test_a_url_that_is_none_is_named_without_its_text() -> None:
    with pytest.raises(StartupError, match="REDIS_URL") as caught:
        RedisStore("hunter2", 1.0, 1.0)
    assert "hunter2" not in str(caught.value)
