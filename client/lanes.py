"""`lanemesh lanes`: the configured lanes, where they are and how they are."""

from __future__ import annotations

import argparse

from lanemesh.v1 import lane_pb2, search_pb2
from rich.table import Table
from rich.text import Text

from client import options
from client.mesh import Mesh
from client.output import new_console, print_json
from client.text import one_line
from services.runtime.jsonform import name_of, short_name

register = options.add_call

_STYLES = {"READY": "green", "NOT_READY": "yellow", "UNREACHABLE": "red"}
_MODE = lane_pb2.Mode.DESCRIPTOR
_MODES = [short_name(_MODE, value.name).lower() for value in _MODE.values if value.number]


async def run(arguments: argparse.Namespace) -> int:
    """Lists and prints."""
    async with Mesh() as mesh:
        reply = await mesh.lanes(deadline=options.seconds(arguments.deadline))
    if arguments.json:
        print_json(reply)
    else:
        new_console().print(_table(reply))
    return 0


def _table(reply: search_pb2.ListLanesResponse) -> Table:
    table = Table("lane", "serving", "address", "budget ms", "documents", "message", box=None, pad_edge=False)
    table.caption = f"budgets: {' / '.join(_MODES)}"
    table.caption_justify = "left"
    for lane in (*reply.lanes, reply.fusion):
        if lane.name:
            table.add_row(*_cells(lane))
    return table


def _cells(lane: search_pb2.LaneInfo) -> list[Text]:
    serving = name_of(search_pb2.Serving.DESCRIPTOR, lane.serving)
    style = _STYLES.get(serving, "dim")
    budgets = "/".join(f"{lane.budgets_ms[mode]:.0f}" for mode in _MODES if mode in lane.budgets_ms)
    documents = str(lane.stats.documents) if lane.HasField("stats") else ""
    plain = [one_line(text) for text in (lane.address, budgets, documents, lane.message)]
    return [Text(one_line(lane.name), "bold"), Text(serving.lower(), style), *(Text(text) for text in plain)]
