"""A cache that processes share through Redis. One that is slow or gone costs nothing but what it knew."""

from __future__ import annotations

import asyncio
import logging
import struct
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.providers.cache import Entry
from services.runtime import deadline
from services.runtime.deadline import Clock
from services.runtime.errors import StartupError

log = logging.getLogger(__name__)

Value = TypeVar("Value")
# Of a caller's time left at most so much is spent on asking Redis.
SHARE_OF_TIME = 0.1


class RedisStore:
    """Entries under their key, each with its expiry."""

    def __init__(self, url: str, patience: float, pause: float, clock: Clock = time.monotonic) -> None:
        try:
            self._redis = Redis.from_url(url, socket_connect_timeout=patience, socket_timeout=patience)
        except ValueError:
            # The value itself may hold a password.
            raise StartupError("REDIS_URL: expected redis://host:port/database") from None
        self._patience = patience
        self._pause = pause
        self._clock = clock
        self._resting_until = clock()

    async def get(self, key: str) -> Entry | None:
        """The entry, if Redis has one and says so in time."""
        packed = await self._ask(lambda: self._redis.get(key))
        try:
            return Entry.unpacked(packed) if isinstance(packed, bytes) else None
        except struct.error:
            return None

    async def put(self, key: str, entry: Entry, seconds: float) -> None:
        """Keeps the entry for that long."""
        await self._ask(lambda: self._redis.set(key, entry.packed(), px=max(int(seconds * 1000), 1)))

    async def close(self) -> None:
        """Closes its connections."""
        await self._redis.aclose()

    async def _ask(self, command: Callable[[], Awaitable[Value]]) -> Value | None:
        """The reply, or None when there was none; after a failure Redis is left alone for a while."""
        if self._clock() < self._resting_until:
            return None
        try:
            async with asyncio.timeout(self._time()):
                return await command()
        except (RedisError, OSError, TimeoutError) as error:
            self._resting_until = self._clock() + self._pause
            log.warning("Redis is left alone for %.0f s: %s", self._pause, type(error).__name__)
            return None

    def _time(self) -> float:
        current = deadline.current()
        if current is None:
            return self._patience
        return min(self._patience, max(current.remaining(), 0.0) * SHARE_OF_TIME)
