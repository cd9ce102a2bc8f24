"""`lanemesh ingest`: files and folders into every index lane, streamed; running it again replaces, never doubles."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from client import options, reading
from client.mesh import Mesh
from client.output import fail, new_console, print_json
from client.progress import Advance, bar
from client.records import Item
from client.segments import Segment, cut
from client.summary import Summary
from services.runtime.errors import LanemeshError

# A call of many large documents into an embedding lane takes a while; a gateway that has hung takes for ever.
CALL_SECONDS = 300.0


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    kinds = "Markdown, text, HTML, code, JSON lines, head|relation|tail triples, BEIR data sets, or folders of them"
    parser.add_argument("path", metavar="PATH", nargs="+", help=kinds)
    parser.add_argument("--project", help="project of every document (default: front matter, then the folder)")
    parser.add_argument("--source", help="kind of source of every document (default: as given, then docs or code)")
    parser.add_argument(
        "--format", choices=["triples"], help="read every file as this (default: by its name and content)"
    )
    options.add_json(parser)


async def run(arguments: argparse.Namespace) -> int:
    """Reads, sends and sums up."""
    sources = reading.find(arguments.path, arguments.format)
    with bar(sources) as advance:
        async with Mesh() as mesh:
            items = reading.read(sources, arguments.project, arguments.source)
            summary = await ingest(mesh, items, advance)
    return finish(summary, arguments.json)


def finish(summary: Summary, as_json: bool, verb: str = "stored") -> int:
    """Prints the account and returns the exit code: 0 only when everything is where it belongs."""
    if as_json:
        print_json(summary.plain())
    else:
        summary.show(new_console(), verb)
    if summary.error is not None:
        return fail(summary.error, as_json)
    return 0 if summary.complete else 1


async def ingest(mesh: Mesh, items: Iterator[Item], advance: Advance = lambda _records, _size: None) -> Summary:
    """Sends segment by segment, whatever becomes of single records and lanes; ends early when the gateway fails."""
    summary = Summary()
    for segment in cut(items):
        summary.read(segment)
        before = summary.acknowledged
        if segment.records:
            await _send(mesh, segment, summary)
        if summary.error is not None:
            break
        advance(summary.acknowledged - before, segment.size)
    return summary


async def _send(mesh: Mesh, segment: Segment, summary: Summary) -> None:
    try:
        reply = await mesh.ingest((record.request for record in segment.records), deadline=CALL_SECONDS)
    except LanemeshError as error:
        summary.stop(segment, error)
    else:
        summary.add(reply, segment)
