"""Reads gateway/cues.yaml: phrases as regular expressions, the word lists as sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# Groups are written plainly, and never captured.
_GROUP = re.compile(r"(?<!\\)\((?!\?)")
_SHIPPED = Path(__file__).with_suffix(".yaml")
_MACRO = re.compile(r"<(\w+)>")
_GAP = re.compile(r" \.\.(\d+) ")


@dataclass(frozen=True)
class Cues:
    """What the classifier looks for."""

    # Query type → (weight of a match, pattern).
    types: Mapping[str, tuple[tuple[float, re.Pattern[str]], ...]]
    hops: re.Pattern[str]
    defining: re.Pattern[str]
    stating: re.Pattern[str]
    lookup: re.Pattern[str]
    lookup_rest: frozenset[str]
    news: re.Pattern[str]
    finance: re.Pattern[str]
    asking: re.Pattern[str]
    not_names: frozenset[str]


def read(path: Path = _SHIPPED) -> Cues:
    """The cues of a file."""
    raw: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    words = {name: "(" + re.sub(r"\s*\|\s*", "|", text.strip()) + ")" for name, text in raw["words"].items()}
    return Cues(
        types={
            name: tuple((float(weight), _any_of(phrases, words)) for weight, phrases in weighted.items())
            for name, weighted in raw["types"].items()
        },
        hops=_any_of(raw["hops"], words),
        defining=_any_of(raw["defining"], words),
        stating=_any_of(raw["stating"], words),
        lookup=_joined(raw["lookup"]["opening"]),
        lookup_rest=frozenset(raw["lookup"]["rest"].split()),
        news=_any_of(raw["news"], words),
        finance=_any_of(raw["finance"], words),
        asking=_joined(raw["asking"]),
        not_names=frozenset(raw["not_names"].split()),
    )


def _any_of(phrases: Iterable[str], words: Mapping[str, str]) -> re.Pattern[str]:
    """One pattern for all phrases; those that begin with a word share its boundary and are ruled out quickly."""
    plain: list[str] = []
    anchored: list[str] = []
    for phrase in phrases:
        (anchored if phrase.startswith(("^", "(?<!")) else plain).append(_phrase(phrase, words))
    return _compiled("|".join([rf"\b({'|'.join(plain)})"] * bool(plain) + anchored))


def _phrase(phrase: str, words: Mapping[str, str]) -> str:
    phrase = _MACRO.sub(lambda found: words[found[1]], phrase)
    phrase = _GAP.sub(lambda found: rf"( \\S+){{0,{found[1]}}}? ", phrase)
    return phrase if phrase.endswith((r"\w)", r"\b)")) else rf"({phrase})\b"


def _joined(pattern: str) -> re.Pattern[str]:
    """A pattern folded over several lines."""
    return _compiled("".join(pattern.splitlines()))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_GROUP.sub("(?:", pattern))
