"""`lanemesh ask`: a question to the mesh, its answer as a page or as JSON."""

from __future__ import annotations

import argparse

from lanemesh.v1 import lane_pb2, search_pb2
from rich.console import Console
from rich.text import Text

from client import options, page
from client.mesh import Mesh
from client.output import new_console, print_json
from client.request import search_request
from client.text import one_line
from services.runtime.errors import BadReply
from services.runtime.jsonform import name_of


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    options.add_search(parser)
    parser.add_argument("--stream", action="store_true", help="show each lane as it ends")


async def run(arguments: argparse.Namespace) -> int:
    """Asks and prints."""
    deadline = options.seconds(arguments.deadline)
    request = search_request(arguments.query, **options.searching(arguments))
    async with Mesh() as mesh:
        if arguments.stream:
            await _stream(mesh, request, deadline, arguments.json)
            return 0
        reply = await mesh.search(request, deadline=deadline)
    if arguments.json:
        print_json(reply)
    else:
        page.show(new_console(), reply)
    return 0


async def _stream(mesh: Mesh, request: search_pb2.SearchRequest, deadline: float | None, as_json: bool) -> None:
    console = new_console()
    last = None
    async for event in mesh.stream(request, deadline=deadline):
        last = event.WhichOneof("event")
        if as_json:
            print_json(event)
        else:
            _show_event(console, event)
    if last != "final":
        raise BadReply("the gateway ended the stream without an answer")


def _show_event(console: Console, event: search_pb2.StreamSearchResponse) -> None:
    kind = event.WhichOneof("event")
    if kind == "plan":
        lanes = ", ".join(lane.lane for lane in event.plan.lanes if lane.included)
        console.print(Text(f"asking {one_line(lanes) or 'no lane'}, {event.plan.deadline_ms:.0f} ms", "dim"))
    elif kind == "lane":
        row, waiting = event.lane.row, ", ".join(event.lane.waiting)
        status = name_of(lane_pb2.LaneStatus.DESCRIPTOR, row.status)
        still = f", waiting for {one_line(waiting)}" if waiting else ""
        line = f"{one_line(row.lane)} {status} after {row.elapsed_ms:.0f} ms, {row.returned} results{still}"
        console.print(Text(line, "dim"))
    elif kind == "final":
        console.print()
        page.show(console, event.final)
