"""Whether a simulated page is about a question: a demonstration must not answer everything with the same page."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w{3,}")
_COMMON = {"and", "are", "can", "did", "does", "for", "from", "how", "the", "this", "was", "what", "when", "who", "why"}


def about(query: str, *texts: object) -> bool:
    """Whether the texts and the query share a word; a plural is the same word."""
    wanted = _words(query)
    return any(wanted & _words(str(text)) for text in texts)


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(text.lower())} - _COMMON
