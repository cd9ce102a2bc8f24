"""A progress bar on stderr for people who watch; nothing at all when nobody does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from client.reading import Source
from client.records import Item, Record


@contextmanager
def bar(sources: Sequence[Source]) -> Iterator[Callable[[Item], None]]:
    """Yields what to call for each item read; the bar measures bytes, the rate counts records."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[records]} records, {task.fields[rate]}/s"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("ingest", total=_bytes(sources), records=0, rate=0)
        records = 0

        def advance(item: Item) -> None:
            nonlocal records
            records += isinstance(item, Record)
            elapsed = progress.tasks[0].elapsed or 0.0
            progress.update(task, advance=item.size, records=records, rate=round(records / elapsed) if elapsed else 0)

        yield advance


def _bytes(sources: Sequence[Source]) -> int:
    total = 0
    for source in sources:
        # A file that vanished is reported when it is read.
        with suppress(OSError):
            total += source.size
    return total
