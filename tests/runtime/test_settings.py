"""Settings are typed, bounded, and refuse by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from services.runtime.errors import StartupError
from services.runtime.settings import load, setting


@dataclass(frozen=True)
class Example:
    key: str = setting("EXAMPLE_KEY")
    name: str = setting("EXAMPLE_NAME", "unnamed")
    count: int = setting("EXAMPLE_COUNT", 3, low=1, high=10)
    share: float = setting("EXAMPLE_SHARE", 0.5, low=0.0, high=1.0)
    ratio: float = setting("EXAMPLE_RATIO", 1.0)
    floor: float = setting("EXAMPLE_FLOOR", 1.0, low=1.0)
    ceiling: int = setting("EXAMPLE_CEILING", 1, high=9)
    active: bool = setting("EXAMPLE_ACTIVE", False)
    folder: Path = setting("EXAMPLE_FOLDER", Path("/srv"))
    config: Path | None = setting("EXAMPLE_CONFIG", None)
    limit: int | None = setting("EXAMPLE_LIMIT", None, low=1, high=5)
    level: Literal["low", "high"] = setting("EXAMPLE_LEVEL", "low")
    lanes: tuple[str, ...] = setting("EXAMPLE_LANES", ())


def example(**environment: str) -> Example:
    return load(Example, {"EXAMPLE_KEY": "k"} | {f"EXAMPLE_{name}": value for name, value in environment.items()})


def problem(**environment: str) -> str:
    with pytest.raises(StartupError) as caught:
        example(**environment)
    return caught.value.message


def test_what_is_not_set_or_blank_has_its_default() -> None:
    assert example() == example(NAME="", COUNT="  ", CONFIG="", LANES="") == Example(key="k")


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("KEY", " secret ", "secret"),
        ("NAME", "a name", "a name"),
        ("COUNT", "10", 10),
        ("SHARE", "0", 0.0),
        ("SHARE", "1e-3", 0.001),
        ("RATIO", "-7.5", -7.5),
        ("FOLDER", "/data", Path("/data")),
        ("FOLDER", "~/data", Path.home() / "data"),
        ("CONFIG", "/etc/table.yaml", Path("/etc/table.yaml")),
        ("LIMIT", "5", 5),
        ("LEVEL", "high", "high"),
        ("LANES", "keyword, local,,", ("keyword", "local")),
    ],
)
def test_each_type_is_read(name: str, raw: str, value: object) -> None:
    read = getattr(example(**{name: raw}), name.lower())
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("raw", ["1", "true", "YES", "on"])
def test_a_flag_is_turned_on(raw: str) -> None:
    assert example(ACTIVE=raw).active is True


@pytest.mark.parametrize("raw", ["0", "false", "No", "off"])
def test_a_flag_is_turned_off(raw: str) -> None:
    assert example(ACTIVE=raw).active is False


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("COUNT", "0", "expected 1 to 10"),
        ("COUNT", "11", "expected 1 to 10"),
        ("COUNT", "2.5", "expected a whole number"),
        ("SHARE", "nan", "expected 0.0 to 1.0"),
        ("SHARE", "inf", "expected 0.0 to 1.0"),
        ("SHARE", "half", "expected a number"),
        ("RATIO", "nan", "expected a number"),
        ("FLOOR", "0.5", "expected at least 1.0"),
        ("CEILING", "10", "expected at most 9"),
        ("ACTIVE", "maybe", "expected true or false"),
        ("LIMIT", "6", "expected 1 to 5"),
        ("LEVEL", "medium", "expected one of low, high"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(name: str, raw: str, expected: str) -> None:
    assert problem(**{name: raw}) == f"EXAMPLE_{name}={raw!r}: {expected}"


@pytest.mark.parametrize("environment", [{}, {"EXAMPLE_KEY": ""}, {"EXAMPLE_KEY": "  "}])
def test_a_required_variable_must_be_there(environment: dict[str, str]) -> None:
    with pytest.raises(StartupError, match=r"^EXAMPLE_KEY is required$"):
        load(Example, environment)


def test_every_problem_is_told_at_once_on_one_line() -> None:
    with pytest.raises(StartupError) as caught:
        load(Example, {"EXAMPLE_COUNT": "many\nlines", "EXAMPLE_ACTIVE": "maybe"})
    message = caught.value.message
    assert [part.split("=")[0].split()[0] for part in message.split("; ")] == [
        "EXAMPLE_KEY",
        "EXAMPLE_COUNT",
        "EXAMPLE_ACTIVE",
    ]
    assert "\n" not in message


def test_variables_of_others_are_ignored() -> None:
    assert load(Example, {"EXAMPLE_KEY": "k", "EXAMPLE_UNHEARD_OF": "x"}) == Example(key="k")
