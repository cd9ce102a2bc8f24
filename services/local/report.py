"""The sentences of a reply: what was searched, what was left out, and why."""

from __future__ import annotations

from collections.abc import Iterator

from lanemesh.v1.lane_pb2 import LANE_STATUS_PARTIAL, RetrieveResponse

from services.local.library import View
from services.local.search import Outcome

WORDS_SHOWN = 8


def report(reply: RetrieveResponse, outcome: Outcome, view: View, fresh: bool) -> None:
    """Sets status and reason unless the answer is in full, and a message whenever something is missing."""
    if not reply.evidence:
        reply.reason = "NO_MATCH"
    if not fresh or outcome.context_unread:
        reply.status, reply.reason = LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED"
    reply.message = " ".join(_notes(reply, outcome, view, fresh))


def _notes(reply: RetrieveResponse, outcome: Outcome, view: View, fresh: bool) -> Iterator[str]:
    if not reply.evidence:
        yield _nothing(outcome)
    if not fresh:
        yield f"Time ran out before all files were checked: {outcome.files} searched, {view.pending} known unread."
    if outcome.context_unread:
        yield f"Time ran out before {_count(outcome.context_unread, 'context item')} could be searched."
    if problems := view.problems():
        causes = ", ".join(f"{number} {problem}" for problem, number in sorted(problems.items()))
        yield f"{_count(problems.total(), 'file')} left out: {causes}."
    if view.unreadable_folders:
        yield f"{_count(view.unreadable_folders, 'folder')} could not be opened."
    if view.truncated:
        yield f"The limits were reached after {_count(len(view.files), 'file')}, counted from the project root down."


def _nothing(outcome: Outcome) -> str:
    searched = _count(outcome.files, "file")
    if outcome.context:
        searched += f" and {_count(outcome.context, 'context item')}"
    if not outcome.words:
        return f"The query holds no word to look for in {searched}."
    more = " …" if len(outcome.words) > WORDS_SHOWN else ""
    return f"Nothing in {searched} matches: {', '.join(outcome.words[:WORDS_SHOWN])}{more}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
