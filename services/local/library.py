"""The project's files as they are now: changed ones re-read, new ones added, deleted ones dropped."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from services.local.files import Found, Reading, Stamp, Tree, read
from services.local.patterns import Form
from services.local.score import Fields, Postings, post
from services.local.sections import Section, split


@dataclass(frozen=True, slots=True)
class Shelved:
    """A file as it was last read. A file with a problem has no sections."""

    path: str
    form: Form
    stamp: Stamp
    settled: bool
    problem: str
    text: str
    sections: tuple[Section, ...]
    postings: Postings

    def content(self, number: int) -> str:
        """The exact text of a section."""
        section = self.sections[number]
        return self.text[section.start : section.end]


@dataclass(frozen=True, slots=True)
class View:
    """The files at one moment; `pending` were found and not read yet, `truncated` says that a limit was reached."""

    files: tuple[Shelved, ...]
    pending: int
    truncated: bool
    unreadable_folders: int

    def problems(self) -> Counter[str]:
        """How many files were left out, by problem."""
        return Counter(file.problem for file in self.files if file.problem)


class Library:
    """Refreshed by one thread at a time, viewed by any; a view is never half a file."""

    def __init__(self, root: Path, max_files: int, max_file_bytes: int, max_total_bytes: int) -> None:
        self._tree = Tree(root)
        self._max_files = max_files
        self._max_file_bytes = max_file_bytes
        self._max_total_bytes = max_total_bytes
        self._lock = threading.Lock()
        self._files: dict[str, Shelved] = {}
        self._pending = 0
        self._truncated = False

    def view(self) -> View:
        """What is known now, complete or not."""
        with self._lock:
            return View(tuple(self._files.values()), self._pending, self._truncated, self._tree.unreadable)

    def refresh(self, stopped: Callable[[], bool]) -> None:
        """Looks at every file once. What has been read so far is in the view all along; `stopped` ends it early."""
        found, truncated = self._find(stopped)
        if stopped():
            return
        changed = [file for file in found if not self._is_current(file)]
        with self._lock:
            # A file that is known to have changed is not shown as it was.
            self._files = {file.path: self._files[file.path] for file in found if self._has_stamp(file)}
            self._pending, self._truncated = len(changed), truncated
        for file in changed:
            if stopped():
                return
            shelved = self._shelve(file)
            with self._lock:
                self._files[file.path] = shelved
                self._pending -= 1

    def _find(self, stopped: Callable[[], bool]) -> tuple[list[Found], bool]:
        found: list[Found] = []
        left = self._max_total_bytes
        for file in self._tree.walk(stopped):
            if file.stamp.size <= self._max_file_bytes:
                left -= file.stamp.size
            if len(found) == self._max_files or left < 0:
                return found, True
            found.append(file)
        return found, False

    def _has_stamp(self, found: Found) -> bool:
        known = self._files.get(found.path)
        return known is not None and known.stamp == found.stamp

    def _is_current(self, found: Found) -> bool:
        return self._has_stamp(found) and self._files[found.path].settled

    def _shelve(self, found: Found) -> Shelved:
        reading = read(found, self._max_file_bytes)
        known = self._files.get(found.path)
        if known and (known.text, known.problem) == (reading.text, reading.problem):
            return replace(known, stamp=reading.stamp, settled=reading.settled)
        return _analyse(found, reading)


def _analyse(found: Found, reading: Reading) -> Shelved:
    sections = tuple(_worth_finding(split(reading.text, found.form), reading.text))
    postings = post(_fields(found.path, section, reading.text) for section in sections)
    return Shelved(
        found.path, found.form, reading.stamp, reading.settled, reading.problem, reading.text, sections, postings
    )


def _fields(path: str, section: Section, text: str) -> Fields:
    heading = section.headings[-1] if section.headings else ""
    return Fields(text[section.start : section.end], heading, " ".join((path, *section.headings[:-1])))


def _worth_finding(sections: tuple[Section, ...], text: str) -> Iterable[Section]:
    """Leaves out blank stretches, and headings with nothing but subsections below: those carry them in their path."""
    for section, following in zip_longest(sections, sections[1:]):
        content = text[section.start : section.end].strip()
        is_bare = section.headings and "\n" not in content
        has_parts = following is not None and following.headings[:-1] == section.headings
        if content and not (is_bare and has_parts):
            yield section
