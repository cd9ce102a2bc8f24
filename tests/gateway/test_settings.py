"""The gateway leaves loopback only when it can tell its callers apart, or is told that it need not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.__main__ import build
from gateway.settings import GatewaySettings, check
from services.runtime.errors import StartupError
from tests.certified import Office, variables
from tests.gateway.test_main import ENVIRONMENT
from tests.support import TABLE

NEAR, FAR = "127.0.0.1:50051", "0.0.0.0:50051"
FILE = Path("callers.yaml")


@pytest.mark.parametrize(("listen", "http"), [(FAR, ""), (NEAR, "0.0.0.0:8080"), (FAR, FAR)])
def test_beyond_loopback_it_needs_callers(listen: str, http: str) -> None:
    with pytest.raises(
        StartupError, match=r"LISTEN=0.0.0.0:\d+ is beyond loopback: set LANEMESH_CALLERS, or LANEMESH_A"
    ):
        check(GatewaySettings(), listen, http)
    check(GatewaySettings(callers=FILE), listen, http)
    check(GatewaySettings(allow_anybody=True), listen, http)


@pytest.mark.parametrize(("listen", "http"), [(NEAR, ""), (NEAR, "localhost:8080"), ("unix:/run/gateway.sock", "")])
def test_on_loopback_it_needs_nothing(listen: str, http: str) -> None:
    check(GatewaySettings(), listen, http)


def test_a_forwarded_identity_is_believed_only_of_this_machine() -> None:
    check(GatewaySettings(callers=FILE, forwarded_identity=True), NEAR, "")
    for listen, http in ((FAR, ""), (NEAR, FAR)):
        with pytest.raises(StartupError, match="LANEMESH_FORWARDED_IDENTITY"):
            check(GatewaySettings(callers=FILE, forwarded_identity=True), listen, http)


def test_without_client_certificates_it_needs_callers() -> None:
    with pytest.raises(StartupError, match="LANEMESH_CLIENT_CERTIFICATES=none needs LANEMESH_CALLERS"):
        check(GatewaySettings(client_certificates="none"), NEAR, "")
    check(GatewaySettings(client_certificates="none", callers=FILE), NEAR, "")


async def test_callers_do_not_replace_encryption(tmp_path: Path) -> None:
    callers = tmp_path / "callers.yaml"
    callers.write_text("callers: {billing: {names: [billing.example.org]}}")
    for variable in ("LANEMESH_LISTEN", "LANEMESH_HTTP_LISTEN"):
        environment = ENVIRONMENT | {variable: "0.0.0.0:0", "LANEMESH_CALLERS": str(callers)}
        with pytest.raises(StartupError, match=f"{variable}=0.0.0.0:0 is beyond loopback: set LANEMESH_TLS_CERT"):
            await build(TABLE, environment)


async def test_the_certificate_must_be_the_gateways(tmp_path: Path) -> None:
    files = Office(tmp_path).issue("keyword")
    with pytest.raises(StartupError, match=r"keyword\.lanemesh, not of gateway\.lanemesh"):
        await build(TABLE, ENVIRONMENT | variables(files))
