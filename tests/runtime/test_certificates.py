"""Certificates are used when they fit together, and only then: at the start and whenever the files change."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from client.authority import new_authority
from services.runtime.certificates import EXPIRY, Certificates, Files, Material, of_client, of_process
from services.runtime.errors import StartupError
from tests.certified import Office, variables


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "certs")


def refused(files: Files, process: str = "keyword") -> str:
    with pytest.raises(StartupError) as caught:
        of_process(process, variables(files))
    return caught.value.message


def test_without_files_there_is_no_tls() -> None:
    assert of_process("keyword", {}) is None
    assert of_client({}) is None


@pytest.mark.parametrize("missing", ["LANEMESH_TLS_CA", "LANEMESH_TLS_CERT", "LANEMESH_TLS_KEY"])
def test_all_three_or_none(office: Office, missing: str) -> None:
    environment = variables(office.issue("keyword"))
    del environment[missing]
    with pytest.raises(StartupError, match=f"^{missing} must be set where LANEMESH_TLS_"):
        of_process("keyword", environment)


def test_a_client_needs_only_authorities_or_all_three(office: Office) -> None:
    files = office.issue("client")
    only = of_client({"LANEMESH_TLS_CA": str(files.authorities)})
    assert only is not None
    assert only.material.certificate is None
    assert of_client(variables(files)) is not None
    for missing in ("LANEMESH_TLS_KEY", "LANEMESH_TLS_CERT"):
        environment = variables(files)
        del environment[missing]
        with pytest.raises(StartupError, match="LANEMESH_TLS_CERT and LANEMESH_TLS_KEY must both be set"):
            of_client(environment)
    with pytest.raises(StartupError, match="LANEMESH_TLS_CA must be set"):
        of_client({"LANEMESH_TLS_KEY": str(files.key)})


@pytest.mark.parametrize("suffix", ["ca.crt", "keyword.crt", "keyword.key"])
def test_a_file_that_is_not_there_is_named(office: Office, suffix: str) -> None:
    files = office.issue("keyword")
    (office.folder / suffix).unlink()
    variable = {"ca.crt": "LANEMESH_TLS_CA", "keyword.crt": "LANEMESH_TLS_CERT", "keyword.key": "LANEMESH_TLS_KEY"}
    said = refused(files)
    assert said.startswith(f"{variable[suffix]}={office.folder / suffix}: the file cannot be read: No such file")


@pytest.mark.parametrize(
    ("suffix", "said"),
    [
        ("ca.crt", "LANEMESH_TLS_CA=.*: the file holds no PEM certificate"),
        ("keyword.crt", "LANEMESH_TLS_CERT=.*: the file holds no PEM certificate"),
        ("keyword.key", "LANEMESH_TLS_KEY=.*: the file holds no unencrypted PEM key"),
    ],
)
def test_a_file_of_something_else_is_named(office: Office, suffix: str, said: str) -> None:
    files = office.issue("keyword")
    (office.folder / suffix).write_text("a shopping list")
    with pytest.raises(StartupError, match=said):
        of_process("keyword", variables(files))


def test_a_key_of_another_certificate_is_refused(office: Office) -> None:
    files = office.issue("keyword")
    other = office.issue("vector")
    assert other.key
    assert "the key is not that of LANEMESH_TLS_CERT" in refused(Files(files.authorities, files.certificate, other.key))


def test_an_expired_certificate_is_refused(office: Office) -> None:
    assert refused(office.issue_expired("keyword")).endswith("the certificate has expired")


def test_one_that_is_not_valid_yet_is_refused(office: Office) -> None:
    files = office.issue("keyword", now=datetime.now(UTC) + timedelta(days=1))
    assert refused(files).endswith("the certificate is not valid yet")


def test_one_of_another_authority_is_refused(office: Office) -> None:
    files = office.issue("keyword", authority=new_authority())
    assert refused(files).endswith("not of an authority in LANEMESH_TLS_CA")


def test_one_of_another_process_is_refused(office: Office) -> None:
    files = office.issue("vector")
    assert refused(files).endswith("the certificate is of vector.lanemesh, not of keyword.lanemesh")
    assert of_process("vector", variables(files)) is not None


def test_new_files_are_used_and_their_end_is_told(office: Office) -> None:
    certificates = office.certificates("keyword")
    before, expires = certificates.look(), EXPIRY.read()
    assert certificates.look() is before
    office.issue("keyword", days=2.0)
    assert certificates.look().certificate != before.certificate
    assert EXPIRY.read() > expires + 80_000


@pytest.mark.parametrize("suffix", ["ca.crt", "keyword.crt", "keyword.key"])
def test_half_of_new_files_changes_nothing_and_is_logged(
    office: Office, suffix: str, caplog: pytest.LogCaptureFixture
) -> None:
    certificates = office.certificates("keyword")
    good = certificates.material
    path = office.folder / suffix
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert certificates.look() is good
    path.unlink()
    assert certificates.look() is good
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["the certificates in use stay"] * 2
    path.write_bytes(whole)
    assert certificates.look().certificate == good.certificate
    assert good.key is not None
    assert "PRIVATE" not in caplog.text
    assert "PRIVATE" not in repr(good)


def test_a_certificate_without_its_new_key_waits_for_it(office: Office) -> None:
    certificates = office.certificates("keyword")
    good, key_path = certificates.material, office.folder / "keyword.key"
    old_key = key_path.read_bytes()
    office.issue("keyword")
    new_key = key_path.read_bytes()
    key_path.write_bytes(old_key)
    assert certificates.look() is good
    key_path.write_bytes(new_key)
    assert certificates.look().key == new_key


async def test_followers_are_told_when_something_is_new(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    certificates = Certificates(office.issue("keyword"), "keyword", every=0.01)

    class Follower:
        def __init__(self) -> None:
            self.told = asyncio.Event()

        def renew(self, material: Material) -> None:
            if material is not first:
                self.told.set()

    follower, first = Follower(), certificates.material
    certificates.follow(follower)
    certificates.start()
    office.issue("keyword")
    async with asyncio.timeout(30):
        await follower.told.wait()
    await certificates.stop()
    assert "new certificates are in use" in caplog.text
