"""Numbers that a query hardly notices, in the form that Prometheus reads."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from services.runtime.metrics import MOST_CHILDREN, Counters, Histograms, Levels


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def test_a_counter_is_kept_by_labels(registry: CollectorRegistry) -> None:
    calls = Counters("calls", "Calls.", ["lane", "status"], registry)
    calls.of("kg", "ok").inc()
    calls.of("kg", "ok").inc(2)
    calls.of("web", "error").inc()
    assert registry.get_sample_value("calls_total", {"lane": "kg", "status": "ok"}) == 3
    assert registry.get_sample_value("calls_total", {"lane": "web", "status": "error"}) == 1
    with pytest.raises(ValueError, match="calls"):
        calls.of("kg")


def test_without_labels_there_is_a_figure_from_the_start(registry: CollectorRegistry) -> None:
    Counters("calls", "Calls.", (), registry)
    assert registry.get_sample_value("calls_total") == 0


def test_a_level_is_set_or_asked(registry: CollectorRegistry) -> None:
    levels = Levels("level", "Level.", ["of"], registry)
    levels.of("set").set(2.5)
    levels.of("asked").follow(lambda: 7)
    assert registry.get_sample_value("level", {"of": "set"}) == 2.5
    assert registry.get_sample_value("level", {"of": "asked"}) == 7


def test_a_histogram_counts_up_to_each_bound_itself_included(registry: CollectorRegistry) -> None:
    spread = Histograms("seconds", "Seconds.", (0.1, 1.0), ["lane"], registry).of("kg")
    for value in (0.05, 0.1, 0.5, 2.0):
        spread.observe(value)
    counts = {
        bound: registry.get_sample_value("seconds_bucket", {"lane": "kg", "le": bound})
        for bound in ("0.1", "1.0", "+Inf")
    }
    assert counts == {"0.1": 2, "1.0": 3, "+Inf": 4}
    assert registry.get_sample_value("seconds_count", {"lane": "kg"}) == 4
    assert registry.get_sample_value("seconds_sum", {"lane": "kg"}) == pytest.approx(2.65)


def test_openmetrics_carries_exemplars_and_the_older_form_is_still_read(registry: CollectorRegistry) -> None:
    spread = Histograms("seconds", "Seconds.", (0.1, 1.0), registry=registry).of()
    spread.observe(0.5, "ab" * 16)
    spread.observe(0.7)
    (family,) = text_string_to_metric_families(openmetrics(registry).decode())
    exemplars = {sample.labels.get("le"): sample.exemplar for sample in family.samples if sample.exemplar}
    assert {bound: (each.labels, each.value) for bound, each in exemplars.items()} == {
        "1.0": ({"trace_id": "ab" * 16}, 0.5)
    }
    assert "trace_id" not in generate_latest(registry).decode()


def test_memory_stays_bounded_whatever_labels_come(registry: CollectorRegistry) -> None:
    calls = Counters("calls", "Calls.", ["who"], registry)
    for number in range(2 * MOST_CHILDREN):
        calls.of(str(number)).inc()
    (family,) = registry.collect()
    assert len(family.samples) == MOST_CHILDREN + 1
    assert registry.get_sample_value("calls_total", {"who": "other"}) == MOST_CHILDREN


def test_a_name_is_taken_once(registry: CollectorRegistry) -> None:
    Counters("calls", "Calls.", (), registry)
    with pytest.raises(ValueError, match="Duplicated"):
        Counters("calls", "Calls.", (), registry)
