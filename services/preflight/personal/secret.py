"""Keys, tokens and passwords: by the prefixes their issuers give them, or by the name before them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.preflight.personal.item import Item

_KEYS = (
    r"sk-(?:proj-|ant-|or-|svcacct-)?[\w-]{20,200}",
    r"(?:sk|rk|pk|whsec)_(?:live|test)_[0-9A-Za-z]{10,200}",
    r"gh[pousr]_[0-9A-Za-z]{30,255}|github_pat_\w{22,255}",
    r"glpat-[\w-]{20,64}",
    r"xox[abeoprs]-[0-9A-Za-z-]{10,255}",
    r"(?:AKIA|ASIA)[0-9A-Z]{16}",
    r"AIza[\w-]{35}",
    r"ya29\.[\w-]{20,255}",
    r"npm_[0-9A-Za-z]{36}|pypi-[\w-]{50,255}|hf_[0-9A-Za-z]{30,64}",
    r"SG\.[\w-]{16,64}\.[\w-]{16,64}",
    r"eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,2000}",
    r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]{0,8000}?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)",
)
_KEY = re.compile(rf"(?<![\w-])(?:{'|'.join(_KEYS)})(?![\w])")
_NAMED = re.compile(
    r"\b(?P<name>pass(?:word|wd|phrase)|pwd|secret|token|api[ _-]?key|access[ _-]?key|bearer(?=\s))\b"
    r"(?:\s*[:=]\s*|\s+is:?\s+|(?<=bearer)\s+)[\"'`]?(?P<value>[^\s\"'`,;]{8,200})",
    re.I,
)
SHORTEST = 8
_PASSWORDS = ("pass", "pwd")


def find(text: str) -> Iterator[Item]:
    """Keys by their prefix, and values given to a name such as password."""
    for match in _KEY.finditer(text):
        yield Item("api_key", match.start(), match.end())
    for match in _NAMED.finditer(text):
        value = match["value"].rstrip(".?!)")
        if _looks_secret(value):
            kind = "password" if match["name"].lower().startswith(_PASSWORDS) else "api_key"
            yield Item(kind, match.start("value"), match.start("value") + len(value))


def _looks_secret(value: str) -> bool:
    """Letters and digits mixed, as words, versions and identifiers after such a name are not."""
    letters, digits = sum(map(str.isalpha, value)), sum(map(str.isdigit, value))
    identifier = re.fullmatch(r"[A-Za-z]+[_-]?\d{0,2}|[A-Za-z]+(?:[_./-][A-Za-z]+)+\d?|v?\d+(?:\.\d+)+", value)
    return letters >= 2 and digits >= 1 and len(value) >= SHORTEST and not identifier and "[" not in value
