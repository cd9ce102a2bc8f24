"""E-mail addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.preflight.personal.item import Item

# Every repetition is bounded, and a match starts only where a word does, so that no text costs more than its length.
_ADDRESS = re.compile(r"(?<![\w.+@-])[\w][\w.+'-]{0,63}@(?:[\w](?:[\w-]{0,62})\.){1,8}[^\W\d_]{2,24}(?![\w@-])")


def find(text: str) -> Iterator[Item]:
    """Addresses of people; git@host:path is the address of a repository."""
    if "@" not in text:
        return
    for match in _ADDRESS.finditer(text):
        repository = match[0].lower().startswith("git@") and text[match.end() : match.end() + 1] in (":", "/")
        if not repository:
            yield Item("email", match.start(), match.end())
