"""The index Meilisearch keeps for the lane: created on first use, its settings applied only where they differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from meilisearch import Client
from meilisearch.errors import MeilisearchApiError

from services.keyword.meili_documents import PRIMARY_KEY, SEARCHED
from services.keyword.meili_server import MeiliServer
from services.keyword.query import STOP_WORDS
from services.keyword.typo import ONE_EDIT_FROM, TWO_EDITS_FROM
from services.runtime.errors import LanemeshError, StartupError

FILTERED = (
    PRIMARY_KEY,
    "access_labels",
    "language",
    "project",
    "published_at",
    "published_nanos",
    "source",
    "tags",
)
# Projects that are counted one by one.
MOST_PROJECTS = 10_000
_IN_ORDER = ("searchableAttributes", "rankingRules")


def settings_of(cutoff_ms: int) -> dict[str, Any]:
    """What the lane needs of the index."""
    return {
        "searchableAttributes": list(SEARCHED),
        "filterableAttributes": list(FILTERED),
        "rankingRules": ["words", "typo", "proximity", "attribute", "exactness"],
        "stopWords": sorted(STOP_WORDS),
        "typoTolerance": {
            "enabled": True,
            "minWordSizeForTypos": {"oneTypo": ONE_EDIT_FROM, "twoTypos": TWO_EDITS_FROM},
            "disableOnNumbers": True,
        },
        # The last word of a question is a whole word, not what somebody has typed so far.
        "prefixSearch": "disabled",
        "faceting": {"maxValuesPerFacet": MOST_PROJECTS},
        "searchCutoffMs": cutoff_ms,
    }


async def prepare(server: MeiliServer, index: str, wanted: Mapping[str, Any]) -> None:
    """Makes the index fit for the lane; StartupError when it was made for something else."""
    found = await server.run(lambda client: _look_up(client, index))
    if found is None:
        found = await _create(server, index)
    if found["primaryKey"] not in (None, PRIMARY_KEY):
        raise StartupError(
            f"the Meilisearch index {index} has the primary key {found['primaryKey']!r}, the lane needs {PRIMARY_KEY!r}"
        )
    present = await server.run(lambda client: client.index(index).get_settings())
    if different := {name: value for name, value in wanted.items() if not _holds(name, value, present.get(name))}:
        await server.finish(lambda client: client.index(index).update_settings(different))


def _look_up(client: Client, index: str) -> dict[str, Any] | None:
    try:
        return client.get_raw_index(index)
    except MeilisearchApiError as error:
        if error.code == "index_not_found":
            return None
        raise


async def _create(server: MeiliServer, index: str) -> dict[str, Any]:
    try:
        await server.finish(lambda client: client.create_index(index, {"primaryKey": PRIMARY_KEY}))
    except LanemeshError as error:
        # Another process of this lane was quicker.
        if error.reason != "INDEX_ALREADY_EXISTS":
            raise
    return await server.run(lambda client: client.get_raw_index(index))


def _holds(name: str, wanted: Any, present: Any) -> bool:
    """Whether a setting is as wanted; the server may know more of it, and returns sets in an order of its own."""
    if isinstance(wanted, dict) and isinstance(present, dict):
        return all(_holds(key, value, present.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(present, list) and name not in _IN_ORDER:
        return sorted(map(json.dumps, wanted)) == sorted(map(json.dumps, present))
    return bool(wanted == present)
