"""Who calls, and what that opens: labels, lanes and permissions come from the caller, never from its request."""

from __future__ import annotations

import hmac
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from gateway.rate import Bucket, Rate
from services.runtime.deadline import Clock
from services.runtime.errors import Overloaded, PermissionDenied, Unauthenticated
from services.runtime.registry import Table
from services.runtime.secure import peer_names

AUTHORIZATION = "authorization"
FORWARDED = "x-forwarded-client-cert"
_BEARER = "bearer "
# One part of a forwarded certificate, its value quoted where it has to be; and what ends an element or a part.
_PART = re.compile(r'\s*(\w+)=("(?:[^"\\]|\\.)*"|[^",;]*)([,;]|$)')

Metadata = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody the gateway knows. Without a name it is anybody, who sees what is public."""

    name: str = ""
    labels: tuple[str, ...] = ()
    # None: every lane.
    lanes: frozenset[str] | None = None
    rate: Rate | None = None
    ingest: bool = True
    delete: bool = True

    @property
    def title(self) -> str:
        """What to call it in a sentence."""
        return f"caller {self.name}" if self.name else "a caller without credentials"

    def may_use(self, lane: str) -> bool:
        """Whether it may ask that lane."""
        return self.lanes is None or lane in self.lanes

    def narrowed(self, table: Table) -> Table:
        """The table as far as it is open to the caller."""
        if self.lanes is None:
            return table
        return table.only({row.name for row in table.enabled() if row.name in self.lanes})

    def require(self, lanes: Iterable[str], field: str) -> None:
        """PermissionDenied for the first lane that is not open to it."""
        for lane in lanes:
            if not self.may_use(lane):
                raise PermissionDenied(
                    f"lane {lane!r} is not open to {self.title}", field=field, reason="NOT_PERMITTED"
                )


ANYBODY = Caller()


class Callers:
    """The callers of this mesh: by the hash of a token, or by a name in a certificate."""

    def __init__(
        self,
        by_digest: Mapping[str, Caller],
        by_name: Mapping[str, Caller] | None = None,
        *,
        anybody: Caller | None = None,
        forwarded: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        self._by_digest = {digest.encode(): caller for digest, caller in by_digest.items()}
        self._by_name = dict(by_name or {})
        # None: whoever presents nothing that is known is refused.
        self._anybody = anybody
        self._forwarded = forwarded
        known = [*by_digest.values(), *self._by_name.values(), *([anybody] if anybody else [])]
        self._buckets = {caller.name: Bucket(caller.rate, clock) for caller in known if caller.rate is not None}

    def admit(self, context: Any) -> Caller:
        """The caller of a call, which counts against its rate."""
        caller = self.of(context)
        bucket = self._buckets.get(caller.name)
        if bucket is not None and (wait := bucket.take()) > 0.0:
            message = f"{caller.title} may make {bucket.rate.per_second:g} calls a second"
            raise Overloaded(message, retry_after=wait, reason="RATE_LIMITED")
        return caller

    def of(self, context: Any) -> Caller:
        """The caller of a call; Unauthenticated when it is nobody known."""
        metadata = context.invocation_metadata() or ()
        if not self._by_name:
            return self.identify(metadata)
        return self.identify(metadata, forwarded_names(metadata) if self._forwarded else peer_names(context))

    def identify(self, metadata: Metadata | None, names: Iterable[str] = ()) -> Caller:
        """The caller with this token, else with one of these names in its certificate, else anybody if that may be."""
        for key, value in metadata or ():
            if key == AUTHORIZATION:
                return self._holder(value)
        for name in names:
            if name in self._by_name:
                return self._by_name[name]
        if self._anybody is None:
            raise Unauthenticated("the call needs the token or the certificate of a known caller")
        return self._anybody

    def _holder(self, value: str | bytes) -> Caller:
        text = value if isinstance(value, str) else ""
        caller = None
        if text[: len(_BEARER)].lower() == _BEARER:
            presented = sha256(text[len(_BEARER) :].strip().encode()).hexdigest().encode()
            # Every one is compared, so that the time taken tells nothing of any.
            for digest, holder in self._by_digest.items():
                if hmac.compare_digest(digest, presented):
                    caller = holder
        if caller is None:
            raise Unauthenticated("the token is not one of a known caller")
        return caller


def forwarded_names(metadata: Metadata) -> list[str]:
    """The names that the proxy in front read from the caller's certificate: those of the last element, its own."""
    names: list[str] = []
    for key, value in metadata:
        if key != FORWARDED or not isinstance(value, str):
            continue
        names.clear()
        place = 0
        while found := _PART.match(value, place):
            part, text, end = found.groups()
            if part.upper() in ("URI", "DNS"):
                names.append(text[1:-1].replace('\\"', '"') if text.startswith('"') else text)
            place = found.end()
            if end == ",":
                names.clear()
            if not end:
                break
        if place != len(value):
            # What cannot be read in full is not believed in part.
            return []
    return names
