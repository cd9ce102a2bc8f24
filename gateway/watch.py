"""What the gateway measures of itself while it serves, and who learns of it."""

from __future__ import annotations

from collections.abc import Callable

from gateway.echo import Echo, Shout
from gateway.service import Gateway
from services.runtime.clients import Trust
from services.runtime.protection import PressureRow


class Watch:
    """The echo and the pressure of one gateway, from start to stop."""

    def __init__(
        self,
        gateway: Gateway,
        own_address: Callable[[], str],
        word: str,
        row: PressureRow,
        trust: Trust | None = None,
    ) -> None:
        self._pressure = gateway.pressure
        self._shout = Shout(own_address, word, trust)
        self._echo = Echo(self._shout, row.sample_ms / 1000)
        gateway.gate.delayed = gateway.pressure.delayed = self._echo.delay

    def start(self) -> None:
        """Measures from now on, in the running loop."""
        self._pressure.start()
        self._echo.start()

    async def stop(self) -> None:
        """Measures no more."""
        self._pressure.stop()
        await self._echo.stop()
        await self._shout.close()
