"""Every error the mesh raises on purpose, and the one table from error to gRPC status.

LanemeshError
├── InvalidRequest      the caller's fault, names the field
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
from typing import NoReturn

import grpc
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

DOMAIN = "lanemesh"
DETAILS_KEY = "grpc-status-details-bin"


class LanemeshError(Exception):
    """An error with a machine-readable reason and a sentence for a person."""

    reason = "INTERNAL"

    def __init__(self, message: str, *, reason: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if reason is not None:
            self.reason = reason


class InvalidRequest(LanemeshError):
    """The caller sent something that cannot be served; `field` names it as in the .proto."""

    reason = "INVALID_ARGUMENT"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.description = message


class DeadlinePassed(LanemeshError):
    """There is no time left."""

    reason = "DEADLINE_EXCEEDED"


class Overloaded(LanemeshError):
    """Refused so that accepted work keeps its deadline."""

    reason = "RESOURCE_EXHAUSTED"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
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
    DeadlinePassed: grpc.StatusCode.DEADLINE_EXCEEDED,
    Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    Unavailable: grpc.StatusCode.UNAVAILABLE,
    NotImplementedHere: grpc.StatusCode.UNIMPLEMENTED,
    BadReply: grpc.StatusCode.INTERNAL,
    Refused: grpc.StatusCode.INTERNAL,
    StartupError: grpc.StatusCode.INTERNAL,
}


def translate(error: BaseException) -> LanemeshError:
    """Any exception as one of ours. What is unknown keeps its text to itself: it may hold a secret."""
    if isinstance(error, LanemeshError):
        return error
    if isinstance(error, TimeoutError):
        return DeadlinePassed("the deadline has passed")
    if isinstance(error, ConnectionError):
        return Unavailable("a connection was refused or lost")
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
    """A peer's status as one of our errors, with its reason and field when it sent them."""
    info = _error_info(error)
    code = error.code()
    message = error.details() or code.name
    if code is grpc.StatusCode.INVALID_ARGUMENT:
        field = info.metadata["field"] if info and "field" in info.metadata else "request"
        return InvalidRequest(field, message.removeprefix(f"{field}: "))
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return DeadlinePassed(message)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return Overloaded(message)
    if code is grpc.StatusCode.UNAVAILABLE:
        return Unavailable(message)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return NotImplementedHere(message)
    return Refused(message, reason=info.reason if info else code.name)


def _error_info(error: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo | None:
    trailing: Iterable[tuple[str, str | bytes]] = error.trailing_metadata() or ()
    for key, value in trailing:
        if key == DETAILS_KEY and isinstance(value, bytes):
            status = status_pb2.Status.FromString(value)
            for part in status.details:
                info = error_details_pb2.ErrorInfo()
                if part.Unpack(info):
                    return info
    return None
