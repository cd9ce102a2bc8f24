"""Files and folders to records: Markdown, text, HTML and code are documents, lines of JSON or triples what they say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.search_pb2 import IngestRequest

from client import frontmatter
from client.jsonl import read_lines
from client.records import Item, Origin, Problem, Record, Skipped, fill
from client.triples import looks_like, read_triples
from services.runtime.errors import InvalidRequest
from services.text.html import read_html

MAX_CHARACTERS = 1_048_576
MAX_BYTES = 4 * MAX_CHARACTERS
BEIR_CORPUS = "corpus.jsonl"

_KINDS = {
    "markdown": "md markdown mdx",
    "text": "txt text rst adoc org",
    "html": "html htm xhtml",
    "jsonl": "jsonl ndjson",
    "triples": "triples",
    "code": "py pyi js mjs cjs jsx ts tsx vue java kt kts scala groovy go rs rb php c h cc cpp cxx hpp hh m swift "
    "cs fs lua r jl ex exs erl hs clj dart pl sh bash zsh ps1 sql proto graphql tf toml yaml yml ini cfg css scss",
}
_KIND_OF = {f".{extension}": kind for kind, extensions in _KINDS.items() for extension in extensions.split()}
# Names that say too little: a file of these is triples when its content says so.
_PERHAPS_TRIPLES = {".txt", ".psv"}
_LINES = ("jsonl", "triples")
_NAMES = {"makefile": "code", "dockerfile": "code", "readme": "text", "license": "text", "changelog": "text"}


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: where it is, how it is shown, and the folder that was given."""

    path: Path
    shown: str
    root: Path
    # Whether the given folder holds one project per folder.
    many: bool
    kind: str
    skip: str = ""

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return 0 if self.skip else self.path.stat().st_size

    @property
    def relative(self) -> Path:
        """The path below the folder that was given."""
        return self.path.relative_to(self.root)

    @property
    def default_project(self) -> str:
        """The folder the file's project is named after."""
        parts = self.relative.parts
        return parts[0] if self.many and len(parts) > 1 else self.root.resolve().name


def find(paths: Sequence[str], kind: str | None = None) -> list[Source]:
    """Every file below the paths, in a stable order, each of `kind` if given; InvalidRequest when a path is not there.

    A file that is named is read as text when nothing says what it is; one found in a folder is skipped.
    """
    sources: list[Source] = []
    for shown in paths:
        path = Path(shown)
        if not path.exists():
            raise InvalidRequest("path", f"{shown} does not exist")
        if path.is_dir():
            sources.extend(_below(path, kind))
        else:
            sources.append(Source(path, shown, path.parent, False, kind or kind_of(path)))
    return sources


def read(sources: Sequence[Source], project: str | None = None, source: str | None = None) -> Iterator[Item]:
    """One item per record, unreadable place or skipped file."""
    seen: dict[str, Path] = {}
    for each in sources:
        origin = Origin(each.shown)
        if each.skip:
            yield Skipped(origin, each.skip, 0)
        elif each.kind == "triples":
            yield from read_triples(each.path, each.shown, project)
        elif each.kind == "jsonl":
            yield from read_lines(each.path, each.shown, project, each.default_project, source)
        else:
            yield _file(each, project, source, seen)


def kind_of(path: Path) -> str:
    """The kind of a file by its name, or its content where that says more; empty when nothing says what it is."""
    if path.suffix.lower() in _PERHAPS_TRIPLES and looks_like(path):
        return "triples"
    return _KIND_OF.get(path.suffix.lower(), "") or _NAMES.get(path.name.lower(), "")


def _below(root: Path, kind: str | None) -> Iterator[Source]:
    many = _holds_projects(root)
    for folder, folders, files in os.walk(root):
        folders.sort()
        here = Path(folder)
        for name, reason in _folders_to_skip(folders, files):
            folders.remove(name)
            yield Source(here / name, str(here / name), root, many, "", reason)
        for name in sorted(files):
            path = here / name
            found = kind or kind_of(path)
            yield Source(path, str(path), root, many, found, _reason_to_skip(path, root, found))


