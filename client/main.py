"""The `lanemesh` command: one subcommand per file, errors on one line, an exit code that says what kind."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import NoReturn

import uvloop

from client import ask, certs, delete, evaluate, ingest, lanes, plan, refine, up
from client.output import fail
from client.tracing import traced
from services.runtime.errors import InvalidRequest, LanemeshError

Run = Callable[[argparse.Namespace], Awaitable[int]]
Register = Callable[[argparse.ArgumentParser], None]

SUBCOMMANDS: dict[str, tuple[str, Register, Run]] = {
    "up": ("start the whole mesh on this machine", up.register, up.run),
    "ask": ("ask a question", ask.register, ask.run),
    "plan": ("explain what a question would do", plan.register, plan.run),
    "refine": ("let preflight advise on a question", refine.register, refine.run),
    "ingest": ("store documents, entities and relations", ingest.register, ingest.run),
    "delete": ("delete documents or entities from every index lane", delete.register, delete.run),
    "certs": ("make or renew the certificates of this machine's mesh", certs.register, certs.run),
    "eval": ("measure the mesh on a judged data set", evaluate.register, evaluate.run),
    "lanes": ("list the lanes and how they are", lanes.register, lanes.run),
}
EXIT_INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """A parser whose errors are those of the command: one line that names the field."""

    def error(self, message: str) -> NoReturn:
        """Raises what argparse found wrong."""
        if message.startswith("argument "):
            option, _, message = message.removeprefix("argument ").partition(": ")
            raise InvalidRequest(option.lstrip("-").replace("-", "_"), message)
        raise InvalidRequest("arguments", message)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _dispatch(given)
    except LanemeshError as error:
        return fail(error, "--json" in given)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; without this the interpreter would complain when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last resort before a traceback
        return fail(LanemeshError(f"an unexpected {type(error).__name__}: {error}"), "--json" in given)


def _dispatch(given: list[str]) -> int:
    if given[:1] == ["bench"]:
        return _bench(given[1:])
    parsed = _parser().parse_args(given)
    run: Run = parsed.run
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_awaited(run, parsed))


async def _awaited(run: Run, parsed: argparse.Namespace) -> int:
    return await traced(run(parsed))


def _parser() -> Parser:
    parser = Parser(prog="lanemesh", description="A gRPC retrieval mesh: ask, and see what each lane did.")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (summary, register, run) in SUBCOMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        register(subparser)
        subparser.set_defaults(run=run)
    subparsers.add_parser("bench", help="measure the mesh against its floor", add_help=False)
    return parser


def _bench(given: list[str]) -> int:
    try:
        bench = importlib.import_module("bench.main")
    except ModuleNotFoundError as error:
        raise LanemeshError(f"bench: {error}; it runs from a checkout") from None
    return int(bench.main(given) or 0)


if __name__ == "__main__":
    sys.exit(main())
