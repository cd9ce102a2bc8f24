"""What provider lanes read from the environment: limits and times for all providers, each one's address and key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from ipaddress import ip_network
from typing import Any

from services.providers.addresses import Network
from services.providers.provider import Base, Profile
from services.runtime.errors import StartupError
from services.runtime.settings import load, setting

# What a provider that needs a key is given by a simulator; no real one would take it.
SIMULATED_KEY = "simulated"


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Times, limits and addresses that hold for every provider of a lane."""

    keyless: bool = setting("KEYLESS_FALLBACKS_ENABLED", True)
    contact: str = setting("LANEMESH_CONTACT", "")
    provider_ms: int = setting("LANEMESH_PROVIDER_MS", 800, low=1, high=60_000)
    connections: int = setting("LANEMESH_PROVIDER_CONNECTIONS", 64, low=1, high=10_000)
    max_bytes: int = setting("LANEMESH_PROVIDER_MAX_BYTES", 4 << 20, low=1, high=1 << 28)
    max_redirects: int = setting("LANEMESH_PROVIDER_MAX_REDIRECTS", 3, low=0, high=20)
    # Of the time left, so much passes before the next step is started beside a slow one.
    hedge_share: float = setting("LANEMESH_PROVIDER_HEDGE_SHARE", 0.3, low=0.01, high=1.0)
    # Questions that may go on without a caller, each until its providers' time is up.
    background: int = setting("LANEMESH_PROVIDER_BACKGROUND", 32, low=0, high=10_000)
    cache_bytes: int = setting("LANEMESH_PROVIDER_CACHE_BYTES", 64 << 20, low=0)
    stale_seconds: int = setting("LANEMESH_PROVIDER_STALE_SECONDS", 86_400, low=0)
    redis_url: str = setting("REDIS_URL", "")
    redis_ms: int = setting("LANEMESH_REDIS_MS", 20, low=1, high=10_000)
    redis_pause_seconds: float = setting("LANEMESH_REDIS_PAUSE_SECONDS", 5.0, low=0.0)
    allowed: tuple[str, ...] = setting("LANEMESH_PROVIDER_ALLOWED_ADDRESSES", ())
    simulator: str = setting("LANEMESH_SIMULATED_PROVIDERS", "")

    def allowed_networks(self) -> list[Network]:
        """The networks that may be reached although they are not public."""
        try:
            return [ip_network(network) for network in self.allowed]
        except ValueError:
            raise StartupError("LANEMESH_PROVIDER_ALLOWED_ADDRESSES: expected networks such as 127.0.0.1/32") from None


@dataclass(frozen=True, slots=True)
class Access:
    """How one provider is reached: its addresses as configured, and its key."""

    profile: Profile
    urls: Mapping[Base, str]
    key: str = field(default="", repr=False)

    @property
    def usable(self) -> bool:
        """Whether it has the key that it needs."""
        return bool(self.key) or not self.profile.key_variable


def read_access(
    profiles: Sequence[Profile], settings: ProviderSettings, environment: Mapping[str, str]
) -> dict[str, Access]:
    """Address and key of every provider, by name."""
    bases = [base for profile in profiles for base in profile.bases]
    keys = [profile.key_variable for profile in profiles if profile.key_variable]
    told = _read({base.variable: base.url for base in bases} | dict.fromkeys(keys, ""), environment)
    for variable in keys:
        if not (told[variable].isascii() and told[variable].isprintable()) or " " in told[variable]:
            raise StartupError(f"{variable}: expected a key of printable characters without spaces")
    if settings.simulator:
        return {profile.name: _simulated(profile, settings.simulator) for profile in profiles}
    return {
        profile.name: Access(
            profile, {base: told[base.variable] for base in profile.bases}, told.get(profile.key_variable, "")
        )
        for profile in profiles
    }


def _simulated(profile: Profile, simulator: str) -> Access:
    urls = {base: f"{simulator.rstrip('/')}/{profile.name}" for base in profile.bases}
    return Access(profile, urls, SIMULATED_KEY if profile.key_variable else "")


def _read(variables: Mapping[str, str], environment: Mapping[str, str]) -> Mapping[str, str]:
    fields: list[tuple[str, type, Any]] = [(name, str, setting(name, default)) for name, default in variables.items()]
    return vars(load(make_dataclass("Addresses", fields), environment))
