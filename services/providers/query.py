"""The words of a question within what an API takes."""

from __future__ import annotations


def shortened(query: str, characters: int, words: int | None = None) -> str:
    """The query on one line, with as many whole words from its start as fit; a first word that is too long is cut."""
    kept = query.split()[:words]
    while len(kept) > 1 and len(" ".join(kept)) > characters:
        kept.pop()
    return " ".join(kept)[:characters]


def primary_language(tag: str) -> str:
    """The language of a BCP 47 tag without script and region, in lower case."""
    return tag.partition("-")[0].partition("_")[0].lower()


def region(tag: str) -> str:
    """The two-letter country of a BCP 47 tag in upper case; empty when it names none."""
    return next((part.upper() for part in tag.split("-")[1:] if len(part) == 2 and part.isalpha()), "")
