"""Which model is asked, where, with which key, and within which limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from services.runtime.errors import StartupError
from services.runtime.settings import load, setting

# What can stand in a header; anything else would fail at the first call instead of at the start.
_HEADER_SAFE = re.compile(r"[!-~]*")


# Without a repr, so that the key cannot reach a log by way of the object.
@dataclass(frozen=True, slots=True, repr=False)
class ModelSettings:
    """An OpenAI-compatible endpoint; without a URL there is no model."""

    url: str = setting("LANEMESH_MODEL_URL", "")
    name: str = setting("LANEMESH_MODEL_NAME", "")
    key: str = setting("LANEMESH_MODEL_KEY", "")
    timeout_ms: int = setting("LANEMESH_MODEL_TIMEOUT_MS", 10_000, low=1, high=600_000)
    max_reply_bytes: int = setting("LANEMESH_MODEL_MAX_REPLY_BYTES", 262_144, low=1_024, high=16_777_216)
    connections: int = setting("LANEMESH_MODEL_CONNECTIONS", 8, low=1, high=256)
    failures: int = setting("LANEMESH_MODEL_FAILURES", 3, low=1, high=1_000)
    rest_ms: int = setting("LANEMESH_MODEL_REST_MS", 5_000, low=0, high=3_600_000)


@dataclass(frozen=True, slots=True)
class SynthesisSettings:
    """Whether a model that is configured writes answers, and how long it may take for one."""

    model: Literal["auto", "off"] = setting("LANEMESH_SYNTHESIS_MODEL", "auto")
    most_ms: int = setting("LANEMESH_SYNTHESIS_MS", 2_000, low=1, high=600_000)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The model that writes answers, and its time for one beside what fusion takes itself."""

    model: ModelSettings
    most_ms: int


def load_synthesis(environment: Mapping[str, str]) -> Synthesis | None:
    """Gateway and fusion read the same: one grants the time that the other spends. None: answers are extracted."""
    settings, model = load(SynthesisSettings, environment), load_model(environment)
    return None if model is None or settings.model == "off" else Synthesis(model, settings.most_ms)


def load_model(environment: Mapping[str, str]) -> ModelSettings | None:
    """The settings of the model; None when none is configured, StartupError when half of one is."""
    settings = load(ModelSettings, environment)
    if not settings.url:
        return None
    if not settings.name:
        raise StartupError("LANEMESH_MODEL_NAME is required when LANEMESH_MODEL_URL is set")
    if not _HEADER_SAFE.fullmatch(settings.key):
        raise StartupError("LANEMESH_MODEL_KEY holds a character that no header can carry")
    _check_url(settings.url)
    return settings


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
        sound = sound and (parts.port is None or parts.port > 0) and not parts.query and not parts.fragment
    except ValueError:
        sound = False
    if not sound:
        # The value is not repeated: somebody may have put a password into it.
        raise StartupError("LANEMESH_MODEL_URL: expected http(s)://host[:port]/path without user, query or fragment")
