"""One question to a chat model: within the ambient deadline, limited in size, its reply checked."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from services.model.errors import of_status, translated
from services.model.rest import Rest
from services.model.settings import ModelSettings
from services.runtime import deadline
from services.runtime.deadline import Clock
from services.runtime.errors import BadReply, LanemeshError

Message = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model wrote; `cut` when it stopped at the limit of tokens."""

    text: str
    cut: bool


class ChatModel:
    """A model that completes chats. It lives as long as its process and keeps its connections."""

    def __init__(self, settings: ModelSettings, clock: Clock = time.monotonic) -> None:
        self.name = settings.name
        self.keyed = bool(settings.key)
        self._settings = settings
        self._address = f"{settings.url.rstrip('/')}/chat/completions"
        self._rest = Rest(settings.failures, settings.rest_ms / 1_000, clock)
        headers = {"Authorization": f"Bearer {settings.key}"} if settings.key else {}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=settings.connections),
            # The deadline is the only time-out; aiohttp's own would be a second clock.
            timeout=aiohttp.ClientTimeout(),
            headers=headers | {"Accept-Encoding": "identity"},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def complete(self, messages: Sequence[Message], *, max_tokens: int, as_json: bool = False) -> Completion:
        """What the model answers to the messages; services.runtime.errors when it does not."""
        self._rest.require()
        try:
            completion = _read(await self._post(self._body(messages, max_tokens, as_json)))
        except LanemeshError as error:
            self._rest.failed(error)
            raise
        self._rest.succeeded()
        return completion

    async def close(self) -> None:
        """Closes the connections."""
        await self._session.close()

    def _body(self, messages: Sequence[Message], max_tokens: int, as_json: bool) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        return body | {"response_format": {"type": "json_object"}} if as_json else body

    async def _post(self, body: Mapping[str, Any]) -> bytes:
        longest = self._settings.timeout_ms / 1_000
        until = deadline.current()
        left = longest if until is None else min(longest, until.require())
        with translated():
            async with (
                asyncio.timeout(left),
                # A redirect would carry question and key to somewhere nobody configured.
                self._session.post(self._address, json=body, allow_redirects=False) as response,
            ):
                if response.status != 200:
                    raise of_status(response.status, response.headers.get("Retry-After", ""))
                return await self._limited(response)

    async def _limited(self, response: aiohttp.ClientResponse) -> bytes:
        read = bytearray()
        async for chunk in response.content.iter_any():
            read += chunk
            if len(read) > self._settings.max_reply_bytes:
                raise BadReply(f"the model's reply is larger than {self._settings.max_reply_bytes} bytes")
        return bytes(read)


def _read(raw: bytes) -> Completion:
    """The text of the first choice, or BadReply."""
    try:
        choice = json.loads(raw)["choices"][0]
        text = choice["message"]["content"]
        cut = choice.get("finish_reason") == "length"
    # Deep nesting exhausts the parser's recursion; everything else is a reply of another shape.
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise BadReply("the model's reply is not a chat completion") from None
    if not isinstance(text, str):
        raise BadReply("the model's reply holds no text")
    return Completion(text, cut)
