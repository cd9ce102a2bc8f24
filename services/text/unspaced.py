"""Scripts that leave no space between words, or join particles to them: Chinese, Japanese, Korean, Thai and kin."""

from __future__ import annotations

import re

# One character of such a script, for use in a regular expression.
UNSPACED = (
    "[\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u31ff\\u3400-\\u9fff"
    "\\uac00-\\ud7af\\uf900-\\ufaff\\U00020000-\\U0003ffff]"
)
_RUN = re.compile(f"{UNSPACED}+")


def runs_of(text: str) -> list[str]:
    """The stretches of the text in such a script, without marks that are no letters."""
    kept = ("".join(filter(str.isalnum, run)) for run in _RUN.findall(text))
    return [run for run in kept if run]


def pairs_of(word: str) -> list[str]:
    """The word without its unspaced stretches, and these as overlapping pairs of characters."""
    rest = _RUN.sub(" ", word).split()
    return rest + [run[place : place + 2] for run in runs_of(word) for place in range(max(1, len(run) - 1))]


def is_unspaced(word: str) -> bool:
    """Whether the word begins in such a script."""
    return _RUN.match(word) is not None
