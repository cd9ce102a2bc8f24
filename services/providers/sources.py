"""The providers that a lane may ask, in the order in which it asks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from lanemesh.v1.lane_pb2 import PROVIDER_TIER_KEYED, PROVIDER_TIER_KEYLESS

from services.providers.health import Health, HealthSettings, Standing
from services.providers.provider import Provider, Question
from services.providers.settings import Access, ProviderSettings, read_access
from services.runtime.errors import StartupError
from services.runtime.settings import load

# Providers asked at once; the next step is taken when this one fails, is empty or too slow.
Step = Sequence["Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """One provider with its address, key and health."""

    provider: Provider
    access: Access
    health: Health

    @property
    def name(self) -> str:
        """The provider's name."""
        return self.provider.profile.name

    def serves(self, question: Question) -> bool:
        """Whether its results could come from the sites that the question is limited to."""
        own = self.provider.profile.sites
        return not own or not question.sites or any(within(site, own) for site in question.sites)


def within(host: str, sites: Sequence[str]) -> bool:
    """Whether a host is one of the sites or belongs to one."""
    return any(host == site or host.endswith(f".{site}") for site in sites)


def read_sources(
    lane: str, steps: Sequence[Sequence[Provider]], settings: ProviderSettings, environment: Mapping[str, str]
) -> list[Step]:
    """The steps with what can be used of them: providers whose key is there, and keyless ones unless turned off."""
    profiles = [provider.profile for provider in chain(*steps)]
    access = read_access(profiles, settings, environment)
    health = load(HealthSettings, environment)
    usable = [
        [
            Source(provider, access[provider.profile.name], Health(health))
            for provider in step
            if access[provider.profile.name].usable and (settings.keyless or provider.profile.key_variable)
        ]
        for step in steps
    ]
    if not any(usable):
        keys = ", ".join(profile.key_variable for profile in profiles if profile.key_variable)
        raise StartupError(
            f"the {lane} lane has no provider: KEYLESS_FALLBACKS_ENABLED is false and none of {keys} is set"
        )
    return [step for step in usable if step]


def in_order(steps: Sequence[Step], question: Question) -> list[Step]:
    """The steps for one question: demoted providers come behind their tier, those that cannot serve it not at all."""
    ordered: list[Step] = []
    for tier in (PROVIDER_TIER_KEYED, PROVIDER_TIER_KEYLESS):
        own = [[source for source in step if source.provider.profile.tier == tier] for step in steps]
        fit = [[source for source in step if source.serves(question)] for step in own]
        ordered += [[source for source in step if not _demoted(source)] for step in fit]
        ordered.append([source for source in chain(*fit) if _demoted(source)])
    return [step for step in ordered if step]


def _demoted(source: Source) -> bool:
    return source.health.standing() is Standing.DEMOTED
