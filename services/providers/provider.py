"""What a provider is: a name, an address, what to request and how to read the reply. Nothing else.

Time-outs, retries, health, cache, limits and metrics live around it; a provider file never sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import PROVIDER_TIER_KEYED, PROVIDER_TIER_KEYLESS, ProviderTier

if TYPE_CHECKING:
    from services.providers.http import Http


@dataclass(frozen=True, slots=True)
class Base:
    """Where an API lives: the variable that overrules it, and its public address, which may hold {placeholders}."""

    variable: str
    url: str


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a provider before it is asked."""

    name: str
    # The first is the default of a request; a provider with several hosts names the others in its requests.
    bases: tuple[Base, ...]
    # The variable that holds its key. Empty: it needs none.
    key_variable: str = ""
    # Whether each request costs money.
    paid: bool = False
    # What its credibility adds to the ranking of its results, 0..1.
    boost: float = 0.0
    # Hosts that all its results come from; a question limited to other sites is not put to it. Empty: any host.
    sites: tuple[str, ...] = ()
    # Whether it puts bounds of time into its request. Otherwise the lane checks them, and unknown dates do not match.
    keeps_dates: bool = False

    @property
    def tier(self) -> ProviderTier.ValueType:
        """Whether it needs a key."""
        return PROVIDER_TIER_KEYED if self.key_variable else PROVIDER_TIER_KEYLESS


@dataclass(frozen=True, slots=True)
class Entity:
    """Something the question is about, as the lane recognised it."""

    # The words as they stand in the query.
    mention: str
    # TICKER, COMPANY, CURRENCY, INDEX, COMMODITY, …
    kind: str
    # Its neutral symbol, which each provider spells in its own way: TSLA, EUR/USD, SPX. Empty: none is known.
    symbol: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, with every constraint in neutral form; each provider puts it into its own terms."""

    query: str
    max_results: int
    # BCP 47. Empty: any.
    language: str = ""
    # Both UTC; the first is inclusive, the second is not. None: no bound.
    published_after: datetime | None = None
    published_before: datetime | None = None
    # Host names the results must come from. Empty: any.
    sites: tuple[str, ...] = ()
    # Kinds of source that were asked for. Empty: any.
    sources: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()


class Provider(Protocol):
    """One outside source. `search` raises services.runtime.errors when the reply says that it failed.

    BadReply: unreadable; Overloaded: rate limit; Unauthenticated: the key; Refused: anything else its body reports.
    Statuses of HTTP, time-outs and connections are translated before a provider sees them, and a reply of another shape
    than expected may simply raise KeyError, TypeError or ValueError.
    """

    @property
    def profile(self) -> Profile:
        """What is known of it beforehand."""

    async def search(self, question: Question, http: Http) -> Sequence[Evidence]:
        """Its results, best first, made by services.providers.evidence; an empty sequence when nothing matched."""
