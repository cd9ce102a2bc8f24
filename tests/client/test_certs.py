"""Certificates of one machine: made once, renewed when their time comes, readable by nobody else."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from client import certs
from client.authority import Pair
from services.runtime.certificates import of_client, of_process
from services.runtime.errors import LanemeshError

PROCESSES = ["gateway", "keyword"]
EVERYONE = ["gateway", "keyword", "client"]
NOW = datetime.now(UTC)


def pair(folder: Path, name: str) -> Pair:
    return Pair.read((folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_made_works_for_every_process(tmp_path: Path) -> None:
    assert certs.make(tmp_path, PROCESSES) == ["ca", *EVERYONE]
    for process in PROCESSES:
        assert of_process(process, certs.environment(tmp_path, process)) is not None
    assert of_client(certs.environment(tmp_path, certs.CLIENT)) is not None
    assert pair(tmp_path, "gateway").names() == {"gateway.lanemesh", "localhost", "127.0.0.1", "::1"}
    # A lane answers to no name but its own.
    assert pair(tmp_path, "keyword").names() == {"keyword.lanemesh"}


def test_keys_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    certs.make(folder, PROCESSES)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert {modes[name] for name in modes if name.endswith(".key")} == {0o600}
    assert {modes[name] for name in modes if name.endswith(".crt")} == {0o644}
    assert len(modes) == 8


def test_again_changes_nothing(tmp_path: Path) -> None:
    certs.make(tmp_path, PROCESSES)
    before = contents(tmp_path)
    assert certs.make(tmp_path, PROCESSES) == []
    assert contents(tmp_path) == before


def test_near_its_end_a_certificate_is_renewed_and_the_authority_is_not(tmp_path: Path) -> None:
    certs.make(tmp_path, PROCESSES, NOW)
    authority = (tmp_path / "ca.crt").read_bytes()
    assert certs.make(tmp_path, PROCESSES, NOW + timedelta(days=19)) == []
    assert certs.make(tmp_path, PROCESSES, NOW + timedelta(days=21)) == EVERYONE
    assert (tmp_path / "ca.crt").read_bytes() == authority
    assert pair(tmp_path, "keyword").certificate.not_valid_after_utc > NOW + timedelta(days=50)


def test_near_its_end_the_authority_gets_a_successor_beside_it(tmp_path: Path) -> None:
    certs.make(tmp_path, PROCESSES, NOW)
    old = pair(tmp_path, "ca")
    assert certs.make(tmp_path, PROCESSES, NOW + timedelta(days=300)) == ["ca", *EVERYONE]
    bundle = (tmp_path / "ca.crt").read_bytes()
    assert bundle.count(b"BEGIN CERTIFICATE") == 2
    assert old.certificate_pem() in bundle
    assert certs.make(tmp_path, PROCESSES, NOW + timedelta(days=301)) == []
    certs.make(tmp_path, PROCESSES, NOW + timedelta(days=600))
    assert old.certificate_pem() not in (tmp_path / "ca.crt").read_bytes()


@pytest.mark.parametrize("name", ["keyword.crt", "keyword.key"])
def test_what_is_damaged_or_lost_is_made_again(tmp_path: Path, name: str) -> None:
    certs.make(tmp_path, PROCESSES)
    (tmp_path / name).write_text("nonsense")
    assert certs.make(tmp_path, PROCESSES) == ["keyword"]
    (tmp_path / name).unlink()
    assert certs.make(tmp_path, PROCESSES) == ["keyword"]


def test_a_lane_that_is_new_in_the_table_gets_its_own(tmp_path: Path) -> None:
    certs.make(tmp_path, PROCESSES)
    assert certs.make(tmp_path, [*PROCESSES, "gossip"]) == ["gossip"]


def test_the_command(tmp_path: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEMESH_HOME", str(tmp_path / "home"))
    first = run("certs")
    assert (first.code, first.err) == (0, "")
    assert first.out.startswith(f"12 new in {tmp_path / 'home' / 'certs'}: ca, gateway, fusion, web,")
    assert run("certs").out.startswith("all are good in ")
    assert run("certs", str(tmp_path / "other")).code == 0
    assert (tmp_path / "other" / "preflight.key").exists()
    assert "PRIVATE" not in first.out


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, run: Callable[..., Any]) -> None:
    (tmp_path / "file").write_text("")
    outcome = run("certs", str(tmp_path / "file" / "certs"))
    assert outcome.code == 1
    assert f"{tmp_path / 'file' / 'certs'}: Not a directory" in outcome.err


def test_without_the_library_it_says_which_extra_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "client.authority", None)
    with pytest.raises(LanemeshError, match="it is in the extra `certs`"):
        certs.make(tmp_path, PROCESSES)
