"""`lanemesh plan`: what a question would make the mesh do. Nothing runs."""

from __future__ import annotations

import argparse

from lanemesh.v1 import lane_pb2, search_pb2
from rich.console import Console
from rich.table import Table
from rich.text import Text

from client import options
from client.mesh import Mesh
from client.output import new_console, print_json
from client.text import one_line
from services.runtime.jsonform import name_of

register = options.add_search


async def run(arguments: argparse.Namespace) -> int:
    """Asks for the plan and prints it."""
    async with Mesh() as mesh:
        deadline = options.seconds(arguments.deadline)
        reply = await mesh.plan(arguments.query, deadline=deadline, **options.searching(arguments))
    if arguments.json:
        print_json(reply)
    else:
        _show(new_console(), reply.plan)
    return 0


def _show(console: Console, plan: search_pb2.QueryPlan) -> None:
    facts = {
        "mode": name_of(lane_pb2.Mode.DESCRIPTOR, plan.mode).lower(),
        "types": ", ".join(plan.query_types) or "none recognised",
        "cues": ", ".join(plan.cues),
        "entities": ", ".join(plan.entities),
        "time": f"{plan.deadline_ms:.0f} ms, of which {plan.reserve_ms:.0f} for fusion and reply",
        "scope": name_of(search_pb2.ScopeMode.DESCRIPTOR, plan.scope_mode).lower(),
    }
    for name, value in facts.items():
        if value:
            console.print(Text(f"{name:<9} {one_line(value)}"))
    for effect in plan.constraint_effects:
        console.print(Text(f"          {one_line(effect)}", "dim"))
    console.print()
    console.print(_lanes(plan))


def _lanes(plan: search_pb2.QueryPlan) -> Table:
    table = Table("lane", "runs", "budget", "results", "why", box=None, pad_edge=False)
    for lane in plan.lanes:
        style = "" if lane.included else "dim"
        budget = f"{lane.budget_ms:.0f} ms" if lane.included else ""
        results = str(lane.max_results) if lane.included else ""
        cells = (one_line(lane.lane), "yes" if lane.included else "no", budget, results, one_line(lane.reason))
        table.add_row(*(Text(cell, style) for cell in cells))
    return table
