"""The answer written by a model: asked within the deadline, its text a draft that evidence has yet to bear out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fusion_service.passages import Source
from fusion_service.prompt import NOTHING, messages
from services.runtime import deadline, spans, telemetry
from services.runtime.deadline import Deadline
from services.runtime.errors import DeadlinePassed, LanemeshError
from services.text.sentences import split

if TYPE_CHECKING:
    # The client's library is large; only a process with a model loads it.
    from services.model.chat import ChatModel

# Kept back from the model's time: what citing its text, or answering without it, takes in this process.
FINISH_SECONDS = 0.1
# With less than this a model is not worth asking.
LEAST_SECONDS = 0.05
CUT, EMPTY, UNSUPPORTED = "MODEL_CUT_SHORT", "MODEL_FOUND_NOTHING", "MODEL_UNSUPPORTED"
# Marks of citation that models write unasked: [1], [2, 3], [^1], 【1†source】, [local:file.md#L1], (Source 2).
_MARKS = re.compile(
    r"\s*(?:\[\^?\d+(?:\s*[,;–-]\s*\d+)*\]|【[^】\n]{0,80}】|\[(?:local|graph|vector|web|source)s?[:\s][^\]\n]{0,200}\]"
    r"|\((?:source|sources)\s+\d+(?:\s*(?:,|and)\s*\d+)*\))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a model wrote, without its own marks; `reason` when that is not all, or nothing."""

    text: str = ""
    author: str = ""
    reason: str = ""


NO_DRAFT = Draft()


class Composer:
    """A model that writes answers. `context_tokens` bounds what it is given to read."""

    def __init__(self, model: ChatModel, context_tokens: int) -> None:
        self._model = model
        self._context_tokens = context_tokens

    async def draft(self, query: str, sources: Sequence[Source], max_tokens: int, most_seconds: float) -> Draft:
        """The model's text; without any, why not. Its failure is a value: the answer is then made without it."""
        try:
            with (
                deadline.ambient(_until(most_seconds)),
                telemetry.span(spans.provider_name(self._model.name), "client"),
            ):
                asked = messages(query, sources, self._context_tokens)
                completion = await self._model.complete(asked, max_tokens=max_tokens)
        except LanemeshError as error:
            return Draft(author=self._model.name, reason=error.reason)
        text = _MARKS.sub("", completion.text).strip()
        if completion.cut:
            text = _whole_sentences(text)
        if not text or text.strip(". ").upper() == NOTHING:
            return Draft(author=self._model.name, reason=EMPTY)
        return Draft(text, self._model.name, CUT if completion.cut else "")

    async def close(self) -> None:
        """Closes the model's connections."""
        await self._model.close()


def _until(most_seconds: float) -> Deadline:
    """The instant by which the model must have answered."""
    ambient = deadline.current()
    left = float("inf") if ambient is None else ambient.soft().remaining() - FINISH_SECONDS
    left = min(left, most_seconds)
    if left < LEAST_SECONDS:
        raise DeadlinePassed("too little time is left to ask a model")
    return Deadline.after(left)


def _whole_sentences(text: str) -> str:
    """The text without its last sentence, which was cut."""
    pieces = split(text)
    return text[: pieces[-2][1]] if len(pieces) > 1 else ""
