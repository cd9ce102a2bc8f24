"""A model's draft taken over sentence by sentence: each cited from the evidence, or marked as unsupported."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.fusion_pb2 import FuseResponse

from fusion_service.bibliography import Bibliography, readable
from fusion_service.cite import Support, write
from fusion_service.passages import Source, index, statement
from services.text.sentences import CODE, HEADING, split

# A model that writes more was not asked for it; what is beyond is left out.
MOST_SENTENCES = 40


def adopt(
    text: str, sources: Sequence[Source], *, only_supported: bool, bibliography: Bibliography, response: FuseResponse
) -> bool:
    """Fills in the sentences; False, and nothing is filled in, when the evidence supports none of them."""
    support = Support(index(sources))
    written = [text[start:end] for start, end, kind in split(text) if kind not in (HEADING, CODE)]
    supported = [(each, support.of(statement(each))) for each in written[:MOST_SENTENCES]]
    if not any(matches for _, matches in supported):
        return False
    for each, matches in supported:
        if matches or not only_supported:
            write(matches, bibliography, response.sentences.add(text=readable(each)))
    return True
