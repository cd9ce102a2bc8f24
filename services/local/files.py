"""Finding the project's prose and reading it. Listings are remembered for as long as their folder is untouched."""

from __future__ import annotations

import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from services.local.patterns import FOREIGN_MARKERS, Form, enters, form_of
from services.runtime.errors import Unavailable

# A document's identity has at most 512 characters; this leaves room for the line range.
MAX_PATH = 480
# Prose has no such lines; minified data has, and would flood a reply.
MAX_LINE = 20_000

# A change in the same tick of the file system's clock leaves the stamp as it was. A stamp younger than this when the
# file was read proves nothing; whole seconds betray a file system with a coarse clock.
TICK_NS = 50_000_000
COARSE_TICK_NS = 2_000_000_000


class Stamp(NamedTuple):
    """What changes when a file or folder does. The change time catches edits that put the old mtime back."""

    modified_ns: int
    changed_ns: int
    size: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        """The stamp in a stat result."""
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    def settled(self, now_ns: int) -> bool:
        """Whether any change after `now_ns` must give another stamp."""
        tick = TICK_NS if self.changed_ns % 1_000_000_000 else COARSE_TICK_NS
        return self.changed_ns + tick < now_ns


class Found(NamedTuple):
    """A file to search, as the walk saw it."""

    path: str
    absolute: str
    form: Form
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Reading:
    """A file's text, or the problem that keeps it out of the search."""

    text: str
    problem: str
    stamp: Stamp
    settled: bool


@dataclass(frozen=True, slots=True)
class _Listing:
    stamp: Stamp
    settled: bool
    files: tuple[tuple[str, str, Form], ...] = ()
    folders: tuple[str, ...] = ()


class Tree:
    """The folders below a root. Symbolic links are never followed, so nothing outside the root is ever read."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._listings: dict[str, _Listing] = {}
        # Folders the last walk was refused.
        self.unreadable = 0

    def walk(self, stopped: Callable[[], bool]) -> Iterator[Found]:
        """Every file to search, those nearest the root first; Unavailable when the root itself cannot be listed."""
        self.unreadable = 0
        visited: dict[str, _Listing] = {}
        folders = deque([""])
        while folders:
            if stopped():
                return
            folder = folders.popleft()
            listing = self._list(folder)
            if listing is None:
                continue
            visited[folder] = self._listings[folder] = listing
            folders.extend(listing.folders)
            for path, absolute, form in listing.files:
                try:
                    status = os.lstat(absolute)
                except OSError:
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield Found(path, absolute, form, Stamp.of(status))
        self._listings = visited

    def _list(self, folder: str) -> _Listing | None:
        absolute = f"{self._root}/{folder}" if folder else self._root
        try:
            status = os.stat(absolute, follow_symlinks=not folder)  # noqa: PTH116 - strings are cheaper than paths here
            if not stat.S_ISDIR(status.st_mode):
                raise NotADirectoryError(absolute)
            stamp = Stamp.of(status)
            known = self._listings.get(folder)
            if known and known.settled and known.stamp == stamp:
                return known
            return _scan(folder, absolute, stamp)
        except OSError as error:
            if not folder:
                raise Unavailable("the project root cannot be read") from error
            self.unreadable += isinstance(error, PermissionError)
            return None


def _scan(folder: str, absolute: str, stamp: Stamp) -> _Listing:
    settled = stamp.settled(time.time_ns())
    with os.scandir(absolute) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    if folder and any(entry.name in FOREIGN_MARKERS for entry in entries):
        return _Listing(stamp, settled)
    files: list[tuple[str, str, Form]] = []
    folders: list[str] = []
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if not _nameable(path):
            continue
        if entry.is_dir(follow_symlinks=False):
            if enters(entry.name):
                folders.append(path)
        elif (form := form_of(entry.name)) and entry.is_file(follow_symlinks=False):
            files.append((path, entry.path, form))
    return _Listing(stamp, settled, tuple(files), tuple(folders))


def _nameable(path: str) -> bool:
    """Whether a path can be cited: short enough, and Unicode rather than stray bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return len(path) <= MAX_PATH


def read(found: Found, max_bytes: int) -> Reading:
    """The file's text, exactly as stored. The stamp is taken before the text, so a later change is always seen."""
    now_ns = time.time_ns()
    try:
        # Without O_NONBLOCK a pipe put in the file's place would block the walk for good.
        descriptor = os.open(found.absolute, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            stamp = Stamp.of(os.fstat(descriptor))
            data = file.read(max_bytes + 1) if stamp.size <= max_bytes else None
    except OSError:
        return Reading("", "unreadable", found.stamp, settled=False)
    text, problem = _decode(data, max_bytes)
    return Reading(text, problem, stamp, stamp.settled(now_ns))


def _decode(data: bytes | None, max_bytes: int) -> tuple[str, str]:
    if data is None or len(data) > max_bytes:
        return "", "too large"
    if b"\0" in data:
        return "", "binary"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return "", "not UTF-8"
    if len(data) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return "", "not prose"
    return text, ""
