"""Dates as providers write them, read as UTC. What cannot be read is unknown, never guessed."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Before and after these no page was published; such a date is a mistake of its source.
_EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def iso(text: object) -> datetime | None:
    """ISO 8601, with or without time, zone, dashes; a time without a zone is UTC."""
    if not isinstance(text, str):
        return None
    try:
        return _utc(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        return None


def mail(text: object) -> datetime | None:
    """RFC 5322, as in HTTP headers and RSS."""
    if not isinstance(text, str):
        return None
    try:
        return _utc(parsedate_to_datetime(text.strip()))
    except (ValueError, IndexError, OverflowError):
        return None


def epoch(seconds: object) -> datetime | None:
    """Seconds since 1970."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return _utc(datetime.fromtimestamp(seconds, UTC))
    except (OverflowError, ValueError, OSError):
        return None


def _utc(moment: datetime) -> datetime | None:
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment if _EARLIEST <= moment < _LATEST else None
