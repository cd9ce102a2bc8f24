"""What became of one lane call, as a value: an answer that was checked, or the reason why there is none."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from google.protobuf.message import DecodeError
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_ERROR,
    LANE_STATUS_OK,
    LANE_STATUS_SKIPPED,
    LANE_STATUS_TIMEOUT,
    LANE_STATUS_UNSPECIFIED,
    LaneStatus,
    RetrieveResponse,
)
from lanemesh.v1.search_pb2 import Breaker

from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, translate

log = logging.getLogger(__name__)

# What a lane can say of itself: one that was asked has a status, and was in the plan.
_A_LANES = frozenset(LaneStatus.values()) - {LANE_STATUS_UNSPECIFIED, LANE_STATUS_SKIPPED}
_FAILED = frozenset({LANE_STATUS_ERROR, LANE_STATUS_TIMEOUT})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one lane. `reply` is None exactly when the lane gave none that can be used."""

    lane: str
    status: LaneStatus.ValueType
    reason: str
    message: str
    budget_ms: float
    started_ms: float
    elapsed_ms: float
    reply: RetrieveResponse | None
    # Identities of the documents in `reply`, in its order.
    identities: Sequence[str] = ()
    # `reply` as it came.
    raw: bytes = b""
    # The lane this one stood in for.
    fallback_for: str = ""
    # The projects its search was limited to.
    scope: Sequence[str] = ()
    # The lane's breaker as the call met it; None: closed.
    breaker: Breaker | None = None
    # Whether a backup call was sent to another replica.
    hedged: bool = False

    @property
    def failed(self) -> bool:
        """Whether the lane was asked and gave nothing that can be used."""
        return self.status in _FAILED


def failure(error: Exception) -> tuple[LaneStatus.ValueType, str, str]:
    """Status, reason and message of a call that raised."""
    known = translate(error)
    if not isinstance(error, LanemeshError | TimeoutError | ConnectionError):
        log.error("unexpected error of a lane call", exc_info=error)
    status = LANE_STATUS_TIMEOUT if isinstance(known, DeadlinePassed) else LANE_STATUS_ERROR
    return status, known.reason, known.message


def reason_of(reply: RetrieveResponse) -> str:
    """Empty exactly when the status is OK, as the ledger promises, even where a lane forgets it."""
    if reply.status == LANE_STATUS_OK:
        return ""
    return reply.reason or LaneStatus.Name(reply.status).removeprefix("LANE_STATUS_")


def read(raw: bytes, lane: str) -> tuple[RetrieveResponse, Sequence[str]]:
    """The reply and the identities of its documents; refuses one that cannot be of this lane, parsing or not."""
    try:
        reply = RetrieveResponse.FromString(raw)
    except DecodeError:
        raise BadReply("the reply does not parse") from None
    if reply.lane != lane or reply.status not in _A_LANES:
        raise BadReply(f"the reply is not one of lane {lane}")
    identities, scores = [], []
    for evidence in reply.evidence:
        identities.append(evidence.document.id)
        scores.append(evidence.score)
    if not all(identities) or not all(map(isfinite, scores)):
        raise BadReply("a result has no document id or no finite score")
    return reply, identities
