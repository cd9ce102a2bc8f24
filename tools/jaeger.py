"""Builds the real Jaeger through the Go module proxy, once for each user: `python -m tools.jaeger [--start]`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from services.runtime import dev
from services.runtime.errors import StartupError
from services.runtime.jaeger import VERSION, Ports, binary, program
from services.runtime.settings import load
from services.runtime.supervise import Supervisor

MODULE = "github.com/jaegertracing/jaeger"
# Of the module at that version. Its own go.sum, which is part of it, holds those of everything it is built from.
SUM = "h1:sWCOOF1dr+NL0PLil7mFo3BqqQL8k4WiM7aguFbc14g="
EXIT_STARTUP = 2


def build(target: Path) -> None:
    """Puts the binary there, unless it is there already."""
    if target.is_file():
        print(f"Jaeger {VERSION} is built: {target}")
        return
    if shutil.which("go") is None:
        raise StartupError("Jaeger is built with Go, and there is no `go` on the PATH")
    print(f"building Jaeger {VERSION} (once; some ten minutes on two cores)", flush=True)
    source = _source()
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / target.name
        _go("build", "-C", source, "-trimpath", "-ldflags", "-s -w", "-o", str(made), "./cmd/jaeger")
        # All of it or nothing, whoever else builds at the same time.
        made.replace(target)
    print(f"built {target}")


def _source() -> str:
    """The folder of the module's source, fetched and checked."""
    found = json.loads(_go("mod", "download", "-json", f"{MODULE}@v{VERSION}"))
    if found.get("Sum") != SUM:
        raise StartupError(f"{MODULE} {VERSION} is not what it was: {found.get('Sum')} in place of {SUM}")
    return str(found["Dir"])


def _go(*arguments: str) -> str:
    pinned = {
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "CGO_ENABLED": "0",
        # The sum above stands for the public database of sums, which not every proxy serves.
        "GONOSUMDB": MODULE,
    }
    command = ("go", *arguments)
    done = subprocess.run(command, env=os.environ | pinned, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise StartupError(f"go {arguments[0]} ended with code {done.returncode}: {done.stdout.strip()}")
    return done.stdout


async def start() -> int:
    """Runs Jaeger on its usual ports until a signal."""
    ports = Ports()
    settings = load(dev.DevSettings, os.environ)
    supervisor = Supervisor([[program(ports, os.environ)]], settings.home / "jaeger", print)

    async def greet() -> bool:
        for name, value in ports.environment().items():
            print(f"  {name}={value}")
        print("serving until Ctrl-C", flush=True)
        return True

    return await dev.run(supervisor, greet)


def main(arguments: Sequence[str]) -> int:
    """Builds, and starts when asked to."""
    parser = argparse.ArgumentParser(prog="python -m tools.jaeger", description=__doc__)
    parser.add_argument("--start", action="store_true", help="then start it on its usual ports")
    options = parser.parse_args(arguments)
    try:
        build(binary(os.environ))
        return asyncio.run(start()) if options.start else 0
    except StartupError as error:
        sys.stderr.write(f"jaeger: {error.message}\n")
        return EXIT_STARTUP


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
