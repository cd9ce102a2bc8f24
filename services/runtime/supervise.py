"""Child processes kept running: started, awaited until ready, restarted when they die, stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from services.runtime.certificates import identity, of_process
from services.runtime.clients import Trust
from services.runtime.errors import StartupError
from services.runtime.readiness import Ready, serves_health

EXIT_STARTUP = 2
LOG_LINES = 5

# Runs a command that dies with this process: the kernel's parent-death signal survives exec. A fork hook would be
# shorter, but Python may not run safely between fork and exec in a process with gRPC's threads.
_TIED = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Program:
    """What to run, where it listens, and how to know that it serves there."""

    name: str
    command: tuple[str, ...]
    host: str
    port: int
    environment: Mapping[str, str]
    # How to know that it serves; None: it has the standard health service.
    ready: Ready | None = None
    # Ports it takes besides.
    further_ports: tuple[int, ...] = ()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the supervisor waits, seconds."""

    start: float = 60.0
    grace: float = 10.0
    first_delay: float = 0.2
    longest_delay: float = 5.0
    # A child that lived this long is healthy: its next restart is quick again.
    healthy: float = 10.0


class Child:
    """One program, kept running until it is told to stop."""

    def __init__(self, program: Program, log: Path, patience: Patience, report: Callable[[str], None]) -> None:
        self.program = program
        self.log = log
        self.pid = 0
        # Set when the first start was refused: the program says that starting again would not help.
        self.refused = asyncio.Event()
        self._patience = patience
        self._report = report
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()

    async def keep(self) -> None:
        """Runs the program, again whenever it ends, with growing pauses."""
        delay = self._patience.first_delay
        with self.log.open("ab") as log:
            while not self._stopping.is_set():
                started = time.monotonic()
                code = await self._run(log)
                if self._stopping.is_set():
                    return
                if time.monotonic() - started >= self._patience.healthy:
                    delay = self._patience.first_delay
                if code == EXIT_STARTUP:
                    self.refused.set()
                self._report(f"{self.program.name} ended with code {code}; it starts again in {delay:.1f} s")
                await self._pause(delay)
                delay = min(2 * delay, self._patience.longest_delay)

    async def stop(self) -> None:
        """Lets the program drain, and ends it when its grace is over."""
        self._stopping.set()
        process = self._process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(self._patience.grace):
                await process.wait()
        except TimeoutError:
            self._report(f"{self.program.name} did not end within {self._patience.grace:.0f} s and is killed")
            self.kill()
            await process.wait()

    def kill(self) -> None:
        """Ends the program and whatever it started, at once."""
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            # The child leads a session, hence a process group, of its own.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def ready(self) -> None:
        """Waits until the program says that it serves."""
        program = self.program
        if program.ready is not None:
            await program.ready(program.address)
            return
        # A program is asked with its own certificate: any of the authority's may ask how it is.
        certificates = of_process(program.name, program.environment)
        await serves_health(program.address, Trust(certificates, identity(program.name)) if certificates else None)

    def last_words(self) -> str:
        """The end of the log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(f"  {self.program.name}: {line}" for line in lines[-LOG_LINES:])

    async def _run(self, log: IO[bytes]) -> int:
        self._process = await asyncio.create_subprocess_exec(
            *_tied(self.program.command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=dict(self.program.environment),
            start_new_session=True,
        )
        self.pid = self._process.pid
        # The order to stop may have come while the process was being made.
        if self._stopping.is_set():
            self.kill()
        return await self._process.wait()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            return


def _tied(command: Sequence[str]) -> list[str]:
    """The command, made to die with this process where the system can do that."""
    if not sys.platform.startswith("linux"):
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]


class Supervisor:
    """A set of programs started together and stopped in the order of their stages."""

    def __init__(
        self,
        stages: Sequence[Sequence[Program]],
        logs: Path,
        report: Callable[[str], None],
        patience: Patience | None = None,
    ) -> None:
        self._patience = patience or Patience()
        self._report = report
        self._logs = logs
        self._stages = [
            [Child(program, logs / f"{program.name}.log", self._patience, report) for program in stage]
            for stage in stages
        ]
        self._keepers: list[asyncio.Task[None]] = []
        self._told = asyncio.Event()

    @property
    def children(self) -> dict[str, Child]:
        """Every child by name."""
        return {child.program.name: child for stage in self._stages for child in stage}

    async def start(self) -> None:
        """Starts stage after stage, the last to stop first, so that whoever asks others finds them listening."""
        self._logs.mkdir(parents=True, exist_ok=True)
        begun = time.monotonic()
        for stage in reversed(self._stages):
            await self._start(stage, begun)

    async def _start(self, stage: Sequence[Child], begun: float) -> None:
        """Starts the programs of one stage at once and returns when all of them are ready."""
        for child in stage:
            _rotate(child.log)
            self._keepers.append(asyncio.create_task(child.keep()))
        waits = {asyncio.create_task(self._await_ready(child, begun)): child for child in stage}
        try:
            async with asyncio.timeout(self._patience.start):
                await asyncio.gather(*waits)
        except TimeoutError:
            late = [child for wait, child in waits.items() if wait.cancelled()]
            for child in late:
                self._report(child.last_words())
            names = ", ".join(child.program.name for child in late)
            raise StartupError(f"not ready after {self._patience.start:.0f} s: {names}") from None
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    def signalled(self) -> None:
        """What a signal means: the first asks for an orderly stop, the second ends everything at once."""
        if self._told.is_set():
            for child in self.children.values():
                child.kill()
        self._told.set()

    async def until_told(self) -> None:
        """Waits for the order to stop."""
        await self._told.wait()

    async def stop(self) -> None:
        """Stops stage after stage; no child is left."""
        for stage in self._stages:
            await asyncio.gather(*(child.stop() for child in stage))
        await asyncio.gather(*self._keepers)

    async def _await_ready(self, child: Child, begun: float) -> None:
        ready = asyncio.create_task(child.ready())
        refused = asyncio.create_task(child.refused.wait())
        try:
            await asyncio.wait((ready, refused), return_when=asyncio.FIRST_COMPLETED)
            if not ready.done():
                self._report(child.last_words())
                raise StartupError(f"{child.program.name} refused to start; its log is {child.log}")
            await ready
        finally:
            ready.cancel()
            refused.cancel()
            await asyncio.gather(ready, refused, return_exceptions=True)
        self._report(f"{child.program.name:<10} ready at {child.program.address}, {time.monotonic() - begun:.1f} s")


def _rotate(log: Path) -> None:
    """The log of the last run is kept beside the new one."""
    if log.exists():
        log.replace(log.with_suffix(".log.1"))
    log.touch()
