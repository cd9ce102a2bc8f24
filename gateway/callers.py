"""The file of callers, read whole: a wrong entry stops the gateway by its name, and no secret is repeated."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from gateway.identity import ANYBODY, Caller, Callers
from gateway.rate import Rate
from services.runtime.errors import StartupError

MAX_LABELS = 64
MAX_NAMES = 64
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OPENS = frozenset({"labels", "lanes", "rate", "ingest", "delete"})
_PROVES = frozenset({"token_sha256", "names"})


def read_callers(path: Path | None, lanes: Collection[str], *, forwarded: bool = False) -> Callers:
    """The callers of the file; without one anybody may do everything."""
    if path is None:
        return Callers({}, anybody=ANYBODY)
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartupError(f"LANEMESH_CALLERS={path}: the file cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError):
        # The parser's own text may quote the file.
        raise StartupError(f"LANEMESH_CALLERS={path}: the file is not YAML") from None
    try:
        return _callers(raw, lanes, forwarded)
    except ValueError as error:
        raise StartupError(f"LANEMESH_CALLERS={path}: {error}") from error


def _callers(raw: Any, lanes: Collection[str], forwarded: bool) -> Callers:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("callers"), Mapping):
        raise ValueError("callers is missing or no mapping")
    if unknown := set(raw) - {"callers", "anybody"}:
        raise ValueError(f"{sorted(map(str, unknown))[0]} is unknown; the file has callers and anybody")
    by_digest: dict[str, Caller] = {}
    by_name: dict[str, Caller] = {}
    for name, row in raw["callers"].items():
        entry = f"callers.{name}"
        if not str(name):
            raise ValueError("callers has an entry without a name")
        caller = _caller(entry, str(name), row, _OPENS | _PROVES, lanes)
        _prove(entry, row, caller, by_digest, by_name)
    anybody = _caller("anybody", "", raw["anybody"], _OPENS, lanes) if "anybody" in raw else None
    return Callers(by_digest, by_name, anybody=anybody, forwarded=forwarded)


def _prove(
    entry: str, row: Mapping[str, Any], caller: Caller, by_digest: dict[str, Caller], by_name: dict[str, Caller]
) -> None:
    """Enters a caller under its token and its names; each belongs to one caller."""
    digest, names = row.get("token_sha256"), _words(entry, row, "names", MAX_NAMES, 253)
    if digest is None and not names:
        raise ValueError(f"{entry} needs token_sha256 or names")
    if digest is not None:
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise ValueError(f"{entry}.token_sha256 must be 64 lower-case hexadecimal digits")
        if digest in by_digest:
            raise ValueError(f"{entry}.token_sha256 is also that of {by_digest[digest].name}")
        by_digest[digest] = caller
    for name in names:
        if name in by_name and by_name[name] is not caller:
            raise ValueError(f"{entry}.names: {name} is also that of {by_name[name].name}")
        by_name[name] = caller


def _caller(entry: str, name: str, row: Any, keys: frozenset[str], lanes: Collection[str]) -> Caller:
    if not isinstance(row, Mapping) or set(row) - keys:
        raise ValueError(f"{entry} must be a mapping of {', '.join(sorted(keys))}")
    open_ = _words(entry, row, "lanes", len(lanes), 64) if "lanes" in row else None
    if unknown := set(open_ or ()) - set(lanes):
        raise ValueError(f"{entry}.lanes: {sorted(unknown)[0]} is no lane; the table has {', '.join(lanes)}")
    return Caller(
        name,
        tuple(sorted(set(_words(entry, row, "labels", MAX_LABELS, 64)))),
        lanes=None if open_ is None else frozenset(open_),
        rate=_rate(f"{entry}.rate", row["rate"]) if "rate" in row else None,
        ingest=_flag(entry, row, "ingest"),
        delete=_flag(entry, row, "delete"),
    )


def _words(entry: str, row: Mapping[str, Any], key: str, most: int, longest: int) -> list[str]:
    words = row.get(key, [])
    if not isinstance(words, list) or not all(isinstance(word, str) and 0 < len(word) <= longest for word in words):
        raise ValueError(f"{entry}.{key} must be a list of words of 1 to {longest} characters")
    if len(words) > most:
        raise ValueError(f"{entry}.{key} has more than {most} entries")
    return words


def _flag(entry: str, row: Mapping[str, Any], key: str) -> bool:
    value = row.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{entry}.{key} must be true or false")
    return value


def _rate(entry: str, row: Any) -> Rate:
    if not isinstance(row, Mapping) or set(row) != {"per_second", "burst"}:
        raise ValueError(f"{entry} must be a mapping of per_second and burst")
    per_second, burst = row["per_second"], row["burst"]
    if not _is_number(per_second) or not per_second > 0:
        raise ValueError(f"{entry}.per_second must be a number above 0")
    if not _is_number(burst) or not burst >= 1:
        raise ValueError(f"{entry}.burst must be a number of at least 1")
    return Rate(float(per_second), float(burst))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
