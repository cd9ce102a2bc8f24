"""Options that several subcommands share, and how their words are read."""

from __future__ import annotations

import argparse
import re
from typing import cast

from client.request import Constraining, Options
from services.runtime.errors import InvalidRequest

_DURATION = re.compile(r"(-?\d+(?:\.\d+)?)(ms|s)?")


def add_question(parser: argparse.ArgumentParser) -> None:
    """The question and the constraints on its evidence."""
    parser.add_argument("query", metavar="QUERY", help="the question")
    parser.add_argument("--mode", help="simple (default), technical, research or multimedia")
    parser.add_argument("--time-range", metavar="RANGE", help="recent, 5_years or all_time")
    parser.add_argument("--sources", metavar="A,B", type=words, default=[], help="kinds of source to use")
    parser.add_argument("--cost", help="low, medium or high")
    parser.add_argument("--depth", help="simple, technical or research")
    parser.add_argument("--language", help="BCP 47 language of the evidence")
    parser.add_argument("--citations-required", action="store_true", help="leave unsupported sentences out")
    add_call(parser)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Everything a search can be told."""
    add_question(parser)
    parser.add_argument("--lanes", metavar="A,B", type=words, default=[], help="run these lanes, whatever the plan")
    parser.add_argument("--exclude", metavar="A,B", type=words, default=[], help="do not run these lanes")
    parser.add_argument("--project", action="append", default=[], help="search this project only (repeatable)")
    parser.add_argument("--max-results", metavar="N", type=int, help="most results, 1 to 100")
    parser.add_argument("--marker-style", metavar="STYLE", help="number (default), lane or none")


def add_call(parser: argparse.ArgumentParser) -> None:
    """How long to wait and what to print."""
    parser.add_argument("--deadline", metavar="TIME", help="milliseconds, or with a unit: 1500ms, 2s")
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON on stdout and nothing else")


def words(text: str) -> list[str]:
    """A comma-separated list."""
    return [word.strip() for word in text.split(",") if word.strip()]


def seconds(text: str | None) -> float | None:
    """A duration in seconds from milliseconds or a number with its unit."""
    if text is None:
        return None
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest("deadline", f"{text!r} is no duration; expected 1500, 1500ms or 2s")
    return float(match[1]) / (1 if match[2] == "s" else 1000)


def constraining(arguments: argparse.Namespace) -> Constraining:
    """The constraints as the client library takes them."""
    return Constraining(
        time_range=arguments.time_range,
        sources=arguments.sources,
        cost=arguments.cost,
        depth=arguments.depth,
        citations_required=arguments.citations_required,
        language=arguments.language,
    )


def searching(arguments: argparse.Namespace) -> Options:
    """The whole search as the client library takes it."""
    told = {
        "mode": arguments.mode,
        "max_results": arguments.max_results,
        "lanes": arguments.lanes,
        "exclude": arguments.exclude,
        "projects": arguments.project,
        "marker_style": arguments.marker_style,
    }
    return cast(Options, told | constraining(arguments))
