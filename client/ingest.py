"""`lanemesh ingest`: files and folders into every index lane, streamed; running it again replaces, never doubles."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lanemesh.v1.search_pb2 import IngestRequest, IngestResponse

from client import options, reading
from client.jsonform import to_json
from client.mesh import Mesh
from client.output import new_console, note, print_json
from client.progress import bar
from client.records import Item, Origin, Problem, Record, Skipped
from client.text import one_line

# A call of many large documents into an embedding lane takes a while; a gateway that has hung takes for ever.
CALL_SECONDS = 300.0

Advance = Callable[[Item], None]


@dataclass
class Summary:
    """What became of everything that was given."""

    received: int = 0
    acknowledged: int = 0
    unkept: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    lanes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, reply: IngestResponse, origins: dict[int, Origin]) -> None:
        """Counts one call's reply; its failures are told by file and line again."""
        self.received += reply.received
        self.acknowledged += reply.acknowledged
        self.unkept += reply.unkept
        for failure in reply.failures:
            origin = origins.get(failure.sequence, Origin("?"))
            parts = to_json(failure)
            del parts["sequence"]
            self.failures.append({"file": origin.file, "line": origin.line} | parts)
        for lane in reply.lanes:
            total = self.lanes.setdefault(lane.lane, {"lane": lane.lane, "stored": 0, "ignored": 0, "deleted": 0})
            for count in ("stored", "ignored", "deleted"):
                total[count] += getattr(lane, count)
            total["error"] = lane.error or total.get("error", "")

    def plain(self) -> dict[str, Any]:
        """The summary as JSON."""
        return vars(self) | {"lanes": list(self.lanes.values())}


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("path", metavar="PATH", nargs="+", help="Markdown, text, HTML, code, JSON lines, or folders")
    parser.add_argument("--project", help="project of every document (default: front matter, then the folder)")
    parser.add_argument("--source", help="kind of source of every document (default: as given, then docs or code)")
    options.add_json(parser)


async def run(arguments: argparse.Namespace) -> int:
    """Reads, sends and sums up."""
    sources = reading.find(arguments.path)
    with bar(sources) as advance:
        async with Mesh() as mesh:
            items = reading.read(sources, arguments.project, arguments.source)
            summary = await ingest(mesh, items, advance)
    if arguments.json:
        print_json(summary.plain())
    else:
        _show(summary)
    return 1 if summary.failures else 0


async def ingest(mesh: Mesh, items: Iterator[Item], advance: Advance = lambda _: None) -> Summary:
    """Sends every record, whatever happens to its neighbours."""
    summary = Summary()
    origins: dict[int, Origin] = {}
    async for reply in mesh.ingest_chunks(_records(items, summary, origins, advance), deadline=CALL_SECONDS):
        summary.add(reply, origins)
        origins.clear()
    return summary


def _records(
    items: Iterator[Item], summary: Summary, origins: dict[int, Origin], advance: Advance
) -> Iterator[IngestRequest]:
    """The records among the items, numbered within their call so that failures find their way back."""
    for item in items:
        advance(item)
        if isinstance(item, Record):
            item.request.line = len(origins) + 1
            origins[item.request.line] = item.origin
            yield item.request
        elif isinstance(item, Skipped):
            summary.skipped.append({"file": item.origin.file, "reason": item.reason})
        else:
            summary.failures.append(_failure(item))


def _failure(problem: Problem) -> dict[str, Any]:
    place = {"file": problem.origin.file, "line": problem.origin.line}
    return place | {"id": "", "field": problem.field, "reason": "UNREADABLE", "message": problem.message, "lane": ""}


def _show(summary: Summary) -> None:
    for failure in summary.failures:
        place = Origin(failure["file"], failure["line"])
        lane = f"{failure['lane']} lane: " if failure["lane"] else ""
        subject = f"{failure['field']}: " if failure["field"] else ""
        note(f"{place}: {subject}{lane}{failure['message'] or failure['reason']}")
    for skipped in summary.skipped:
        note(f"{skipped['file']}: skipped: {skipped['reason']}")
    console = new_console()
    failed = len({(failure["file"], failure["line"]) for failure in summary.failures})
    console.print(f"{summary.acknowledged} of {summary.received} records stored, {failed} failed")
    for total in summary.lanes.values():
        error = f", {total['error']}" if total["error"] else ""
        counts = f"{total['stored']} stored, {total['ignored']} not of its kind"
        console.print(f"  {one_line(total['lane'])}: {counts}{one_line(error)}")
    if summary.unkept:
        console.print(f"note: {summary.unkept} records are of a kind no running lane keeps")
