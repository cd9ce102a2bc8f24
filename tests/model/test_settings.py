"""A model is configured whole or not at all, and a refusal never repeats a secret."""

from __future__ import annotations

import pytest

from services.model.settings import load_model
from services.runtime.errors import StartupError

URL, NAME, KEY = "LANEMESH_MODEL_URL", "LANEMESH_MODEL_NAME", "LANEMESH_MODEL_KEY"


def test_no_url_means_no_model() -> None:
    assert load_model({}) is None
    assert load_model({NAME: "tiny", KEY: "k"}) is None


def test_the_key_is_not_shown() -> None:
    settings = load_model({URL: "https://example.org/v1", NAME: "tiny", KEY: "hush-hush"})
    assert settings is not None
    assert settings.key == "hush-hush"
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({URL: "https://example.org/v1"}, NAME),
        ({URL: "https://example.org/v1", NAME: "tiny", KEY: "hush\nhush"}, KEY),
        ({URL: "ftp://example.org", NAME: "tiny"}, URL),
        ({URL: "https://", NAME: "tiny"}, URL),
        ({URL: "https://me:hush@example.org", NAME: "tiny"}, URL),
        ({URL: "https://example.org:port", NAME: "tiny"}, URL),
        ({URL: "https://example.org/v1?key=hush", NAME: "tiny"}, URL),
    ],
)
def test_half_a_model_refuses_to_start(environment: dict[str, str], named: str) -> None:
    with pytest.raises(StartupError, match=named) as raised:
        load_model(environment)
    assert "hush" not in raised.value.message
