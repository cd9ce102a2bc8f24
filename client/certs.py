"""`lanemesh certs`: an authority for this machine, a certificate for every process and one for whoever asks."""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rich.text import Text

from client.output import new_console
from services.runtime.certificates import Files, identity
from services.runtime.dev import DevSettings
from services.runtime.errors import LanemeshError
from services.runtime.registry import load_table
from services.runtime.settings import load

if TYPE_CHECKING:
    from client.authority import Pair

CLIENT = "client"
FOLDER = "certs"
# Names the gateway is reached by on one machine; no other process has them.
_LOCAL = ("localhost", "127.0.0.1", "::1")


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", type=Path, help="where they go (default: certs in LANEMESH_HOME)"
    )


async def run(arguments: argparse.Namespace) -> int:
    """Makes what is missing, renews what is near its end."""
    settings = load(DevSettings, os.environ)
    folder: Path = arguments.folder or settings.home / FOLDER
    processes = ["gateway", "fusion", *load_table(settings.config).lanes]
    try:
        made = make(folder, processes)
    except OSError as error:
        raise LanemeshError(f"{error.filename or folder}: {error.strerror}") from error
    console = new_console()
    console.print(Text(f"{len(made)} new in {folder}: {', '.join(made)}" if made else f"all are good in {folder}"))
    return 0


def make(folder: Path, processes: list[str], now: datetime | None = None) -> list[str]:
    """The names of the certificates that had to be made."""
    now = now or datetime.now(UTC)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = []
    issuing = _issuing()
    authority = _authority(folder, now)
    if authority is None:
        authority = _new_authority(folder, now)
        made.append("ca")
    for process in (*processes, CLIENT):
        names = [identity(process), *(_LOCAL if process == "gateway" else ())]
        if not _is_good(folder, process, names, authority, now):
            _write(folder, process, issuing.issue(authority, names, now))
            made.append(process)
    return made


def files(folder: Path, process: str) -> Files:
    """Where a process finds its certificate in that folder."""
    return Files(folder / "ca.crt", folder / f"{process}.crt", folder / f"{process}.key")


def environment(folder: Path, process: str) -> Mapping[str, str]:
    """The variables that point a process there."""
    return {variable: str(path) for variable, path in files(folder, process).named().items()}


def _authority(folder: Path, now: datetime) -> Pair | None:
    """The authority that issues; the first of its file."""
    pair = _read(folder, "ca")
    return pair if pair and pair.is_young(now) else None


def _new_authority(folder: Path, now: datetime) -> Pair:
    """A new one, its certificate before those that are still accepted beside it."""
    authority: Pair = _issuing().new_authority(now)
    before = _read(folder, "ca")
    kept = before.certificate_pem() if before and before.certificate.not_valid_after_utc > now else b""
    _put(folder / "ca.crt", authority.certificate_pem() + kept, 0o644)
    _put(folder / "ca.key", authority.key_pem(), 0o600)
    return authority


def _is_good(folder: Path, process: str, names: list[str], authority: Pair, now: datetime) -> bool:
    pair = _read(folder, process)
    return pair is not None and pair.is_young(now) and pair.names() == set(names) and pair.is_issued_by(authority)


def _read(folder: Path, name: str) -> Pair | None:
    try:
        certificate, key = (folder / f"{name}.crt").read_bytes(), (folder / f"{name}.key").read_bytes()
    except FileNotFoundError:
        return None
    kind = _issuing().Pair
    try:
        pair: Pair = kind.read(certificate, key)
    except (ValueError, TypeError):
        return None
    return pair


def _write(folder: Path, name: str, pair: Pair) -> None:
    _put(folder / f"{name}.key", pair.key_pem(), 0o600)
    _put(folder / f"{name}.crt", pair.certificate_pem(), 0o644)


def _put(path: Path, content: bytes, mode: int) -> None:
    """The file as a whole or as it was; never readable by others, not even for a moment."""
    number, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(number, "wb") as file:
        os.fchmod(number, mode)
        file.write(content)
    Path(name).replace(path)


def _issuing() -> ModuleType:
    """The module that needs `cryptography`, which no other part of the mesh does."""
    try:
        return importlib.import_module("client.authority")
    except ModuleNotFoundError as error:
        raise LanemeshError(f"certs: {error}; it is in the extra `certs`") from None
