"""Refuses a search while the gateway is full, before its message is read: a refusal must cost less than an answer.

gRPC reads the message of a unary call before it calls the handler, which costs as much again as the refusal. So while
there is a queue, a search is taken as a stream of one message, and that is read when the search may come in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any

import grpc

from gateway.admission import Gate
from gateway.echo import SEARCH
from services.runtime.boundary import Context, call_deadline
from services.runtime.errors import DETAILS_KEY, STATUS, InvalidRequest, Overloaded, abort, details
from services.runtime.served import Handler, Method

# Hints are rounded up to this, so that the few there are can be kept written out.
_HINT_MS = 10


class Doorman(grpc.aio.ServerInterceptor):
    """Stands before the gate while it is crowded."""

    def __init__(self, gate: Gate, longest_ms: float) -> None:
        self._gate = gate
        # What a search without a deadline may take at most; the gate knows better once the message is read.
        self._longest_ms = longest_ms
        self._method = Method("SearchService/Search")
        self._handler: Handler | None = None

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """The handler that looks before it reads, or the method's own when there is room."""
        if handler_call_details.method != SEARCH or not self._gate.crowded():
            return await continuation(handler_call_details)
        if self._handler is None:
            search = await continuation(handler_call_details)
            self._handler = self._looking_first(search) if search is not None else None
        return self._handler

    def _looking_first(self, search: Handler) -> Handler:
        answer = search.unary_unary

        async def look(_messages: Any, context: Context) -> Any:
            try:
                self._gate.look(call_deadline(context, self._longest_ms))
            except Overloaded as error:
                self._method.count(STATUS[Overloaded].name)
                await context.abort(STATUS[Overloaded], error.message, _hint(error.retry_after or 0.0))
            request = await context.read()
            if request is grpc.aio.EOF:
                await abort(context, InvalidRequest("request", "is missing"))
            return await answer(request, context)  # type: ignore[misc, arg-type]

        return grpc.stream_unary_rpc_method_handler(look, search.request_deserializer, search.response_serializer)


def _hint(seconds: float) -> tuple[tuple[str, bytes], ...]:
    return _written(int(seconds * 1000 / _HINT_MS) + 1)


@lru_cache(maxsize=1024)
def _written(steps: int) -> tuple[tuple[str, bytes], ...]:
    """The trailing metadata of a refusal, which costs more to write than all else here."""
    error = Overloaded("the gateway is full", retry_after=steps * _HINT_MS / 1000)
    return ((DETAILS_KEY, details(error).SerializeToString()),)
