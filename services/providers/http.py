"""The one HTTP client of a lane. Pools, address rules, redirects and limits are here, once, for every provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from services.providers.addresses import MakeSocket, guard, open_socket
from services.providers.body import ACCEPT_ENCODING, read_body
from services.providers.errors import check_status, translated
from services.providers.parse import read_json, read_text, read_xml
from services.providers.provider import Base
from services.providers.settings import Access, ProviderSettings
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, Refused

VERSION = "0.1.0"
CHUNK = 1 << 16
JSON_TYPES = ("application/json", "text/json", "+json")
XML_TYPES = ("application/xml", "text/xml", "+xml")
TEXT_TYPES = ("text/csv", "text/plain")
_REDIRECTS = (301, 302, 303, 307, 308)
_PLACEHOLDER = re.compile(r"[A-Za-z0-9-]{1,35}")


@dataclass(frozen=True, slots=True)
class Get:
    """One request as a provider states it. None among the parameters means that the parameter is left out."""

    # Appended to the base; an absolute http(s) URL stands for itself.
    path: str = ""
    params: Mapping[str, str | int | None] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    # One of the profile's bases. None: the first.
    base: Base | None = None
    # Values for the {placeholders} of the base, letters, digits and dashes only.
    fill: Mapping[str, str] = field(default_factory=dict)
    # Content types accepted beside those of the format asked for.
    types: tuple[str, ...] = ()
    # Statuses beside success whose body the provider reads, because it tells more than the status.
    statuses: tuple[int, ...] = ()


class Client:
    """Connections of one lane, shared by all its providers."""

    def __init__(
        self,
        settings: ProviderSettings,
        *,
        resolver: AbstractResolver | None = None,
        make_socket: MakeSocket = open_socket,
    ) -> None:
        self.settings = settings
        connector = aiohttp.TCPConnector(
            limit=settings.connections,
            resolver=resolver,
            socket_factory=guard(settings.allowed_networks(), make_socket),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # Bodies are unpacked here under a limit, time is kept by each attempt's deadline.
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            headers={"User-Agent": user_agent(settings.contact), "Accept-Encoding": ACCEPT_ENCODING},
        )

    async def get(self, url: URL, request: Get, types: tuple[str, ...]) -> tuple[bytes, str]:
        """Body and character set of the reply at the end of the redirects."""
        params = {name: str(value) for name, value in request.params.items() if value is not None}
        target = url.update_query(params) if params else url
        for _ in range(self.settings.max_redirects + 1):
            # What a request carries goes to the origin it was meant for, and to no other.
            own = request.headers if target.origin() == url.origin() else {}
            async with self._session.get(target, headers=own, allow_redirects=False) as reply:
                if reply.status not in _REDIRECTS:
                    if reply.status not in request.statuses:
                        check_status(reply.status, reply.headers.get("Retry-After"))
                    return await self._read(reply, types + request.types)
                target = _next(target, reply.headers.get("Location", ""))
        raise Refused("it redirects too often")

    async def _read(self, reply: aiohttp.ClientResponse, types: tuple[str, ...]) -> tuple[bytes, str]:
        if not reply.content_type.endswith(types):
            raise BadReply("the reply is of another type than was asked for")
        encoding = reply.headers.get("Content-Encoding", "")
        body = await read_body(reply.content.iter_chunked(CHUNK), encoding, self.settings.max_bytes)
        return body, reply.charset or ""

    async def close(self) -> None:
        """Closes every connection."""
        await self._session.close()


class Http:
    """The client as one attempt at one provider sees it: bound to its addresses, its key and its deadline."""

    def __init__(self, client: Client, access: Access, deadline: Deadline) -> None:
        self._client = client
        self._access = access
        self._deadline = deadline
        # Seconds for which the provider wants to be left alone although it answered.
        self.rest = 0.0

    @property
    def key(self) -> str:
        """The provider's key; empty when it needs none."""
        return self._access.key

    def url(self, base: Base) -> str:
        """A base as it is configured."""
        return self._access.urls[base]

    async def json(self, request: Get) -> Any:
        """The reply as a value of JSON."""
        return read_json((await self._fetch(request, JSON_TYPES))[0])

    async def xml(self, request: Get) -> Element:
        """The reply as its root element, names as {namespace}local."""
        return read_xml((await self._fetch(request, XML_TYPES))[0])

    async def text(self, request: Get) -> str:
        """The reply as text."""
        return read_text(*await self._fetch(request, TEXT_TYPES))

    async def _fetch(self, request: Get, types: tuple[str, ...]) -> tuple[bytes, str]:
        """The body and its character set."""
        url = self._address(request)
        with translated():
            async with asyncio.timeout(self._deadline.require()):
                return await self._client.get(url, request, types)

    def _address(self, request: Get) -> URL:
        if request.path.startswith(("http://", "https://")):
            return _checked(request.path)
        if not all(_PLACEHOLDER.fullmatch(value) for value in request.fill.values()):
            raise Refused("the request cannot be put into an address")
        base = self.url(request.base or self._access.profile.bases[0])
        for name, value in request.fill.items():
            base = base.replace("{" + name + "}", value)
        return _checked(base.rstrip("/") + request.path)


def user_agent(contact: str) -> str:
    """Who asks, and whom to write to; Wikimedia and the SEC turn away clients that do not say."""
    return f"lanemesh/{VERSION} ({contact or 'no contact given'})"


def _checked(text: str) -> URL:
    try:
        url = URL(text)
    except ValueError:
        raise Refused("it led to an address that is none") from None
    if url.scheme not in ("http", "https") or not url.host or url.user or url.password:
        raise Refused("it led to an address that is none")
    return url


def _next(target: URL, location: str) -> URL:
    try:
        joined = target.join(URL(location))
    except ValueError:
        raise Refused("it led to an address that is none") from None
    if target.scheme == "https" and joined.scheme != "https":
        raise Refused("it redirects to an insecure address")
    return _checked(str(joined))
