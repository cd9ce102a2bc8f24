"""Who may talk to whom, over real connections; and certificates, authority included, changed under load."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import pytest
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub
from lanemesh.v1.index_pb2 import UpsertRequest
from lanemesh.v1.index_pb2_grpc import IndexServiceStub
from lanemesh.v1.lane_pb2 import RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from client.authority import issue, new_authority
from services.runtime.__main__ import services_of
from services.runtime.certificates import Certificates, Files, identity
from services.runtime.clients import Peers, PeerSettings, Trust, health_method, open_channel
from services.runtime.errors import PermissionDenied, from_status
from services.runtime.renewal import RenewedChannel
from services.runtime.server import Security, Server, ServerSettings
from tests.certified import Office
from tests.support import TABLE, FakeLane, evidence

QUESTION = RetrieveRequest(query="q", max_results=3)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "certs")


@asynccontextmanager
async def lane_of(
    certificates: Certificates, lane: FakeLane | None = None, **settings: object
) -> AsyncIterator[tuple[Server, str]]:
    """The keyword lane, which only the gateway may call."""
    lane = lane or FakeLane([evidence("a")])
    how = ServerSettings(grace_seconds=0.1, lame_duck_seconds=0.0, **settings)  # type: ignore[arg-type]
    security = Security(certificates, ("gateway",))
    server = Server(how, services_of("keyword", lane, TABLE), lane.check, security=security)
    port = await server.start()
    try:
        yield server, f"127.0.0.1:{port}"
    finally:
        await server.stop()


def trusting(certificates: Certificates, process: str = "keyword") -> Trust:
    return Trust(certificates, identity(process))


async def refusal(channel: grpc.aio.Channel) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await LaneServiceStub(channel).Retrieve(QUESTION, timeout=10)
    return caught.value


def raw(address: str, office: Office, files: Files | None) -> grpc.aio.Channel:
    """A channel of somebody who does not go through our checks."""
    key = files.key.read_bytes() if files and files.key else None
    certificate = files.certificate.read_bytes() if files and files.certificate else None
    credentials = grpc.ssl_channel_credentials((office.folder / "ca.crt").read_bytes(), key, certificate)
    options = [("grpc.ssl_target_name_override", "keyword.lanemesh")]
    return grpc.aio.secure_channel(address, credentials, options=options)


async def test_the_gateway_is_answered(office: Office) -> None:
    async with (
        lane_of(office.certificates("keyword")) as (_, address),
        open_channel(address, trust=trusting(office.certificates("gateway"))) as channel,
    ):
        assert (await LaneServiceStub(channel).Retrieve(QUESTION, timeout=10)).lane == "keyword"
        stored = await IndexServiceStub(channel).Upsert(iter([UpsertRequest(document=evidence("b").document)]))
        assert stored.stored == 1


async def test_without_a_certificate_there_is_no_connection(office: Office) -> None:
    async with lane_of(office.certificates("keyword")) as (_, address):
        async with grpc.aio.insecure_channel(address) as plain:
            assert (await refusal(plain)).code() is grpc.StatusCode.UNAVAILABLE
        async with raw(address, office, None) as nameless:
            assert (await refusal(nameless)).code() is grpc.StatusCode.UNAVAILABLE


async def test_a_certificate_of_another_authority_is_no_certificate(office: Office, tmp_path: Path) -> None:
    stranger = Office(tmp_path / "elsewhere").issue("gateway")
    async with lane_of(office.certificates("keyword")) as (_, address), raw(address, office, stranger) as channel:
        assert (await refusal(channel)).code() is grpc.StatusCode.UNAVAILABLE


async def test_an_expired_certificate_is_no_certificate(office: Office) -> None:
    files = office.issue_expired("gateway")
    async with lane_of(office.certificates("keyword")) as (_, address), raw(address, office, files) as channel:
        assert (await refusal(channel)).code() is grpc.StatusCode.UNAVAILABLE


async def test_another_process_may_ask_how_a_lane_is_and_nothing_else(office: Office) -> None:
    lane = FakeLane([evidence("a")])
    async with (
        lane_of(office.certificates("keyword"), lane) as (_, address),
        open_channel(address, trust=trusting(office.certificates("vector"))) as channel,
    ):
        health = await health_method(channel)(HealthCheckRequest(), timeout=10)
        assert health.status == HealthCheckResponse.SERVING
        refused = from_status(await refusal(channel))
        assert isinstance(refused, PermissionDenied)
        assert refused.message == "vector.lanemesh may not call this process"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await IndexServiceStub(channel).Upsert(iter([UpsertRequest()]), timeout=10)
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        asked = ServerReflectionStub(channel).ServerReflectionInfo(iter([ServerReflectionRequest()]), timeout=10)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asked.read()
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    assert not lane.asked
    assert not lane.stored


async def test_a_lane_cannot_stand_in_for_another_process(office: Office) -> None:
    async with lane_of(office.certificates("keyword")) as (_, address):
        for process in ("gateway", "vector"):
            async with open_channel(address, trust=trusting(office.certificates("gateway"), process)) as channel:
                assert (await refusal(channel)).code() is grpc.StatusCode.UNAVAILABLE


async def test_peers_check_each_process_by_its_own_name(office: Office) -> None:
    async with lane_of(office.certificates("keyword")) as (_, address):
        own = office.certificates("gateway")
        peers = Peers({"keyword": address, "vector": address}, max_reply_bytes=1024 * 1024, certificates=own)
        assert (await LaneServiceStub(peers.channel("keyword")).Retrieve(QUESTION, timeout=10)).lane == "keyword"
        assert (await refusal(peers.channel("vector"))).code() is grpc.StatusCode.UNAVAILABLE
        assert (await refusal(peers.probe("vector"))).code() is grpc.StatusCode.UNAVAILABLE
        await peers.close()


async def test_peers_are_called_in_plain_text_where_a_proxy_encrypts(office: Office) -> None:
    own, table = office.certificates("gateway"), TABLE.only({"keyword"})
    for settings in (PeerSettings(), PeerSettings(tls=False)):
        peers = Peers.of_table(table, settings, own)
        assert isinstance(peers.channel("keyword"), RenewedChannel) is settings.tls
        await peers.close()


async def test_probes_have_a_door_of_their_own_that_opens_nothing_else(office: Office) -> None:
    async with (
        lane_of(office.certificates("keyword"), health_listen="127.0.0.1:0") as (server, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{server.health_port}") as channel,
    ):
        check = health_method(channel)
        assert (await check(HealthCheckRequest(), timeout=10)).status == HealthCheckResponse.SERVING
        assert (await check(HealthCheckRequest(service="liveness"))).status == HealthCheckResponse.SERVING
        assert (await refusal(channel)).code() is grpc.StatusCode.UNIMPLEMENTED
        server.health.drain()
        assert (await check(HealthCheckRequest(), timeout=10)).status == HealthCheckResponse.NOT_SERVING


async def test_certificates_and_authority_change_under_load_without_a_failed_call(office: Office) -> None:
    served, calling = office.certificates("keyword"), office.certificates("gateway")
    old, new = office.authority, new_authority()
    lane = FakeLane([evidence("a")])
    held = FakeLane([evidence("a")], gate=asyncio.Event())
    answered, stopping = 0, asyncio.Event()

    async def ask(stub: LaneServiceStub) -> None:
        nonlocal answered
        while not stopping.is_set():
            await stub.Retrieve(QUESTION, timeout=30)
            answered += 1

    async with (
        lane_of(served, lane) as (_, address),
        lane_of(office.certificates("keyword"), held) as (_, slow),
        open_channel(address, trust=trusting(calling)) as channel,
        open_channel(slow, trust=trusting(calling)) as waiting,
        asyncio.TaskGroup() as group,
    ):
        assert isinstance(channel, RenewedChannel)
        assert isinstance(waiting, RenewedChannel)
        long = waiting.unary_unary("/lanemesh.v1.LaneService/Retrieve", RetrieveRequest.SerializeToString)(QUESTION)
        await held.started.wait()
        for _ in range(4):
            group.create_task(ask(LaneServiceStub(channel)))

        async def changed(replaced: bool = True) -> None:
            """Everybody has looked, and calls have gone through since."""
            before, seen = channel.now, answered
            await served.renew()
            await calling.renew()
            await channel.renewed()
            await waiting.renewed()
            assert (channel.now is not before) is replaced
            while answered < seen + 20:
                await LaneServiceStub(channel).Retrieve(QUESTION, timeout=30)

        office.trust(old, new)
        await changed()
        office.issue("keyword", authority=new)
        await changed(replaced=False)
        office.issue("gateway", authority=new)
        await changed()
        office.trust(new)
        await changed()
        stopping.set()
        assert held.gate
        held.gate.set()
        assert await long
        former = issue(old, ["gateway.lanemesh"])
        (office.folder / "former.crt").write_bytes(former.certificate_pem())
        (office.folder / "former.key").write_bytes(former.key_pem())
        async with raw(address, office, office.files("former")) as channel_of_old:
            assert (await refusal(channel_of_old)).code() is grpc.StatusCode.UNAVAILABLE
    assert answered >= 60


async def test_a_new_certificate_that_cannot_connect_leaves_the_old_connection_in_use(office: Office) -> None:
    calling = office.certificates("gateway")
    async with (
        lane_of(office.certificates("keyword")) as (server, address),
        open_channel(address, trust=trusting(calling)) as channel,
    ):
        assert isinstance(channel, RenewedChannel)
        stub = LaneServiceStub(channel)
        await stub.Retrieve(QUESTION, timeout=10)
        before, other = channel.now, new_authority()
        # The lane has not heard of the authority that the gateway moves to.
        (office.folder / "both.crt").write_bytes(other.certificate_pem() + office.authority.certificate_pem())
        office.issue("gateway", authority=other)
        calling.files = Files(office.folder / "both.crt", calling.files.certificate, calling.files.key)
        await calling.renew()
        assert (await stub.Retrieve(QUESTION, timeout=10)).lane == "keyword"
        assert channel.now is before
        office.trust(other, office.authority)
        assert server
        await channel.renewed()
        assert channel.now is not before
        assert (await stub.Retrieve(QUESTION, timeout=10)).lane == "keyword"


async def test_nothing_secret_is_shown(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    certificates = office.certificates("keyword")
    assert certificates.material.key is not None
    shown = json.dumps([repr(certificates.material), repr(Security(certificates)), caplog.text])
    assert "PRIVATE" not in shown
    assert certificates.material.key.decode().splitlines()[1] not in shown
