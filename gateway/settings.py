"""What only the gateway reads, and whether it may listen where it is told to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from services.runtime.certificates import of_process
from services.runtime.errors import StartupError
from services.runtime.listening import on_loopback
from services.runtime.server import Security
from services.runtime.settings import setting


@dataclass(frozen=True)
class GatewaySettings:
    """What only the gateway reads."""

    # Off: results stand in the lanes' own order, flagged, and there is no answer text.
    fusion: bool = setting("LANEMESH_FUSION_ENABLED", True)
    # The callers this gateway knows, and what is open to them.
    callers: Path | None = setting("LANEMESH_CALLERS", None)
    allow_anybody: bool = setting("LANEMESH_ALLOW_ANYBODY", False)
    client_certificates: Literal["required", "none"] = setting("LANEMESH_CLIENT_CERTIFICATES", "required")
    # A proxy on loopback reads the callers' certificates.
    forwarded_identity: bool = setting("LANEMESH_FORWARDED_IDENTITY", False)


def check(settings: GatewaySettings, listen: str, http_listen: str) -> None:
    """StartupError where the gateway would serve somebody it cannot tell from anybody."""
    doors = {"LANEMESH_LISTEN": listen, "LANEMESH_HTTP_LISTEN": http_listen}
    beyond = [f"{variable}={door}" for variable, door in doors.items() if door and not on_loopback(door)]
    if beyond and settings.forwarded_identity:
        raise StartupError(f"LANEMESH_FORWARDED_IDENTITY: anybody could claim to be a proxy at {beyond[0]}")
    if settings.callers is not None:
        return
    if beyond and not settings.allow_anybody:
        raise StartupError(
            f"{beyond[0]} is beyond loopback: set LANEMESH_CALLERS, or LANEMESH_ALLOW_ANYBODY=true to serve anybody"
        )
    if settings.client_certificates == "none" and not settings.allow_anybody:
        raise StartupError("LANEMESH_CLIENT_CERTIFICATES=none needs LANEMESH_CALLERS, or LANEMESH_ALLOW_ANYBODY=true")


def secured(settings: GatewaySettings, environment: Mapping[str, str]) -> Security | None:
    """The security of the gateway; None without certificates. Who may call is a question of its callers."""
    certificates = of_process("gateway", environment)
    if certificates is None:
        return None
    return Security(certificates, client_certificates=settings.client_certificates == "required")
