"""Everything that can be wrong with a reply, by name."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from functools import cache

from aiohttp import web

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]

MEGABYTE = 1 << 20
# An address of this machine that tests declare forbidden; nothing listens there.
FORBIDDEN = "http://127.0.0.2:9/"
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE rss ['
    + '<!ENTITY a0 "ha">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    + "]><rss><channel><title>&a11;</title></channel></rss>"
)


def _status(status: int, **headers: str) -> Fault:
    async def fault(_request: web.Request) -> web.Response:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"error": "simulated"}, status=status, headers=own)

    return fault


async def slow_headers(_request: web.Request) -> web.Response:
    """Never says a word; ends when the client goes."""
    await asyncio.Event().wait()
    return web.Response()


async def slow_body(request: web.Request) -> web.StreamResponse:
    """Begins and never ends."""
    reply = web.StreamResponse(headers={"Content-Type": "application/json"})
    await reply.prepare(request)
    await reply.write(b'{"results": [')
    await asyncio.Event().wait()
    return reply


async def truncated(request: web.Request) -> web.StreamResponse:
    """Promises more than it sends."""
    reply = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
    await reply.prepare(request)
    await reply.write(b'{"results": [')
    assert request.transport is not None
    request.transport.close()
    return reply


async def wrong_type(_request: web.Request) -> web.Response:
    """A page for people, as of a captive portal."""
    return web.Response(text="<html><title>Log in</title></html>", content_type="text/html")


async def large(request: web.Request) -> web.StreamResponse:
    """20 MB of JSON."""
    reply = web.StreamResponse(headers={"Content-Type": "application/json"})
    await reply.prepare(request)
    await reply.write(b'{"x": "')
    for _ in range(20):
        await reply.write(b"x" * MEGABYTE)
    await reply.write(b'"}')
    return reply


async def redirect(_request: web.Request) -> web.Response:
    """Leads into the machine."""
    return web.Response(status=302, headers={"Location": FORBIDDEN})


async def redirect_loop(request: web.Request) -> web.Response:
    """Leads to itself."""
    return web.Response(status=302, headers={"Location": str(request.rel_url)})


async def bomb(_request: web.Request) -> web.Response:
    """200 MB in 200 kB."""
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    return web.Response(body=_bomb(), headers=headers)


@cache
def _bomb() -> bytes:
    member = gzip.compress(b" " * MEGABYTE * 10)
    return member * 20


async def laughs(_request: web.Request) -> web.Response:
    """A feed whose entities unfold into gigabytes."""
    return web.Response(text=LAUGHS, content_type="application/rss+xml")


async def deep(_request: web.Request) -> web.Response:
    """JSON as deep as a well."""
    return web.Response(text="[" * 100_000 + "]" * 100_000, content_type="application/json")


async def not_json(_request: web.Request) -> web.Response:
    """The right type, the wrong text."""
    return web.Response(text="<html>", content_type="application/json")


async def other_shape(_request: web.Request) -> web.Response:
    """Sound JSON that no provider sends."""
    return web.Response(text=json.dumps([1, [2], None, "three"]), content_type="application/json")


async def invalid_utf8(_request: web.Request) -> web.Response:
    """Bytes that no character begins with, where a text should stand."""
    return web.Response(body=b'{"results": [\xff\xfe\x80\xc0', content_type="application/json")


async def hang_up(request: web.Request) -> web.Response:
    """Closes the connection without a word."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


FAULTS: dict[str, Fault] = {
    "429": _status(429, Retry_After="30"),
    "429-date": _status(429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT"),
    "401": _status(401),
    "403": _status(403),
    "404": _status(404),
    "500": _status(500),
    "503": _status(503, Retry_After="5"),
    "slow-headers": slow_headers,
    "slow-body": slow_body,
    "truncated": truncated,
    "wrong-type": wrong_type,
    "large": large,
    "redirect": redirect,
    "redirect-loop": redirect_loop,
    "bomb": bomb,
    "laughs": laughs,
    "deep": deep,
    "not-json": not_json,
    "other-shape": other_shape,
    "invalid-utf8": invalid_utf8,
    "hang-up": hang_up,
}
