"""The gateway's doors under TLS: callers known by their certificates, and certificates changed while it serves."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from lanemesh.v1.search_pb2 import PlanRequest, SearchRequest
from lanemesh.v1.search_pb2_grpc import SearchServiceStub

from client.authority import issue, new_authority
from gateway.__main__ import build
from gateway.echo import KEY, SEARCH, Shout, Wall
from gateway.http import Door, HttpSettings
from services.runtime.certificates import Files, identity
from services.runtime.clients import Trust, open_channel
from services.runtime.server import Security, Server, ServerSettings
from tests.certified import Office, variables
from tests.gateway.test_main import ENVIRONMENT
from tests.support import TABLE, FakeLane, mesh

PLAN = PlanRequest(search=SearchRequest(query="why"))
CALLERS = """
callers:
  billing:
    names: [billing.example.org]
    lanes: [keyword]
"""


@pytest.fixture
def office(tmp_path: Path) -> Office:
    office = Office(tmp_path / "certs")
    office.issue("gateway", ["gateway.lanemesh", "localhost"])
    office.issue("billing", ["billing.example.org"])
    office.issue("stranger", ["stranger.example.org"])
    return office


@asynccontextmanager
async def gateway(office: Office, **settings: str) -> AsyncIterator[tuple[Server, str]]:
    """The gateway as a process is built, with certificates and callers; its lanes are away."""
    callers = office.folder / "callers.yaml"
    callers.write_text(CALLERS)
    own = variables(office.files("gateway")) if "LANEMESH_FORWARDED_IDENTITY" not in settings else {}
    environment = ENVIRONMENT | own | {"LANEMESH_CALLERS": str(callers)} | settings
    server, close = await build(TABLE.only({"keyword", "vector"}), environment)
    port = await server.start()
    try:
        yield server, f"localhost:{port}"
    finally:
        await server.stop()
        await close()


def over_tls(address: str, files: Files | None, authorities: Path) -> grpc.aio.Channel:
    key = files.key.read_bytes() if files and files.key else None
    certificate = files.certificate.read_bytes() if files and files.certificate else None
    return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(authorities.read_bytes(), key, certificate))


async def lanes_planned(channel: grpc.aio.Channel, *metadata: tuple[str, str]) -> dict[str, str]:
    reply = await SearchServiceStub(channel).Plan(PLAN, timeout=10, metadata=metadata)
    return {row.lane: row.reason for row in reply.plan.lanes}


async def code_of(channel: grpc.aio.Channel, *metadata: tuple[str, str]) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await SearchServiceStub(channel).Plan(PLAN, timeout=10, metadata=metadata)
    return caught.value.code()


async def test_a_caller_is_known_by_its_certificate(office: Office) -> None:
    authorities = office.folder / "ca.crt"
    async with gateway(office) as (_, address):
        async with over_tls(address, office.files("billing"), authorities) as channel:
            assert (await lanes_planned(channel))["vector"] == "not open to caller billing"
        async with over_tls(address, office.files("stranger"), authorities) as channel:
            assert await code_of(channel) is grpc.StatusCode.UNAUTHENTICATED
            claimed = ("x-forwarded-client-cert", "DNS=billing.example.org")
            assert await code_of(channel, claimed) is grpc.StatusCode.UNAUTHENTICATED
        async with over_tls(address, None, authorities) as channel:
            assert await code_of(channel) is grpc.StatusCode.UNAVAILABLE


async def test_without_client_certificates_a_caller_needs_a_token(office: Office) -> None:
    authorities = office.folder / "ca.crt"
    async with (
        gateway(office, LANEMESH_CLIENT_CERTIFICATES="none") as (_, address),
        over_tls(address, None, authorities) as channel,
    ):
        assert await code_of(channel) is grpc.StatusCode.UNAUTHENTICATED


async def test_a_proxy_on_this_machine_says_whose_certificate_it_saw(office: Office) -> None:
    async with (
        gateway(office, LANEMESH_FORWARDED_IDENTITY="true") as (_, address),
        grpc.aio.insecure_channel(address) as channel,
    ):
        seen = ("x-forwarded-client-cert", "Hash=ab;DNS=billing.example.org")
        assert (await lanes_planned(channel, seen))["vector"] == "not open to caller billing"
        assert await code_of(channel) is grpc.StatusCode.UNAUTHENTICATED


async def test_the_gateway_hears_itself_over_tls(office: Office) -> None:
    async def ready() -> None:
        return None

    wall, certificates = Wall(), office.certificates_of("gateway")
    server = Server(ServerSettings(lame_duck_seconds=0.0), [], ready, [wall], Security(certificates))
    await server.start()
    trust = Trust(certificates, identity("gateway"))
    shout = Shout(server.own_address, wall.word, trust)
    await shout()
    async with open_channel(server.own_address(), trust=trust) as channel:
        assert await channel.unary_unary(SEARCH)(b"", metadata=((KEY, wall.word),), timeout=10) == b""
    assert shout._channel is not None
    assert shout._channel.get_state() is grpc.ChannelConnectivity.READY
    await shout.close()
    await server.stop()


def client_of(files: Files | None, authorities: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(authorities))
    if files is not None and files.certificate is not None:
        context.load_cert_chain(files.certificate, files.key)
    return context


@asynccontextmanager
async def door(security: Security) -> AsyncIterator[str]:
    async def ready() -> bool:
        return True

    async with mesh({"keyword": FakeLane()}) as running:
        serving = Door(running.gateway, ready, HttpSettings(listen="localhost:0", grace_seconds=0.1), security)
        port = await serving.start()
        try:
            yield f"https://localhost:{port}/healthz"
        finally:
            await serving.stop()


async def status(url: str, context: ssl.SSLContext) -> Any:
    """The HTTP status; the kind of error when there is none."""
    connector = aiohttp.TCPConnector(ssl=context, force_close=True)
    try:
        async with aiohttp.ClientSession(connector=connector) as session, session.get(url) as response:
            return response.status
    except (aiohttp.ClientError, ConnectionError):
        return "refused"


async def test_the_json_door_wants_a_certificate_too(office: Office, tmp_path: Path) -> None:
    authorities = office.folder / "ca.crt"
    stranger = Office(tmp_path / "elsewhere").issue("billing")
    expired = office.issue_expired("late")
    security = Security(office.certificates_of("gateway"))
    async with door(security) as url:
        assert await status(url, client_of(office.files("billing"), authorities)) == 200
        for files in (None, stranger, expired):
            assert await status(url, client_of(files, authorities)) == "refused"
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientError):
                await session.get(url.replace("https:", "http:"))


async def test_the_json_door_takes_new_certificates_and_lets_go_of_an_old_authority(office: Office) -> None:
    authorities, old, new = office.folder / "ca.crt", office.authority, new_authority()
    async with door(Security(office.certificates_of("gateway"))) as url:
        former = client_of(office.files("billing"), authorities)
        office.trust(old, new)
        office.issue("gateway", ["gateway.lanemesh", "localhost"], authority=new)
        modern = office.issue("modern", ["billing.example.org"], authority=new)
        both = client_of(modern, authorities)
        assert await status(url, both) == 200
        # Whoever trusts only the old authority does not know the new certificate.
        assert await status(url, former) == "refused"
        office.trust(new)
        late = issue(old, ["billing.example.org"])
        (office.folder / "late.crt").write_bytes(late.certificate_pem())
        (office.folder / "late.key").write_bytes(late.key_pem())
        assert await status(url, client_of(office.files("late"), authorities)) == "refused"
        assert await status(url, both) == 200


async def test_a_caller_at_the_json_door_is_known_by_its_certificate(office: Office) -> None:
    context = client_of(office.files("billing"), office.folder / "ca.crt")
    stranger = client_of(office.files("stranger"), office.folder / "ca.crt")
    with_door = {"LANEMESH_HTTP_LISTEN": "localhost:0"}
    ports: list[int] = []
    start = Door.start

    async def noted(self: Door) -> int:
        ports.append(await start(self))
        return ports[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Door, "start", noted)
        async with gateway(office, **with_door), aiohttp.ClientSession() as session:
            url = f"https://localhost:{ports[0]}/v1/plan"
            async with session.post(url, json={"query": "why"}, ssl=context) as response:
                plan = await response.json()
                assert {row["lane"]: row["reason"] for row in plan["plan"]["lanes"]}[
                    "vector"
                ] == "not open to caller billing"
        async with gateway(office, **with_door), aiohttp.ClientSession() as session:
            url = f"https://localhost:{ports[1]}/v1/plan"
            async with session.post(url, json={"query": "why"}, ssl=stranger) as response:
                assert response.status == 401
