"""The names by which the configuration knows the contract's enumerations."""

from __future__ import annotations

from lanemesh.v1 import lane_pb2

from services.runtime.errors import InvalidRequest

_MODES = {
    lane_pb2.MODE_UNSPECIFIED: "simple",
    lane_pb2.MODE_SIMPLE: "simple",
    lane_pb2.MODE_TECHNICAL: "technical",
    lane_pb2.MODE_RESEARCH: "research",
    lane_pb2.MODE_MULTIMEDIA: "multimedia",
}


def name_of(mode: int) -> str:
    """The mode's name in the tables; an unknown value is the caller's fault."""
    try:
        return _MODES[mode]  # type: ignore[index]
    except KeyError:
        names = ", ".join(dict.fromkeys(_MODES.values()))
        raise InvalidRequest("mode", f"unknown value {mode}; expected one of {names}") from None
