"""The contract's modes and the table's are the same."""

from __future__ import annotations

import pytest
from lanemesh.v1.lane_pb2 import MODE_UNSPECIFIED, Mode

from services.runtime import modes
from services.runtime.errors import InvalidRequest
from tests.support import TABLE


def test_every_mode_of_the_contract_has_its_row() -> None:
    named = {mode: modes.name_of(mode) for mode in Mode.values() if mode != MODE_UNSPECIFIED}
    assert [f"MODE_{name.upper()}" for name in named.values()] == [Mode.Name(mode) for mode in named]
    assert set(named.values()) == set(TABLE.modes)


def test_unspecified_means_simple() -> None:
    assert modes.name_of(MODE_UNSPECIFIED) == "simple"


@pytest.mark.parametrize("value", [-1, 5, 99])
def test_an_unknown_mode_is_refused_with_what_is_known(value: int) -> None:
    with pytest.raises(
        InvalidRequest, match=f"{value}; expected one of simple, technical, research, multimedia"
    ) as caught:
        modes.name_of(value)
    assert caught.value.field == "mode"
