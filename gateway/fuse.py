"""The call to the fusion service, and what stands in for its answer when it is lost."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import grpc
from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.fusion_pb2 import FuseRequest
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse

from gateway import budget
from gateway.outcome import Outcome
from gateway.plan import Planned
from services.runtime import telemetry
from services.runtime.clients import Flight, Peers
from services.runtime.deadline import Deadline
from services.runtime.errors import BadReply, LanemeshError, Unavailable, translate
from services.runtime.registry import Table

log = logging.getLogger(__name__)


FUSE = "/lanemesh.v1.FusionService/Fuse"
# FuseRequest.lanes on the wire: field 5, length-delimited.
_LANES_TAG = bytes([FuseRequest.LANES_FIELD_NUMBER << 3 | 2])


@dataclass(frozen=True, slots=True)
class Fused:
    """The reply as far as fusion writes it; `error` is the reason when fusion did not answer."""

    response: SearchResponse
    kept: Mapping[str, int]
    error: str = ""


class Fusing:
    """A fusion under way, or known not to take place."""

    def __init__(
        self,
        found: Sequence[Outcome],
        limit: int,
        flight: Flight[SearchResponse] | None,
        granted_ms: float,
        span_id: str,
    ) -> None:
        self.started = time.monotonic()
        self.granted_ms = granted_ms
        # The identity that its span is to have; empty: no matter.
        self.span_id = span_id
        self._found = found
        self._limit = limit
        self._flight = flight

    @property
    def ended(self) -> float:
        """When the fusion service had answered or failed, on the monotonic clock; 0 when it was not asked."""
        return self._flight.ended if self._flight is not None else 0.0

    async def fused(self) -> Fused:
        """What comes of it; without fusion the lanes' own order stands, flagged."""
        if not self._found:
            return Fused(_nothing(), {})
        if self._flight is None:
            error = Unavailable("fusion is switched off", reason="FUSION_DISABLED")
            return _own_order(self._found, self._limit, error)
        try:
            reply = await self._flight.reply()
            _check(reply)
        except LanemeshError as error:
            return _own_order(self._found, self._limit, error)
        except Exception as error:
            log.error("unexpected error of the fusion call", exc_info=error)
            return _own_order(self._found, self._limit, translate(error))
        # Only what fusion writes: the account of the lanes is the gateway's.
        reply.ClearField("ledger")
        return Fused(reply, reply.fusion.kept)

    def cancel(self) -> None:
        """Gives it up, if it is still under way."""
        if self._flight is not None:
            self._flight.cancel()


class Fusion:
    """The fusion service as the gateway sees it."""

    def __init__(self, table: Table, peers: Peers, enabled: bool = True, synthesis_ms: float = 0.0) -> None:
        self._table = table
        self._enabled = enabled
        # What a model that writes answers may take beside fusion's own time; 0 where there is none.
        self._synthesis_ms = synthesis_ms
        # A FuseResponse is the fused part of a SearchResponse, so its bytes are read straight into the reply.
        self._fuse: grpc.aio.UnaryUnaryMultiCallable[bytes, SearchResponse] = peers.channel("fusion").unary_unary(
            FUSE, request_serializer=None, response_deserializer=SearchResponse.FromString
        )

    def begin(
        self, request: SearchRequest, planned: Planned, outcomes: Sequence[Outcome], deadline: Deadline
    ) -> Fusing:
        """Starts to fuse what the lanes found."""
        found = [outcome for outcome in outcomes if outcome.reply is not None and outcome.reply.evidence]
        if not found or not self._enabled:
            return Fusing(found, planned.message.max_results, None, 0.0, "")
        limit_ms, synthesis_ms = self._limits(planned, deadline)
        granted_ms, leg = limit_ms + synthesis_ms, telemetry.leg()
        until = Deadline.after(granted_ms / 1000)
        question = _question(request, planned, found, synthesis_ms)
        flight = Flight(self._fuse, question, until, leg.metadata if leg else None)
        return Fusing(found, planned.message.max_results, flight, granted_ms, leg.span_id if leg else "")

    def _limits(self, planned: Planned, deadline: Deadline) -> tuple[float, float]:
        """Fusion's part of the reserve, or what is left of all if that is less; and a model's, of what is beyond it."""
        left_ms = deadline.remaining() * 1000
        kept_ms = budget.reserve(self._table, planned.mode, left_ms).total_ms
        return min(planned.message.fusion_ms, kept_ms), max(0.0, min(self._synthesis_ms, left_ms - kept_ms))


def _question(request: SearchRequest, planned: Planned, found: Sequence[Outcome], synthesis_ms: float) -> bytes:
    """A FuseRequest on the wire. The lanes' replies stand in it as they are: taking them apart would cost a copy."""
    head = FuseRequest(
        query=request.query,
        mode=request.mode,
        query_types=planned.message.query_types,
        entities=planned.message.entities,
        max_results=planned.message.max_results,
        max_answer_tokens=planned.message.max_answer_tokens,
        citations_required=request.constraints.citations_required,
        marker_style=request.marker_style,
        resolution=request.resolution,
        synthesis_budget_ms=synthesis_ms,
    )
    parts = [head.SerializeToString()]
    for outcome in found:
        parts += (_LANES_TAG, _varint(len(outcome.raw)), outcome.raw)
    return b"".join(parts)


def _varint(value: int) -> bytes:
    """A length as protobuf writes it: seven bits a byte, the lowest first."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _check(reply: SearchResponse) -> None:
    """Refuses a reply that parses but lost the evidence: failed is never shown as empty."""
    if not reply.results or not reply.results[0].document.id:
        raise BadReply("fusion returned no result for evidence that was there")


def _nothing() -> SearchResponse:
    return SearchResponse(missing=["No lane returned any evidence for this question."])


def _own_order(found: Sequence[Outcome], limit: int, error: LanemeshError) -> Fused:
    """Rank by rank through the lanes, the same document once."""
    chosen: dict[str, Evidence] = {}
    for place, rank in enumerate(zip_longest(*(outcome.identities for outcome in found))):
        for outcome, identity in zip(found, rank, strict=True):
            if identity is not None and identity not in chosen and len(chosen) < limit and outcome.reply:
                chosen[identity] = outcome.reply.evidence[place]
    kept: Counter[str] = Counter()
    for outcome in found:
        for identity in chosen.keys() & set(outcome.identities):
            # The lanes' replies end here, so their evidence may be marked in place.
            chosen[identity].lanes.append(outcome.lane)
            kept[outcome.lane] += 1
    response = SearchResponse(results=chosen.values(), fusion_error=error.reason)
    response.missing.append(f"Results stand in the lanes' own order, without an answer: {error.message}.")
    return Fused(response, kept, error=error.reason)
