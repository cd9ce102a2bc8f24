"""The client over a real connection: limits hold while the reply streams, redirects are followed with care."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import psutil
import pytest
from aiohttp import web

from services.providers.http import Client, Get, Http
from services.providers.provider import Base, Profile
from services.providers.settings import Access, ProviderSettings
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    Unauthenticated,
    Unavailable,
)
from tests.simulator.server import Simulator, simulating

BASE = Base("UNUSED", "https://unused.example")
PROFILE = Profile("test", (BASE,))
SETTINGS = ProviderSettings(allowed=("127.0.0.1/32",), max_bytes=1 << 20, contact="mesh@example.org")

Bind = Callable[..., Http]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    client = Client(SETTINGS)
    yield client
    await client.close()


@pytest.fixture
def bind(client: Client, simulator: Simulator) -> Bind:
    def bound(path: str = "/test", key: str = "", deadline: Deadline | None = None) -> Http:
        return Http(client, Access(PROFILE, {BASE: f"{simulator.url}{path}"}, key), deadline or Deadline.after(30))

    return bound


def reply(body: bytes | str, **fields: Any) -> Callable[..., web.Response]:
    headers = {"Content-Type": fields.pop("type", "application/json"), **fields.pop("headers", {})}
    return lambda *_: web.Response(body=body.encode() if isinstance(body, str) else body, headers=headers, **fields)


async def test_a_request_says_who_asks_and_leaves_out_what_is_none(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["test"] = reply('{"a": 1}')
    assert await bind("/test/").json(Get("/x", params={"q": "a b&c", "n": 3, "none": None})) == {"a": 1}
    (asked,) = simulator.asked
    assert (asked.path, asked.query) == ("/x", {"q": "a b&c", "n": "3"})
    assert asked.headers["User-Agent"] == "lanemesh/0.1.0 (mesh@example.org)"


async def test_placeholders_are_filled_with_plain_words_only(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["test"] = reply("{}")
    await bind("/test/{language}").json(Get("/x", fill={"language": "pt-BR"}))
    assert simulator.asked[0].path == "/pt-BR/x"
    for bad in ("evil.example/", "", "a.b", "x" * 40, "a@b"):
        with pytest.raises(Refused):
            await bind("/test/{language}").json(Get("/x", fill={"language": bad}))


FAULTS = [
    ("429", Overloaded),
    ("429-date", Overloaded),
    ("401", Unauthenticated),
    ("403", Unauthenticated),
    ("500", Unavailable),
    ("503", Overloaded),
    ("truncated", BadReply),
    ("wrong-type", BadReply),
    ("large", BadReply),
    ("redirect", Refused),
    ("redirect-loop", Refused),
    ("bomb", BadReply),
    ("laughs", BadReply),
    ("deep", BadReply),
    ("not-json", BadReply),
    ("hang-up", Unavailable),
]


@pytest.mark.parametrize(("fault", "error"), FAULTS)
async def test_each_fault_has_its_error(bind: Bind, fault: str, error: type[LanemeshError]) -> None:
    with pytest.raises(error):
        await bind(f"/fault/{fault}/test").json(Get())


@pytest.mark.parametrize("fault", ["slow-headers", "slow-body"])
async def test_time_is_kept_whatever_part_is_slow(bind: Bind, fault: str) -> None:
    with pytest.raises(DeadlinePassed):
        await bind(f"/fault/{fault}/test", deadline=Deadline.after(0.05)).json(Get())


async def test_without_time_nothing_is_sent(simulator: Simulator, bind: Bind) -> None:
    with pytest.raises(DeadlinePassed):
        await bind(deadline=Deadline.after(-1.0)).json(Get())
    assert not simulator.asked


async def test_retry_after_is_passed_on(bind: Bind) -> None:
    with pytest.raises(Overloaded) as caught:
        await bind("/fault/429/test").json(Get())
    assert caught.value.retry_after == 30.0


async def test_large_and_packed_replies_do_not_swell_the_process(bind: Bind) -> None:
    process = psutil.Process()
    with pytest.raises(BadReply):
        await bind("/fault/bomb/test").json(Get())
    before = process.memory_info().rss
    for _ in range(5):
        for fault in ("bomb", "large"):
            with pytest.raises(BadReply):
                await bind(f"/fault/{fault}/test").json(Get())
    # Twenty bombs of 200 MB and as much again in plain would show.
    assert process.memory_info().rss - before < 100 << 20


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_packed_replies_are_unpacked(simulator: Simulator, bind: Bind, pack: Callable[[bytes], bytes]) -> None:
    simulator.replies["test"] = reply(pack(b'{"a": 1}'), headers={"Content-Encoding": "gzip"})
    assert await bind().json(Get()) == {"a": 1}


@pytest.mark.parametrize(
    ("body", "encoding"), [(b"{}", "gzip"), (gzip.compress(b"{}")[:-9], "gzip"), (b"{}", "br"), (b"{}", "zstd")]
)
async def test_what_does_not_unpack_is_unreadable(simulator: Simulator, bind: Bind, body: bytes, encoding: str) -> None:
    simulator.replies["test"] = reply(body, headers={"Content-Encoding": encoding})
    with pytest.raises(BadReply):
        await bind().json(Get())


async def test_a_reply_may_be_as_large_as_the_limit_and_no_larger(simulator: Simulator, bind: Bind) -> None:
    limit = SETTINGS.max_bytes
    for pack, headers in ((bytes, {}), (gzip.compress, {"Content-Encoding": "gzip"})):
        simulator.replies["test"] = reply(pack(b"x" * limit), type="text/plain", headers=headers)
        assert len(await bind().text(Get())) == limit
        simulator.replies["test"] = reply(pack(b"x" * (limit + 1)), type="text/plain", headers=headers)
        with pytest.raises(BadReply):
            await bind().text(Get())


async def test_invalid_characters_are_replaced(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["test"] = reply(b'{"a": "\xff"}')
    assert await bind().json(Get()) == {"a": "\ufffd"}


async def test_types_are_checked_and_can_be_widened(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["test"] = reply("{}", type="application/x-javascript")
    with pytest.raises(BadReply):
        await bind().json(Get())
    assert await bind().json(Get(types=("application/x-javascript",))) == {}
    simulator.replies["test"] = reply("<r/>", type="application/rss+xml")
    assert (await bind().xml(Get())).tag == "r"
    simulator.replies["test"] = reply("a,b", type="text/csv; charset=utf-8")
    assert await bind().text(Get()) == "a,b"


async def test_the_body_of_a_chosen_status_is_read(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["test"] = reply('{"error": 1}', status=400)
    with pytest.raises(Refused):
        await bind().json(Get())
    assert await bind().json(Get(statuses=(400,))) == {"error": 1}


async def test_a_key_is_not_carried_to_another_origin(simulator: Simulator, bind: Bind) -> None:
    async with simulating() as elsewhere:
        elsewhere.replies["there"] = reply("{}")
        simulator.replies["test"] = reply("", status=302, headers={"Location": f"{elsewhere.url}/there"})
        await bind(key="hunter2").json(Get(params={"key": "hunter2"}, headers={"X-Key": "hunter2"}))
        (asked,) = elsewhere.asked
    assert "hunter2" not in str(asked)
    assert simulator.asked[0].headers["X-Key"] == "hunter2"


async def test_a_redirect_at_home_keeps_the_key(simulator: Simulator, bind: Bind) -> None:
    simulator.replies["moved"] = reply("{}")
    simulator.replies["test"] = reply("", status=307, headers={"Location": "/moved"})
    await bind().json(Get(headers={"X-Key": "hunter2"}))
    assert simulator.of("moved")[0].headers["X-Key"] == "hunter2"


@pytest.mark.parametrize("location", ["", "ftp://example.org/", "file:///etc/passwd", "http://[::1", "//127.0.0.2:9/"])
async def test_redirects_to_nowhere_good_are_refused(simulator: Simulator, bind: Bind, location: str) -> None:
    simulator.replies["test"] = reply("", status=302, headers={"Location": location})
    with pytest.raises(Refused):
        await bind().json(Get())


async def test_redirects_can_be_forbidden(simulator: Simulator) -> None:
    simulator.replies["moved"] = reply("{}")
    simulator.replies["test"] = reply("", status=302, headers={"Location": "/moved"})
    client = Client(replace(SETTINGS, max_redirects=0))
    with pytest.raises(Refused):
        await Http(client, Access(PROFILE, {BASE: f"{simulator.url}/test"}), Deadline.after(30)).json(Get())
    await client.close()
    assert not simulator.of("moved")


async def test_nobody_listening_is_unavailable(client: Client) -> None:
    http = Http(client, Access(PROFILE, {BASE: "http://127.0.0.1:1"}), Deadline.after(30))
    with pytest.raises(Unavailable):
        await http.json(Get())
