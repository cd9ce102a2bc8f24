"""Where a call enters and leaves a process: its deadline in, its errors out as statuses."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

import grpc

from services.runtime import telemetry
from services.runtime.deadline import Deadline, wire_margin
from services.runtime.errors import abort, foreseen, translate

Context = grpc.aio.ServicerContext[Any, Any]
Servicer = TypeVar("Servicer")
Request = TypeVar("Request")
Response = TypeVar("Response")

log = logging.getLogger(__name__)


def call_deadline(context: Context, default_ms: float) -> Deadline:
    """The caller's deadline, less what the wire may have added to it; or the default when it set none."""
    left = context.time_remaining()
    return Deadline.after(default_ms / 1000 if left is None else left - wire_margin(left))


def guarded(
    method: Callable[[Servicer, Request, Context], Awaitable[Response]],
) -> Callable[[Servicer, Request, Context], Awaitable[Response]]:
    """A handler whose every exception leaves as a status of the one table."""

    @functools.wraps(method)
    async def handler(self: Servicer, request: Request, context: Context) -> Response:
        try:
            return await method(self, request, context)
        except Exception as error:  # noqa: BLE001  the one boundary
            await fail(context, error)

    return handler


async def fail(context: Context, error: Exception) -> NoReturn:
    """Ends the call with the status of any exception; what was not foreseen is logged with its traceback."""
    if not foreseen(error):
        log.error("unexpected error", exc_info=error)
    telemetry.failed(error)
    await abort(context, translate(error))
