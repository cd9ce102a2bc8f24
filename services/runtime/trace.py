"""W3C trace context: the place of a call in its trace, as it travels in headers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from services.runtime.spans import Span, new_id

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
# The caller gives the trace its name and nothing else: there is no span above, and whether to sample is not decided.
NAME_ONLY = "lanemesh=name"
# Version, trace id, span id, flags, and what later versions may add.
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

Metadata = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Trace:
    """The place of one call in its trace."""

    trace_id: str
    span_id: str
    sampled: bool
    # The span being recorded; None: nothing is.
    span: Span | None = field(default=None, compare=False, repr=False)
    # Makes the span of a served call that was not sampled; None elsewhere.
    late: Callable[[], Span] | None = field(default=None, compare=False, repr=False)

    def header(self) -> str:
        """The W3C traceparent that makes this the parent of the next call."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


@dataclass(frozen=True, slots=True)
class Leg:
    """A span to be written when its call has ended: its identity, and the metadata that make it the call's parent."""

    span_id: str
    metadata: Metadata


def parse(header: str) -> Trace | None:
    """A traceparent header, or None when it is not one."""
    found = _HEADER.fullmatch(header)
    if found is None:
        return None
    version, trace, span, flags, rest = found.groups()
    if version == "ff" or (version == "00" and rest) or not int(trace, 16) or not int(span, 16):
        return None
    return Trace(trace, span, bool(int(flags, 16) & 1))


def incoming(metadata: Iterable[tuple[str, str | bytes]] | None) -> tuple[Trace | None, bool]:
    """The trace that a call came in, if it says so, and whether it gives the trace no more than its name."""
    trace, named = None, False
    for key, value in metadata or ():
        if key == TRACEPARENT and isinstance(value, str):
            trace = parse(value)
        elif key == TRACESTATE and value == NAME_ONLY:
            named = True
    return trace, named and trace is not None


def fresh(sampled: bool, trace_id: str = "") -> Trace:
    """The beginning of a trace, a new one unless it has a name already."""
    return Trace(trace_id or f"{random.getrandbits(128) or 1:032x}", new_id(), sampled)
