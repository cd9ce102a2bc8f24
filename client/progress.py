"""A progress bar on stderr for people who watch; nothing at all when nobody does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from client.reading import Source

# Told how many records were acknowledged and how many bytes of the files they took.
Advance = Callable[[int, int], None]


@contextmanager
def bar(sources: Sequence[Source]) -> Iterator[Advance]:
    """Yields what to call with each number of records acknowledged and the bytes they took."""
    counted = TextColumn("{task.fields[records]} records, {task.fields[rate]}/s")
    with _progress(counted) as progress:
        task = progress.add_task("ingest", total=_bytes(sources), records=0, rate=0)
        total = 0

        def advance(records: int, size: int) -> None:
            nonlocal total
            total += records
            elapsed = progress.tasks[0].elapsed or 0.0
            progress.update(task, advance=size, records=total, rate=round(total / elapsed) if elapsed else 0)

        yield advance


@contextmanager
def counter(total: int, things: str) -> Iterator[Callable[[], None]]:
    """Yields what to call for each of `total` things done."""
    with _progress(MofNCompleteColumn(), TextColumn(things)) as progress:
        task = progress.add_task(things, total=total)
        yield lambda: progress.update(task, advance=1)


def _progress(*counted: ProgressColumn) -> Progress:
    left = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    console = Console(file=sys.stderr)
    columns = (BarColumn(), TaskProgressColumn(), *counted, *left)
    return Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())


def _bytes(sources: Sequence[Source]) -> int:
    total = 0
    for source in sources:
        # A file that vanished is reported when it is read.
        with suppress(OSError):
            total += source.size
    return total
