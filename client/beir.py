"""A BEIR data set: corpus.jsonl, queries.jsonl, and judgements in qrels/<split>.tsv."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from client.reading import BEIR_CORPUS
from services.runtime.errors import InvalidRequest

QUERIES = "queries.jsonl"


@dataclass(frozen=True)
class Dataset:
    """Questions and what answers them; the corpus stays on disk."""

    name: str
    split: str
    corpus: Path
    # Of the judged queries only, in the order of the judgements.
    queries: dict[str, str]
    # By query, the grade of each judged document.
    judged: dict[str, dict[str, int]]

    def documents(self) -> int:
        """How many documents the corpus has."""
        with self.corpus.open("rb") as file:
            return sum(bool(line.strip()) for line in file)


def read(folder: str, split: str, limit: int | None = None) -> Dataset:
    """The data set with its first `limit` judged queries; InvalidRequest names the file and line that is wrong."""
    root = Path(folder)
    corpus = _there(root / BEIR_CORPUS)
    judged = _judgements(_there(root / "qrels" / f"{split}.tsv"))
    chosen = dict(islice(judged.items(), limit))
    texts = _texts(_there(root / QUERIES))
    if missing := [query for query in chosen if query not in texts]:
        raise InvalidRequest("dataset", f"{QUERIES} lacks {len(missing)} judged queries, such as {missing[0]}")
    if not chosen:
        raise InvalidRequest("dataset", f"qrels/{split}.tsv judges no query")
    return Dataset(root.resolve().name, split, corpus, {query: texts[query] for query in chosen}, chosen)


def _there(path: Path) -> Path:
    if not path.is_file():
        raise InvalidRequest("dataset", f"{path} is not there; expected a folder in BEIR layout")
    return path


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except UnicodeDecodeError:
        raise InvalidRequest("dataset", f"{path} is not UTF-8") from None


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        parts = line.split("\t")
        try:
            query, document, grade = parts[0], parts[1], int(parts[2])
        except (IndexError, ValueError):
            if number == 1:
                # The header.
                continue
            raise InvalidRequest("dataset", f"{path}:{number}: expected query, document and grade by tabs") from None
        judged.setdefault(query, {})[document] = grade
    return judged


def _texts(path: Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for number, line in _lines(path):
        try:
            value = json.loads(line)
            texts[str(value["_id"])] = str(value["text"])
        except (ValueError, KeyError, TypeError):
            raise InvalidRequest("dataset", f"{path}:{number}: expected an object with _id and text") from None
    return texts
