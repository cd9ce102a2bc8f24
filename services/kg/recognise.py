"""Names in a question as a spaCy model sees them, when one is asked for. The graph decides what they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

from services.runtime.errors import StartupError

Recogniser = Callable[[str], Sequence[str]]


def nobody(_query: str) -> Sequence[str]:
    """Recognises nothing: the graph's own names are enough."""
    return ()


def recogniser_of(model: str) -> Recogniser:
    """The recogniser of that model; StartupError when it, or spaCy, is not installed."""
    if not model:
        return nobody
    try:
        pipeline = importlib.import_module("spacy").load(model)
    except (ImportError, OSError) as error:
        raise StartupError(f"LANEMESH_KG_SPACY_MODEL={model!r}: {type(error).__name__}, is it installed?") from error
    return lambda query: [entity.text for entity in pipeline(query).ents]