def _folders_to_skip(folders: Sequence[str], files: Sequence[str]) -> list[tuple[str, str]]:
    hidden = [(name, "hidden") for name in folders if name.startswith(".")]
    judgements = "qrels" in folders and BEIR_CORPUS in files
    return hidden + ([("qrels", "the judgements of a BEIR data set are not evidence")] if judgements else [])


def _holds_projects(root: Path) -> bool:
    """Whether a folder is one of projects: it has folders, and no documents of its own but a README."""
    entries = [entry for entry in root.iterdir() if not entry.name.startswith(".")]
    documents = [entry for entry in entries if entry.is_file() and kind_of(entry) not in ("", *_LINES)]
    return any(entry.is_dir() for entry in entries) and all(entry.stem.lower() == "readme" for entry in documents)


def _reason_to_skip(path: Path, root: Path, kind: str) -> str:
    if path.name.startswith("."):
        return "hidden"
    if not path.is_file():
        return "not a file"
    if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
        return "a link out of the folder"
    if path.name == "queries.jsonl" and (path.parent / BEIR_CORPUS).exists():
        return "the questions of a BEIR data set are not evidence"
    return "" if kind else "not a kind of file that is read"


def _file(each: Source, project: str | None, source: str | None, seen: dict[str, Path]) -> Item:
    origin = Origin(each.shown)
    try:
        size = each.size
        raw = b"" if size > MAX_BYTES else each.path.read_bytes()
        if b"\0" in raw:
            return Skipped(origin, "binary", size)
        fields = _fields(each.kind, each.path, _text(raw, size))
        if not fields["content"].strip():
            return Skipped(origin, "empty", size)
        document = _document(each, fields, project, source)
    except InvalidRequest as error:
        return Problem(origin, error.field, error.description, 0)
    except OSError as error:
        return Problem(origin, "file", error.strerror or "cannot be read", 0)
    earlier = seen.setdefault(document.id, each.path)
    if earlier != each.path:
        return Problem(origin, "id", f"{document.id} is already that of {earlier}", size)
    return Record(origin, IngestRequest(document=document), size)


def _text(raw: bytes, size: int) -> str:
    if size > MAX_BYTES:
        raise InvalidRequest("content", f"{size} bytes are more than {MAX_CHARACTERS} characters")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("content", "is not UTF-8 text") from None


def _fields(kind: str, path: Path, text: str) -> dict[str, Any]:
    if kind == "html":
        page = read_html(text)
        fields = {"title": page.title or path.stem, "content": page.text, "language": page.language}
    elif kind == "code":
        fields = {"title": path.name, "content": text, "source": "code"}
    else:
        given, body = frontmatter.split(text)
        fields = {"title": _heading(body) or path.stem, "content": body} | given
    if len(fields["content"]) > MAX_CHARACTERS:
        raise InvalidRequest("content", f"{len(fields['content'])} characters are more than {MAX_CHARACTERS}")
    return {"source": "docs"} | fields


def _heading(text: str) -> str:
    """The first top-level Markdown heading before any code block."""
    for line in text.splitlines():
        if line.startswith("# "):
            return line[2:].strip()
        if line.startswith(("```", "~~~")):
            break
    return ""


def _document(each: Source, fields: dict[str, Any], project: str | None, source: str | None) -> Document:
    document = fill(Document(), fields)
    document.project = project or document.project or each.default_project
    document.source = source or document.source
    if not document.id:
        parts = each.relative.parts
        # A project's own folder is not said twice, so that the identity does not depend on which of the two was given.
        below = parts[1:] if len(parts) > 1 and parts[0] == document.project else parts
        document.id = "/".join((document.project, *below))
    return document
