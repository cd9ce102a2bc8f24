"""`lanemesh refine`: what preflight advises about a question before it is asked."""

from __future__ import annotations

import argparse

from lanemesh.v1 import lane_pb2
from rich.console import Console
from rich.text import Text

from client import options
from client.mesh import Mesh
from client.output import new_console, print_json
from client.text import one_line
from services.runtime.jsonform import name_of

register = options.add_question


async def run(arguments: argparse.Namespace) -> int:
    """Asks for the advice and prints it."""
    async with Mesh() as mesh:
        reply = await mesh.refine(
            arguments.query,
            mode=arguments.mode,
            deadline=options.seconds(arguments.deadline),
            **options.constraining(arguments),
        )
    if arguments.json:
        print_json(reply)
    else:
        _show(new_console(), reply.preflight)
    return 0


def _show(console: Console, advice: lane_pb2.Preflight) -> None:
    if advice.bypass_reason:
        console.print(Text(f"Preflight did not run: {one_line(advice.bypass_reason)}", "yellow"))
        return
    if not advice.should_trigger:
        console.print(Text("Preflight has nothing to improve."))
    for number, suggestion in enumerate(advice.suggestions, 1):
        kind = name_of(lane_pb2.SuggestionType.DESCRIPTOR, suggestion.type).lower()
        console.print(Text(f"{number}. {one_line(suggestion.title)} ({kind}, {suggestion.confidence:.2f})", "bold"))
        console.print(Text(f"   {one_line(suggestion.refined_query)}"))
        console.print(Text(f"   {one_line(suggestion.reason)}", "dim"))
    for chip in advice.chips:
        proposed = f", proposed {chip.proposed}" if chip.proposed else ""
        console.print(Text(one_line(f"{chip.constraint}: {', '.join(chip.options)}{proposed}")))
    for found in advice.personal_data:
        console.print(Text(one_line(f"personal data: {found.kind}, shown as {found.redacted}"), "yellow"))
    console.print(Text(one_line(f"{advice.model} · {advice.elapsed_ms:.0f} ms"), "dim"))
