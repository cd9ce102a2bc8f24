"""Calls of a lane's engine as spans: an engine marks the operations that a question may wait for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from services.runtime import telemetry
from services.runtime.spans import engine_name


class Named(Protocol):
    """An engine, which has a name."""

    name: str


Engine = TypeVar("Engine", bound=Named)
Given = ParamSpec("Given")
Result = TypeVar("Result")


def operation(
    method: Callable[Concatenate[Engine, Given], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Engine, Given], Coroutine[Any, Any, Result]]:
    """The method of an engine, recorded under its name in calls that are."""
    name = engine_name(method.__name__)

    async def recorded(self: Engine, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        with telemetry.span(name, "client", engine=self.name):
            return await method(self, *args, **kwargs)

    def called(self: Engine, /, *args: Given.args, **kwargs: Given.kwargs) -> Coroutine[Any, Any, Result]:
        call = recorded if telemetry.recording() else method
        return call(self, *args, **kwargs)

    functools.update_wrapper(called, method)
    return called
