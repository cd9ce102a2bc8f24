"""The table of providers says what their profiles say."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.providers.provider import Provider
from services.web.lane import STEPS

TABLE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text()


@pytest.mark.parametrize(
    "provider", [provider for step in STEPS for provider in step], ids=lambda each: each.profile.name
)
def test_every_provider_has_its_row(provider: Provider) -> None:
    profile = provider.profile
    tier = ("keyed" if profile.key_variable else "keyless") + (", paid" if profile.paid else "")
    key = f"`{profile.key_variable}`" if profile.key_variable else "–"
    assert f"| web | `{profile.name}` | {tier} | {key} | `{profile.bases[0].variable}` |" in TABLE
