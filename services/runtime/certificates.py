"""This process's certificate, its key and the authorities it accepts: read from files, checked, renewed while it runs.

A process is a name in its certificate, `<process>.lanemesh`; the address it is reached at proves nothing.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from services.runtime.errors import StartupError
from services.runtime.handshake import Unfit, prove, read_authorities
from services.runtime.metrics import Levels
from services.runtime.settings import load, setting

log = logging.getLogger(__name__)

DOMAIN = "lanemesh"
EXPIRY = Levels("lanemesh_certificate_expiry_seconds", "Unix time at which the certificate in use expires.").of()


def identity(process: str) -> str:
    """The name that the certificate of a process carries."""
    return f"{process}.{DOMAIN}"


@dataclass(frozen=True)
class TlsSettings:
    """Where the files are. None of them: plain text."""

    certificate: Path | None = setting("LANEMESH_TLS_CERT", None)
    key: Path | None = setting("LANEMESH_TLS_KEY", None)
    authorities: Path | None = setting("LANEMESH_TLS_CA", None)
    reload_seconds: float = setting("LANEMESH_TLS_RELOAD_SECONDS", 5.0, low=0.01, high=3600.0)


@dataclass(frozen=True, slots=True)
class Files:
    """The PEM files. A client that presents nothing has only authorities."""

    authorities: Path
    certificate: Path | None = None
    key: Path | None = None

    def named(self) -> Mapping[str, Path]:
        """The files there are, by the variable that names each."""
        both = {
            "LANEMESH_TLS_CA": self.authorities,
            "LANEMESH_TLS_CERT": self.certificate,
            "LANEMESH_TLS_KEY": self.key,
        }
        return {variable: path for variable, path in both.items() if path is not None}

    def stamp(self) -> tuple[object, ...]:
        """What changes when a file does; reading them all at every look would cost more."""
        return tuple(_stamp(path) for path in self.named().values())

    def read(self) -> Mapping[str, bytes]:
        """The files as they are now."""
        found = {}
        for variable, path in self.named().items():
            try:
                found[variable] = path.read_bytes()
            except OSError as error:
                raise Unfit(variable, f"the file cannot be read: {error.strerror}") from error
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Certificates that fit together, as PEM."""

    authorities: bytes
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)


class Follower(Protocol):
    """Whoever must begin anew when the certificates change."""

    def renew(self, material: Material) -> None:
        """Uses this from now on; called with the same material again and again."""


class Certificates:
    """The certificates in use. What is found in the files takes their place as a whole, or not at all."""

    def __init__(self, files: Files, process: str = "", every: float = 5.0) -> None:
        self.files = files
        self._process = process
        self._every = every
        self._lock = threading.Lock()
        self._followers: WeakSet[Follower] = WeakSet()
        self._watching: asyncio.Task[None] | None = None
        self._seen = files.stamp()
        try:
            self.material = _read(files, process)
        except Unfit as unfit:
            raise StartupError(f"{unfit.variable}={files.named()[unfit.variable]}: {unfit}") from unfit

    def look(self) -> Material:
        """What to use now. gRPC calls this from threads of its own."""
        with self._lock:
            stamp = self.files.stamp()
            if stamp != self._seen:
                self._take()
                self._seen = stamp
            return self.material

    def follow(self, follower: Follower) -> None:
        """Tells it of new certificates for as long as it lives."""
        self._followers.add(follower)

    async def renew(self) -> None:
        """Looks now, and tells whoever follows."""
        material = await asyncio.to_thread(self.look)
        for follower in tuple(self._followers):
            follower.renew(material)

    def start(self) -> None:
        """Looks every so often from now on, in the running loop."""
        self._watching = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        """Looks no more."""
        if self._watching is not None:
            self._watching.cancel()
            with suppress(asyncio.CancelledError):
                await self._watching

    def _take(self) -> None:
        try:
            self.material = _read(self.files, self._process)
        except Unfit as unfit:
            log.warning("the certificates in use stay: %s: %s", unfit.variable, unfit)
        else:
            log.info("new certificates are in use")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            await self.renew()


def of_process(process: str, environment: Mapping[str, str]) -> Certificates | None:
    """The certificates of a process that serves; None when no file is named."""
    settings = load(TlsSettings, environment)
    given = {
        "LANEMESH_TLS_CERT": settings.certificate,
        "LANEMESH_TLS_KEY": settings.key,
        "LANEMESH_TLS_CA": settings.authorities,
    }
    missing = [variable for variable, path in given.items() if path is None]
    if len(missing) == len(given):
        return None
    if missing or settings.authorities is None:
        present = next(variable for variable in given if variable not in missing)
        raise StartupError(f"{' and '.join(missing)} must be set where {present} is")
    files = Files(settings.authorities, settings.certificate, settings.key)
    return Certificates(files, process, settings.reload_seconds)


def of_client(environment: Mapping[str, str]) -> Certificates | None:
    """The certificates of a client: authorities alone are enough to know the gateway by."""
    settings = load(TlsSettings, environment)
    if settings.authorities is None:
        if settings.certificate or settings.key:
            raise StartupError("LANEMESH_TLS_CA must be set where LANEMESH_TLS_CERT or LANEMESH_TLS_KEY is")
        return None
    if (settings.certificate is None) != (settings.key is None):
        raise StartupError("LANEMESH_TLS_CERT and LANEMESH_TLS_KEY must both be set, or neither")
    files = Files(settings.authorities, settings.certificate, settings.key)
    return Certificates(files, every=settings.reload_seconds)


def _read(files: Files, process: str) -> Material:
    found = files.read()
    if files.certificate is None or files.key is None:
        read_authorities(files.authorities)
    else:
        proved = prove(files.certificate, files.key, files.authorities)
        if process and identity(process) not in proved.names:
            named = ", ".join(proved.names) or "nobody"
            raise Unfit("LANEMESH_TLS_CERT", f"the certificate is of {named}, not of {identity(process)}")
        EXPIRY.set(proved.expires)
    # What was proved was read by OpenSSL from the files, after this.
    if files.read() != found:
        raise Unfit("LANEMESH_TLS_CERT", "the files are being written")
    return Material(found["LANEMESH_TLS_CA"], found.get("LANEMESH_TLS_CERT"), found.get("LANEMESH_TLS_KEY"))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
