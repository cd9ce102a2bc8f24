"""The client proves who it is, knows the gateway by its name, and keeps its token off the open network."""

from __future__ import annotations

from pathlib import Path

import pytest

from client import certs
from client.mesh import Mesh
from gateway.identity import Caller, Callers
from services.runtime.certificates import Certificates
from services.runtime.errors import StartupError, Unavailable
from services.runtime.server import Security
from tests.certified import Office
from tests.support import FakeLane, evidence, mesh


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    certs.make(tmp_path, ["gateway", "keyword"])
    return tmp_path


def security(folder: Path, process: str = "gateway") -> Security:
    return Security(Certificates(certs.files(folder, process), process))


CALLERS = Callers({}, {"client.lanemesh": Caller("me", ("finance",))})


async def test_the_certificate_of_the_environment_is_presented(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, path in certs.environment(folder, certs.CLIENT).items():
        monkeypatch.setenv(variable, path)
    lane = FakeLane([evidence("a")])
    async with (
        mesh({"keyword": lane}, callers=CALLERS, security=security(folder)) as running,
        Mesh(running.address) as asking,
    ):
        assert (await asking.search("why")).results
        events = [event async for event in asking.stream("why")]
        assert events[-1].final.results
    assert [list(asked.filters.access_labels) for asked in lane.asked] == [["finance"]] * 2


async def test_a_lane_is_not_the_gateway(folder: Path) -> None:
    files = certs.files(folder, certs.CLIENT)
    async with (
        mesh({"keyword": FakeLane()}, security=security(folder, "keyword")) as running,
        Mesh(running.address, tls=files) as asking,
    ):
        with pytest.raises(Unavailable):
            await asking.lanes(deadline=5.0)


async def test_another_name_may_be_expected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = certs.files(folder, certs.CLIENT)
    async with mesh({"keyword": FakeLane()}, security=security(folder)) as running:
        for name, known in (("localhost", True), ("gateway.example.org", False)):
            monkeypatch.setenv("LANEMESH_GATEWAY_NAME", name)
            async with Mesh(running.address, tls=files) as asking:
                if known:
                    assert (await asking.lanes()).lanes
                else:
                    with pytest.raises(Unavailable):
                        await asking.lanes(deadline=5.0)


async def test_the_client_takes_up_a_new_certificate(tmp_path: Path) -> None:
    office = Office(tmp_path)
    serving = Security(office.certificates("gateway"))
    files = office.issue("client")
    async with (
        mesh({"keyword": FakeLane()}, security=serving) as running,
        Mesh(running.address, tls=files) as asking,
    ):
        assert (await asking.lanes()).lanes
        office.issue("client")
        assert asking._certificates is not None
        await asking._certificates.renew()
        await asking._channel.renewed()  # type: ignore[attr-defined]
        assert (await asking.lanes()).lanes


@pytest.mark.parametrize("address", ["gateway.example.org:50051", "10.0.0.7:50051", "dns:///gateway:50051"])
def test_a_token_is_not_sent_in_plain_text_beyond_loopback(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StartupError, match=f"cross the network to {address} in plain text") as caught:
        Mesh(address, token="a secret")
    assert "a secret" not in str(caught.value)
    Mesh(address)
    Mesh(address, token="a secret", tls=certs.files(folder, certs.CLIENT))
    monkeypatch.setenv("LANEMESH_ALLOW_PLAINTEXT", "true")
    Mesh(address, token="a secret")
