"""What became of everything that was given to ingestion: counts, and a place in a file for all that was not stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lanemesh.v1.search_pb2 import IngestResponse
from rich.console import Console
from rich.text import Text

from client.loss import Loss, extend
from client.output import note
from client.records import Origin, Problem, Skipped
from client.segments import Segment
from client.text import one_line
from services.runtime.errors import LanemeshError
from services.runtime.jsonform import to_json

COUNTS = ("stored", "ignored", "deleted")


@dataclass
class Summary:
    """The account of one run."""

    received: int = 0
    acknowledged: int = 0
    unkept: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, str]] = field(default_factory=list)
    lanes: dict[str, dict[str, Any]] = field(default_factory=dict)
    lost: list[Loss] = field(default_factory=list)
    segments: int = 0
    # Why the gateway ended the run early; what follows the last loss was never sent.
    error: LanemeshError | None = None

    @property
    def complete(self) -> bool:
        """Whether everything that was given is where it belongs."""
        return not self.failures and not self.lost

    def trouble(self) -> str:
        """The first thing that went wrong, in one sentence."""
        if self.lost:
            return str(self.lost[0])
        first = self.failures[0]
        return f"{len(self.failures)} failures, the first in {first['file']}: {first['message']}"

    def read(self, segment: Segment) -> None:
        """Counts what reading alone decided."""
        self.segments += 1
        for item in segment.others:
            if isinstance(item, Skipped):
                self.skipped.append({"file": item.origin.file, "reason": item.reason})
            else:
                self.failures.append(_failure(item))

    def add(self, reply: IngestResponse, segment: Segment) -> None:
        """Counts one call's reply; its failures are told by file and line again."""
        self.received += reply.received
        self.acknowledged += reply.acknowledged
        self.unkept += reply.unkept
        down = {lane.lane for lane in reply.lanes if lane.error}
        for failure in reply.failures:
            if failure.lane in down and not failure.field:
                # Told below as one stretch, not record by record.
                continue
            known = 1 <= failure.sequence <= len(segment.records)
            origin = segment.records[failure.sequence - 1].origin if known else Origin("?")
            parts = to_json(failure)
            del parts["sequence"]
            self.failures.append(origin.plain() | parts)
        for lane in reply.lanes:
            total = self.lanes.setdefault(lane.lane, {"lane": lane.lane, **dict.fromkeys(COUNTS, 0)})
            for count in COUNTS:
                total[count] += getattr(lane, count)
            total["error"] = lane.error or total.get("error", "")
            if lane.error:
                extend(self.lost, Loss.of(segment, self.segments, lane.lane, lane.error))

    def stop(self, segment: Segment, error: LanemeshError) -> None:
        """The gateway did not answer for a segment: nothing of it is acknowledged, and the run ends here."""
        self.received += len(segment.records)
        self.error = error
        extend(self.lost, Loss.of(segment, self.segments, "", error.reason))

    def plain(self) -> dict[str, Any]:
        """The summary as JSON."""
        told = vars(self) | {"lanes": list(self.lanes.values()), "lost": [loss.plain() for loss in self.lost]}
        return {key: value for key, value in told.items() if key not in ("segments", "error")}

    def show(self, console: Console, verb: str = "stored") -> None:
        """Tells a person: what went wrong on stderr, the counts on the console."""
        self._notes()
        failed = len({(failure["file"], failure["line"]) for failure in self.failures})
        console.print(f"{self.acknowledged} of {self.received} records {verb}, {failed} failed")
        for total in self.lanes.values():
            error = f", {total['error']}" if total["error"] else ""
            done = f"{total['stored']} stored, {total['ignored']} not of its kind"
            counts = f"{total['deleted']} deleted" if verb == "deleted" else done
            console.print(Text(f"  {one_line(total['lane'])}: {counts}{one_line(error)}"))
        if self.unkept:
            console.print(f"note: {self.unkept} records are of a kind no running lane keeps")

    def _notes(self) -> None:
        for failure in self.failures:
            place = Origin(failure["file"], failure["line"])
            lane = f"{failure['lane']} lane: " if failure["lane"] else ""
            subject = f"{failure['field']}: " if failure["field"] else ""
            note(f"{place}: {subject}{lane}{failure['message'] or failure['reason']}")
        for skipped in self.skipped:
            note(f"{skipped['file']}: skipped: {skipped['reason']}")
        for loss in self.lost:
            note(str(loss))


def _failure(problem: Problem) -> dict[str, Any]:
    told = {"id": "", "field": problem.field, "reason": "UNREADABLE", "message": problem.message, "lane": ""}
    return problem.origin.plain() | told
