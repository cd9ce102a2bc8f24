"""The answer as one text: sentences, their markers, a blank line between groups."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from lanemesh.v1.fusion_pb2 import Citation, MarkerStyle, Sentence

# After these a sentence needs no full stop.
_CLOSED = ".!?…:;。！？\"”'’"


def answer_text(sentences: Iterable[Sentence], style: MarkerStyle.ValueType) -> str:
    """All sentences with their markers."""
    groups = groupby(sentences, key=lambda sentence: sentence.group)
    return "\n\n".join(" ".join(_marked(sentence, style) for sentence in group) for _, group in groups)


def markers(citations: Iterable[Citation], style: MarkerStyle.ValueType) -> str:
    """The markers of one sentence: [1][2], [local:file.md#L1-L9], or nothing."""
    if style == MarkerStyle.MARKER_STYLE_NONE:
        return ""
    if style == MarkerStyle.MARKER_STYLE_LANE:
        return "".join(dict.fromkeys(f"[{citation.label}]" for citation in citations))
    return "".join(f"[{citation.marker}]" for citation in citations)


def _marked(sentence: Sentence, style: MarkerStyle.ValueType) -> str:
    text = sentence.text if sentence.text.endswith(tuple(_CLOSED)) else f"{sentence.text}."
    written = markers(sentence.citations, style)
    return f"{text} {written}" if written else text
