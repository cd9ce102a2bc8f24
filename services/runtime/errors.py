"""Every error the mesh raises on purpose, and the one table from error to gRPC status.

LanemeshError
├── InvalidRequest      the caller's fault, names the field
├── Unauthenticated     the caller is not who it must be
├── PermissionDenied    the caller is known and may not do this; may name the field
├── DeadlinePassed      out of time
├── Overloaded          refused to protect the rest; may carry a retry hint
├── Unavailable         something this process needs cannot be reached
├── NotImplementedHere  a call this process does not serve
├── BadReply            a peer answered something unusable
├── Refused             a peer answered with an error of its own
└── StartupError        the process must not start (never crosses the wire)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2

Part = TypeVar("Part", bound=Message)

DOMAIN = "lanemesh"
DETAILS_KEY = "grpc-status-details-bin"


class LanemeshError(Exception):
    """An error with a machine-readable reason and a sentence for a person."""

    reason = "INTERNAL"

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        # The trace of the call that failed so, where a client knows it.
        self.trace_id = ""
        if reason is not None:
            self.reason = reason


class InvalidRequest(LanemeshError):
    """The caller sent something that cannot be served; `field` names it as in the .proto."""

    reason = "INVALID_ARGUMENT"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.description = message


class Unauthenticated(LanemeshError):
    """The caller's credentials are wrong or missing."""

    reason = "UNAUTHENTICATED"


class PermissionDenied(LanemeshError):
    """The caller is known and may not do this; `field` names what of its request asks for it, if anything does."""

    reason = "PERMISSION_DENIED"

    def __init__(self, message: str, *, field: str = "", reason: str | None = None) -> None:
        super().__init__(f"{field}: {message}" if field else message, reason=reason)
        self.field = field
        self.description = message


class DeadlinePassed(LanemeshError):
    """There is no time left."""

    reason = "DEADLINE_EXCEEDED"


class Overloaded(LanemeshError):
    """Refused so that accepted work keeps its deadline."""

    reason = "RESOURCE_EXHAUSTED"

    def __init__(self, message: str, *, retry_after: float | None = None, reason: str | None = None) -> None:
        super().__init__(message, reason=reason)
        self.retry_after = retry_after


class Unavailable(LanemeshError):
    """An engine or a peer cannot be reached."""

    reason = "UNAVAILABLE"


class NotImplementedHere(LanemeshError):
    """This process does not serve that call."""

    reason = "UNIMPLEMENTED"


class BadReply(LanemeshError):
    """A peer's reply could not be parsed or contradicts the contract."""

    reason = "BAD_REPLY"


class Refused(LanemeshError):
    """A peer answered with a status this process has no better name for."""

    reason = "REFUSED"


class StartupError(LanemeshError):
    """The process is half-configured and must not start."""

    reason = "STARTUP"


STATUS: dict[type[LanemeshError], grpc.StatusCode] = {
    LanemeshError: grpc.StatusCode.INTERNAL,
    InvalidRequest: grpc.StatusCode.INVALID_ARGUMENT,
    Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
    DeadlinePassed: grpc.StatusCode.DEADLINE_EXCEEDED,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    NotImplementedHere: grpc.StatusCode.UNIMPLEMENTED,
    BadReply: grpc.StatusCode.INTERNAL,
    Refused: grpc.StatusCode.INTERNAL,
    StartupError: grpc.StatusCode.INTERNAL,
}


# Foreign exceptions that have a name of ours.
FOREIGN: dict[type[Exception], tuple[type[LanemeshError], str]] = {
    TimeoutError: (DeadlinePassed, "the deadline has passed"),
    ConnectionError: (Unavailable, "a connection was refused or lost"),
}


def foreseen(error: BaseException) -> bool:
    """Whether the error is ours or has a name of ours."""
    return isinstance(error, (LanemeshError, *FOREIGN))


def translate(error: BaseException) -> LanemeshError:
    """Any exception as one of ours. What is unknown keeps its text to itself: it may hold a secret."""
    if isinstance(error, LanemeshError):
        return error
    for foreign, (kind, message) in FOREIGN.items():
        if isinstance(error, foreign):
            return kind(message)
    return LanemeshError(f"an unexpected {type(error).__name__}; the log has the details")


def details(error: LanemeshError) -> status_pb2.Status:
    """The google.rpc.Status of an error: ErrorInfo always, BadRequest and RetryInfo where they apply."""
    code = STATUS[type(error)]
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN)
    parts: list[Message] = [info]
    if isinstance(error, InvalidRequest):
        info.metadata["field"] = error.field
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.description)
        parts.append(error_details_pb2.BadRequest(field_violations=[violation]))
    if isinstance(error, PermissionDenied) and error.field:
        info.metadata["field"] = error.field
    if isinstance(error, Overloaded) and error.retry_after is not None:
        delay = Duration()
        delay.FromMilliseconds(int(error.retry_after * 1000))
        parts.append(error_details_pb2.RetryInfo(retry_delay=delay))
    status = status_pb2.Status(code=code.value[0], message=error.message)
    for part in parts:
        status.details.add().Pack(part)
    return status


async def abort(context: grpc.aio.ServicerContext, error: LanemeshError) -> NoReturn:  # type: ignore[type-arg]
    """Ends the call with the error's status and its details."""
    trailing = ((DETAILS_KEY, details(error).SerializeToString()),)
    await context.abort(STATUS[type(error)], error.message, trailing)
    raise AssertionError("abort returned")


def from_status(error: grpc.aio.AioRpcError) -> LanemeshError:
    """A peer's status as one of our errors, with its reason, field and retry hint when it sent them."""
    info = _sent(error, error_details_pb2.ErrorInfo())
    reason = info.reason if info and info.reason else None
    code = error.code()
    message = error.details() or code.name
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        field = info.metadata["field"] if info and "field" in info.metadata else "request"
        return InvalidRequest(field, message.removeprefix(f"{field}: "))
    if code is grpc.StatusCode.UNAUTHENTICATED:
        return Unauthenticated(message, reason=reason)
    if code is grpc.StatusCode.PERMISSION_DENIED:
        field = info.metadata["field"] if info and "field" in info.metadata else ""
        return PermissionDenied(message.removeprefix(f"{field}: "), field=field, reason=reason)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlinePassed(message, reason=reason)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        retry = _sent(error, error_details_pb2.RetryInfo())
        after = retry.retry_delay.ToMilliseconds() / 1000 if retry else None
        return Overloaded(message, retry_after=after, reason=reason)
    # A call this side gave up raises CancelledError; the status means that the peer dropped it, as when it shuts down
    # before the call reached a handler.
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
        return Unavailable(message, reason=reason)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return NotImplementedHere(message, reason=reason)
    return Refused(message, reason=reason or code.name)


def _sent(error: grpc.aio.AioRpcError, part: Part) -> Part | None:
    """The detail of that kind which the peer sent along, if it sent one that can be read."""
    trailing: Iterable[tuple[str, str | bytes]] = error.trailing_metadata() or ()
    for key, value in trailing:
        if key == DETAILS_KEY and isinstance(value, bytes):
            try:
                if any(sent.Unpack(part) for sent in status_pb2.Status.FromString(value).details):
                    return part
            except DecodeError:
                return None
    return None
