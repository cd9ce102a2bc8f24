"""TLS at both ends of the real Envoy: who is refused, who is known, and certificates renewed while it runs."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest
import pytest_asyncio
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from lanemesh.v1 import lane_pb2_grpc, search_pb2_grpc
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse
from lanemesh.v1.search_pb2 import ListLanesRequest, ListLanesResponse

from services.runtime.server import Service
from tests.envoy.running import Door, free_base, running, values_of
from tests.support import serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

DAY = timedelta(days=1)


class Authority:
    """Signs certificates for the length of a test."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
        builder = self._builder(self._name, self._key, datetime.now(UTC) + DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        self.pem = _pem(builder.sign(self._key, hashes.SHA256()))

    def issue(self, *names: str, ends: datetime | None = None) -> tuple[bytes, bytes]:
        """Certificate and key of somebody with these names, for server and client."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = self._builder(subject, key, ends or datetime.now(UTC) + DAY)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), False)
        certificate = builder.add_extension(uses, False).sign(self._key, hashes.SHA256())
        encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        return _pem(certificate), key.private_bytes(*encoding)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, ends: datetime) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        return builder.not_valid_before(ends - 30 * DAY).not_valid_after(ends)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


class Behind(search_pb2_grpc.SearchServiceServicer, lane_pb2_grpc.LaneServiceServicer):
    """A gateway and a lane that remember what metadata came."""

    def __init__(self) -> None:
        self.metadata: dict[str, str | bytes] = {}

    async def ListLanes(self, request: ListLanesRequest, context: Any) -> ListLanesResponse:
        self.metadata = dict(context.invocation_metadata())
        return ListLanesResponse()

    async def Retrieve(self, request: RetrieveRequest, context: Any) -> RetrieveResponse:
        return RetrieveResponse(lane=context.auth_context()["x509_common_name"][0].decode())


@dataclass
class Secure:
    door: Door
    authority: Authority
    behind: Behind
    certificates: Path

    async def ask(self, certificate: tuple[bytes, bytes] | None, authority: bytes | None = None) -> None:
        """Asks at the ingress as somebody with this certificate."""
        chain, key = certificate or (None, None)
        credentials = grpc.ssl_channel_credentials(authority or self.authority.pem, key, chain)
        options = [("grpc.ssl_target_name_override", "gateway.lanemesh"), ("grpc.enable_retries", 0)]
        async with grpc.aio.secure_channel(self.door.address, credentials, options=options) as channel:
            await search_pb2_grpc.SearchServiceStub(channel).ListLanes(ListLanesRequest(), timeout=5.0)

    def install(self, certificate: tuple[bytes, bytes]) -> None:
        """Puts new files in place at once, as a kubelet does: by a link to a folder that is exchanged."""
        folder = self.certificates / f"..{x509.load_pem_x509_certificate(certificate[0]).serial_number}"
        folder.mkdir()
        for name, content in zip(("tls.crt", "tls.key", "ca.crt"), (*certificate, self.authority.pem), strict=True):
            (folder / name).write_bytes(content)
            if not (link := self.certificates / name).is_symlink():
                link.symlink_to(Path("..data") / name)
        fresh = self.certificates / "..fresh"
        fresh.symlink_to(folder.name)
        fresh.rename(self.certificates / "..data")


async def secured(certificate: tuple[bytes, bytes], authority: Authority, behind: Behind, stack: AsyncExitStack) -> str:
    """A lane that lets in only who has a certificate."""
    server = grpc.aio.server()
    lane_pb2_grpc.add_LaneServiceServicer_to_server(behind, server)
    well = health.aio.HealthServicer()
    await well.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(well, server)
    chain, key = certificate
    credentials = grpc.ssl_server_credentials([(key, chain)], authority.pem, require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    stack.push_async_callback(server.stop, 0)
    return f"127.0.0.1:{port}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def secure(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secure]:
    """Envoy with certificates before a plain gateway and three lanes: a right one, a wrongly named one, a stranger."""
    folder = tmp_path_factory.mktemp("envoy")
    authority, behind = Authority(), Behind()
    (folder / "tls").mkdir()
    own = Secure(Door(free_base(), folder), authority, behind, folder / "tls")
    own.install(authority.issue("gateway.lanemesh"))
    register = search_pb2_grpc.add_SearchServiceServicer_to_server
    async with AsyncExitStack() as stack:
        front = Service("lanemesh.v1.SearchService", lambda server: register(behind, server))
        endpoints: dict[str, Sequence[str]] = {"gateway": [await stack.enter_async_context(serving(front))]}
        lanes = {
            "vector": authority.issue("vector.lanemesh"),
            "keyword": authority.issue("vector.lanemesh"),
            "kg": Authority().issue("kg.lanemesh"),
        }
        for name, certificate in lanes.items():
            endpoints[name] = [await secured(certificate, authority, behind, stack)]
        tls = {
            "enabled": True,
            "certificate": str(own.certificates / "tls.crt"),
            "key": str(own.certificates / "tls.key"),
            "authority": str(own.certificates / "ca.crt"),
        }
        await stack.enter_async_context(running(own.door, values_of(own.door.base, folder, endpoints, {"tls": tls})))
        yield own


async def test_a_known_caller_is_let_in_and_told_of(secure):
    await secure.ask(secure.authority.issue("billing.example.org"))
    told = str(secure.behind.metadata["x-forwarded-client-cert"])
    assert "DNS=billing.example.org" in told
    assert told.count("Hash=") == 1


async def test_who_one_is_cannot_be_made_up(secure):
    chain, key = secure.authority.issue("billing.example.org")
    credentials = grpc.ssl_channel_credentials(secure.authority.pem, key, chain)
    options = [("grpc.ssl_target_name_override", "gateway.lanemesh")]
    made_up = (("x-forwarded-client-cert", "DNS=admin.example.org"), ("lanemesh-echo", "guess"))
    async with grpc.aio.secure_channel(secure.door.address, credentials, options=options) as channel:
        await search_pb2_grpc.SearchServiceStub(channel).ListLanes(ListLanesRequest(), metadata=made_up)
    assert "admin.example.org" not in str(secure.behind.metadata["x-forwarded-client-cert"])
    assert "lanemesh-echo" not in secure.behind.metadata


@pytest.mark.parametrize("certificate", ["none", "of another authority", "expired"])
async def test_who_cannot_show_a_certificate_is_refused(secure, certificate):
    shown = {
        "none": lambda: None,
        "of another authority": lambda: Authority().issue("billing.example.org"),
        "expired": lambda: secure.authority.issue("billing.example.org", ends=datetime.now(UTC) - DAY),
    }[certificate]()
    secure.behind.metadata = {}
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await secure.ask(shown)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE
    assert secure.behind.metadata == {}


async def test_plain_text_is_refused(secure):
    async with grpc.aio.insecure_channel(secure.door.address, options=[("grpc.enable_retries", 0)]) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await search_pb2_grpc.SearchServiceStub(channel).ListLanes(ListLanesRequest(), timeout=5.0)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_lane_is_called_with_our_certificate_and_known_by_its_own(secure):
    reply = await retrieve(secure, "vector")
    assert reply.lane == "gateway.lanemesh"


@pytest.mark.parametrize("lane", ["keyword", "kg"])
async def test_a_lane_that_is_another_or_a_stranger_is_not_asked(secure, lane):
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await retrieve(secure, lane)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def retrieve(secure: Secure, lane: str) -> RetrieveResponse:
    async with grpc.aio.insecure_channel(secure.door.egress(lane), options=[("grpc.enable_retries", 0)]) as channel:
        return await lane_pb2_grpc.LaneServiceStub(channel).Retrieve(RetrieveRequest(query="stock"), timeout=5.0)


async def test_a_renewed_certificate_is_taken_up_while_it_runs(secure):
    renewed = secure.authority.issue("gateway.lanemesh", "renewed.lanemesh")
    before = await shown(secure)
    secure.install(renewed)
    async with asyncio.timeout(20):
        while await shown(secure) != ssl.PEM_cert_to_DER_cert(renewed[0].decode()):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert before != await shown(secure)
    await secure.ask(secure.authority.issue("billing.example.org"))


async def shown(secure: Secure) -> bytes | None:
    """The certificate that the ingress presents now."""
    context = ssl.create_default_context(cadata=secure.authority.pem.decode())
    context.check_hostname = False
    # Up to TLS 1.2 the handshake would fail for want of ours; in 1.3 that comes afterwards.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    host, _, port = secure.door.address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        found: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return found
    finally:
        writer.transport.abort()
