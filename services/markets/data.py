"""The files in data/: one row a line, cells between bars, comments after #."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files


def rows(name: str) -> Iterator[list[str]]:
    """The cells of each row of a file."""
    text = files("services.markets").joinpath("data", f"{name}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield [cell.strip() for cell in line.split("|")]


@cache
def words(name: str) -> frozenset[str]:
    """A set of words of data/cues.txt; KeyError when there is none of that name."""
    found = frozenset(word for own, line in rows("cues") if own == name for word in line.split())
    if not found:
        raise KeyError(name)
    return found
