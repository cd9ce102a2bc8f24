"""Common English words, which are right whatever the documents hold."""

from __future__ import annotations

from pathlib import Path

from services.preflight.question import FUNCTION_WORDS

WORDS = frozenset(Path(__file__).with_name("english.txt").read_text(encoding="utf-8").split()) | FUNCTION_WORDS
