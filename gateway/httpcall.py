"""One call of the JSON door in the terms of the service: its deadline and metadata in, its errors out as HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any, NoReturn

import grpc
from google.rpc import error_details_pb2, status_pb2

from services.runtime.deadline import Deadline
from services.runtime.errors import DETAILS_KEY, STATUS, InvalidRequest, LanemeshError, details
from services.runtime.secure import PEER_NAMES

DEADLINE = "X-Deadline-Ms"
GRPC_TIMEOUT = "grpc-timeout"
# Headers that travel as gRPC metadata.
_CARRIED = ("authorization", "traceparent", "x-forwarded-client-cert")
_LONGEST_MS = 600_000.0
_TIMEOUT = re.compile(r"(\d{1,8})([HMSmun])")
_UNITS_MS = {"H": 3_600_000.0, "M": 60_000.0, "S": 1000.0, "m": 1.0, "u": 0.001, "n": 0.000_001}

HTTP_STATUS: dict[grpc.StatusCode, int] = {
    grpc.StatusCode.OK: 200,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DATA_LOSS: 500,
}


class Aborted(Exception):
    """The service ended the call with a status."""

    def __init__(self, code: grpc.StatusCode, status: status_pb2.Status) -> None:
        super().__init__(code.name)
        self.code = code
        self.status = status


class HttpContext:
    """As much of a servicer's context as the service uses."""

    def __init__(self, headers: Mapping[str, str], names: Sequence[str] = ()) -> None:
        self._names = [name.encode() for name in names]
        self._metadata = tuple((name, headers[name]) for name in _CARRIED if name in headers)
        left = deadline_of(headers)
        self._deadline = Deadline.after(left) if left is not None else None
        self._code: grpc.StatusCode | None = None

    def invocation_metadata(self) -> Sequence[tuple[str, str]]:
        """Who calls, and the trace it calls in."""
        return self._metadata

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """The names in the caller's certificate."""
        return {PEER_NAMES: self._names}

    def time_remaining(self) -> float | None:
        """Seconds left; None when the caller set no deadline."""
        return self._deadline.remaining() if self._deadline else None

    def code(self) -> grpc.StatusCode | None:
        """How the call ended, when it was not well."""
        return self._code

    async def abort(self, code: grpc.StatusCode, message: str, trailing: Sequence[tuple[str, bytes]] = ()) -> NoReturn:
        """Ends the call."""
        self._code = code
        sent = [value for key, value in trailing if key == DETAILS_KEY]
        status = status_pb2.Status.FromString(sent[0]) if sent else status_pb2.Status(message=message)
        raise Aborted(code, status)


def deadline_of(headers: Mapping[str, str]) -> float | None:
    """The seconds a caller gives; None when it says nothing."""
    if (said := headers.get(DEADLINE)) is not None:
        return _seconds(DEADLINE, float(said) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", said) else 0.0)
    if (said := headers.get(GRPC_TIMEOUT)) is not None:
        found = _TIMEOUT.fullmatch(said)
        return _seconds(GRPC_TIMEOUT, int(found[1]) * _UNITS_MS[found[2]] if found else 0.0)
    return None


def _seconds(header: str, milliseconds: float) -> float:
    if not 0.0 < milliseconds <= _LONGEST_MS:
        raise InvalidRequest(header, f"must be a time above 0 and at most {_LONGEST_MS:.0f} ms")
    return milliseconds / 1000


def aborted(error: LanemeshError) -> Aborted:
    """An error of ours as the service would have ended the call with it."""
    return Aborted(STATUS[type(error)], details(error))


def error_of(ended: Aborted) -> dict[str, Any]:
    """The body that tells of an error."""
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    for part in ended.status.details:
        part.Unpack(info)
        part.Unpack(retry)
    told: dict[str, Any] = {
        "code": ended.code.name,
        "reason": info.reason or ended.code.name,
        "field": info.metadata.get("field", ""),
        "message": ended.status.message,
    }
    if retry.HasField("retry_delay"):
        told["retry_after_ms"] = retry.retry_delay.ToMilliseconds()
    return {"error": told}


def headers_of(body: dict[str, Any]) -> dict[str, str]:
    """Headers that an error needs: when to try again, in whole seconds as HTTP has it."""
    wait = body["error"].get("retry_after_ms")
    return {} if wait is None else {"Retry-After": str(max(1, ceil(wait / 1000)))}
