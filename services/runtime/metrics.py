"""Counters, levels and histograms that a query hardly notices: plain numbers, put into form when somebody scrapes.

The client library's own take a lock and walk their buckets at every observation. These are written by one thread each,
the loop's, so they need neither.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeAlias, TypeVar

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

# Label values come from the lane table and the contract, so they are few; should that ever fail, memory stays bounded.
MOST_CHILDREN = 1_000
OTHER = "other"

Child = TypeVar("Child")
Labels = tuple[str, ...]
Bucket: TypeAlias = tuple[str, float] | tuple[str, float, Exemplar]


class Tally:
    """A number that only grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1.0) -> None:
        """Adds to it."""
        self.value += amount


class Level:
    """A number that goes up and down, or is asked for when somebody scrapes."""

    __slots__ = ("_ask", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self._ask: Callable[[], float] | None = None

    def set(self, value: float) -> None:
        """Makes it that."""
        self.value = value

    def follow(self, ask: Callable[[], float]) -> None:
        """Asks from now on."""
        self._ask = ask

    def read(self) -> float:
        """What it is now."""
        return self.value if self._ask is None else self._ask()


class Spread:
    """A histogram; the last traced observation of each bucket stays as its exemplar."""

    __slots__ = ("_bounds", "counts", "exemplars", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0
        self.exemplars: dict[int, Exemplar] = {}

    def observe(self, value: float, trace_id: str = "") -> None:
        """Takes in one value; `trace_id` is that of a trace somebody can look at."""
        place = bisect_left(self._bounds, value)
        self.counts[place] += 1
        self.total += value
        if trace_id:
            self.exemplars[place] = Exemplar({"trace_id": trace_id}, value, time.time())

    def buckets(self) -> list[Bucket]:
        """Upper bound, observations up to it, exemplar where there is one."""
        names = [*map(floatToGoString, self._bounds), "+Inf"]
        sums = accumulate(self.counts)
        return [
            (name, count, self.exemplars[place]) if place in self.exemplars else (name, count)
            for place, (name, count) in enumerate(zip(names, sums, strict=True))
        ]


class Family(Collector, Generic[Child]):
    """What is measured under one name, by labels. Whoever observes often keeps the child."""

    def __init__(
        self, name: str, meaning: str, labels: Sequence[str], make: Callable[[], Child], registry: CollectorRegistry
    ) -> None:
        self.name = name
        self._meaning = meaning
        self._labels = tuple(labels)
        self._make = make
        self._children: dict[Labels, Child] = {}
        if not labels:
            self.of()
        registry.register(self)

    def of(self, *values: str) -> Child:
        """The child of these label values."""
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self._labels):
                raise ValueError(f"{self.name} has the labels {self._labels}")
            if len(self._children) >= MOST_CHILDREN:
                values = (OTHER,) * len(values)
            child = self._children.setdefault(values, self._make())
        return child

    def describe(self) -> Iterable[Metric]:
        """Its name, so that no other takes it."""
        return [self._form()]

    def collect(self) -> Iterable[Metric]:
        """Its numbers now."""
        form = self._form()
        for values, child in list(self._children.items()):
            self._add(form, values, child)
        return [form]

    def _form(self) -> Metric:
        raise NotImplementedError

    def _add(self, form: Metric, values: Labels, child: Child) -> None:
        raise NotImplementedError


class Counters(Family[Tally]):
    """Numbers that only grow."""

    def __init__(
        self, name: str, meaning: str, labels: Sequence[str] = (), registry: CollectorRegistry = REGISTRY
    ) -> None:
        super().__init__(name, meaning, labels, Tally, registry)

    def _form(self) -> CounterMetricFamily:
        return CounterMetricFamily(self.name, self._meaning, labels=self._labels)

    def _add(self, form: Metric, values: Labels, child: Tally) -> None:
        assert isinstance(form, CounterMetricFamily)  # noqa: S101
        form.add_metric(values, child.value)


class Levels(Family[Level]):
    """Numbers that go up and down."""

    def __init__(
        self, name: str, meaning: str, labels: Sequence[str] = (), registry: CollectorRegistry = REGISTRY
    ) -> None:
        super().__init__(name, meaning, labels, Level, registry)

    def _form(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(self.name, self._meaning, labels=self._labels)

    def _add(self, form: Metric, values: Labels, child: Level) -> None:
        assert isinstance(form, GaugeMetricFamily)  # noqa: S101
        form.add_metric(values, child.read())


class Histograms(Family[Spread]):
    """Distributions over fixed bounds."""

    def __init__(
        self,
        name: str,
        meaning: str,
        bounds: Sequence[float],
        labels: Sequence[str] = (),
        registry: CollectorRegistry = REGISTRY,
    ) -> None:
        super().__init__(name, meaning, labels, lambda: Spread(bounds), registry)

    def _form(self) -> HistogramMetricFamily:
        return HistogramMetricFamily(self.name, self._meaning, labels=self._labels)

    def _add(self, form: Metric, values: Labels, child: Spread) -> None:
        assert isinstance(form, HistogramMetricFamily)  # noqa: S101
        form.add_metric(values, child.buckets(), child.total)
