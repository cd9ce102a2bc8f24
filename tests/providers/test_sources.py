"""Which providers a lane asks, in which order, and when it refuses to start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.providers.provider import Base, Profile, Question
from services.providers.settings import ProviderSettings
from services.providers.sources import Source, Step, in_order, read_sources, within
from services.runtime.errors import StartupError
from services.runtime.settings import load


class Named:
    """A provider by name; capitals need a key."""

    def __init__(self, name: str, sites: tuple[str, ...] = ()) -> None:
        key = f"{name}_KEY" if name.isupper() else ""
        self.profile = Profile(name, (Base(f"{name}_URL", "https://x.example"),), key_variable=key, sites=sites)

    async def search(self, question: Question, http: object) -> Sequence[object]:
        raise NotImplementedError


STEPS = ((Named("A"),), (Named("B"),), (Named("c"), Named("d", ("d.org",))))


def read(environment: dict[str, str], keyless: bool = True) -> list[Step]:
    settings = load(ProviderSettings, {"KEYLESS_FALLBACKS_ENABLED": str(keyless)})
    return read_sources("web", STEPS, settings, environment)  # type: ignore[arg-type]


def names(steps: Sequence[Step]) -> list[str]:
    return ["".join(source.name for source in step) for step in steps]


def test_keyed_providers_need_their_key() -> None:
    assert names(read({})) == ["cd"]
    assert names(read({"B_KEY": "k"})) == ["B", "cd"]
    assert names(read({"A_KEY": "k", "B_KEY": "k"}, keyless=False)) == ["A", "B"]


def test_without_any_provider_the_lane_does_not_start() -> None:
    with pytest.raises(StartupError, match=r"the web lane has no provider: .*KEYLESS_FALLBACKS_ENABLED.*A_KEY, B_KEY"):
        read({}, keyless=False)


@pytest.mark.parametrize("key", ["hunter2 \nX-Evil: 1", "hünter2", "hun ter2"])
def test_a_key_that_no_header_can_carry_is_named_and_not_shown(key: str) -> None:
    with pytest.raises(StartupError, match="A_KEY") as caught:
        read({"A_KEY": key})
    assert "ter2" not in str(caught.value)


def test_addresses_come_from_the_environment_or_the_simulator() -> None:
    (step, _) = read({"A_KEY": "k", "A_URL": "https://proxy.example"})
    assert list(step[0].access.urls.values()) == ["https://proxy.example"]
    settings = load(ProviderSettings, {"LANEMESH_SIMULATED_PROVIDERS": "http://127.0.0.1:9/"})
    simulated = read_sources("web", STEPS, settings, {"A_KEY": "real"})  # type: ignore[arg-type]
    assert names(simulated) == ["A", "B", "cd"]
    assert simulated[0][0].access.key == "simulated"
    assert list(simulated[0][0].access.urls.values()) == ["http://127.0.0.1:9/A"]


def test_a_key_is_never_shown() -> None:
    (step, _) = read({"A_KEY": "hunter2"})
    assert "hunter2" not in repr(step)


def test_the_demoted_come_behind_their_tier() -> None:
    steps = read({"A_KEY": "k", "B_KEY": "k"})
    sources = {source.name: source for step in steps for source in step}
    sources["A"].health.failed()
    sources["c"].health.failed()
    assert names(in_order(steps, Question("q", 1))) == ["B", "A", "d", "c"]


def test_those_who_cannot_serve_the_sites_are_not_asked() -> None:
    assert names(in_order(read({}), Question("q", 1, sites=("x.org",)))) == ["c"]
    assert names(in_order(read({}), Question("q", 1, sites=("x.org", "d.org")))) == ["cd"]


def test_sites() -> None:
    assert within("en.d.org", ("d.org",))
    assert within("d.org", ("d.org",))
    assert not within("bad.org", ("d.org",))
    assert not within("", ("d.org",))


def test_wrong_networks_are_named() -> None:
    with pytest.raises(StartupError, match="LANEMESH_PROVIDER_ALLOWED_ADDRESSES"):
        load(ProviderSettings, {"LANEMESH_PROVIDER_ALLOWED_ADDRESSES": "home"}).allowed_networks()


def test_source_is_described_by_its_provider() -> None:
    (step,) = read({})
    assert isinstance(step[0], Source)
    assert step[0].name == "c"
