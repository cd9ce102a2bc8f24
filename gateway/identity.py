"""Who calls, and what that opens: access labels come from the caller's identity, never from its request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from services.runtime.errors import StartupError, Unauthenticated

AUTHORIZATION = "authorization"
MAX_LABELS = 64
_BEARER = "bearer "
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = frozenset({"token_sha256", "labels"})

Metadata = Iterable[tuple[str, str | bytes]]


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody the gateway knows. Without a name it is anybody, who sees what is public."""

    name: str = ""
    labels: tuple[str, ...] = ()


ANYBODY = Caller()


class Callers:
    """The callers of this mesh, by the hash of the token each presents."""

    def __init__(self, by_digest: Mapping[str, Caller]) -> None:
        self._by_digest = by_digest

    def identify(self, metadata: Metadata | None) -> Caller:
        """The caller of a request; Unauthenticated when it presents a token that nobody holds."""
        for key, value in metadata or ():
            if key == AUTHORIZATION:
                return self._holder(value)
        return ANYBODY

    def _holder(self, value: str | bytes) -> Caller:
        text = value if isinstance(value, str) else ""
        caller = None
        if text[: len(_BEARER)].lower() == _BEARER:
            caller = self._by_digest.get(sha256(text[len(_BEARER) :].strip().encode()).hexdigest())
        if caller is None:
            raise Unauthenticated("the token is not one of a known caller")
        return caller


def read_callers(path: Path | None) -> Callers:
    """The callers of a file such as `callers: {billing: {token_sha256: …, labels: [finance]}}`; none without a file."""
    if path is None:
        return Callers({})
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartupError(f"LANEMESH_CALLERS={path}: the file cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError):
        # The parser's own text may quote the file.
        raise StartupError(f"LANEMESH_CALLERS={path}: the file is not YAML") from None
    try:
        return Callers(_by_digest(raw))
    except ValueError as error:
        raise StartupError(f"LANEMESH_CALLERS={path}: {error}") from error


def _by_digest(raw: Any) -> dict[str, Caller]:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("callers"), Mapping):
        raise ValueError("callers is missing or no mapping")
    found: dict[str, Caller] = {}
    for name, row in raw["callers"].items():
        digest, caller = _caller(str(name), row)
        if digest in found:
            raise ValueError(f"callers.{name}.token_sha256 is also that of {found[digest].name}")
        found[digest] = caller
    return found


def _caller(name: str, row: Any) -> tuple[str, Caller]:
    if not isinstance(row, Mapping) or set(row) - _KEYS:
        raise ValueError(f"callers.{name} must be a mapping of {' and '.join(sorted(_KEYS))}")
    digest = row.get("token_sha256")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ValueError(f"callers.{name}.token_sha256 must be 64 lower-case hexadecimal digits")
    labels = row.get("labels", [])
    if not isinstance(labels, list) or not all(isinstance(label, str) and 0 < len(label) <= 64 for label in labels):
        raise ValueError(f"callers.{name}.labels must be a list of labels of 1 to 64 characters")
    if len(labels) > MAX_LABELS:
        raise ValueError(f"callers.{name}.labels has more than {MAX_LABELS} entries")
    return digest, Caller(name, tuple(sorted(set(labels))))
