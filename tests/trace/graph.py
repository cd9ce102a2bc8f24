"""One trace as a graph of spans, as Jaeger's query API tells it (`/api/v3/traces`, OTLP as JSON)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NAMESPACE = "lanemesh."


@dataclass(frozen=True)
class Span:
    """One span; attributes are named without our namespace."""

    process: str
    name: str
    identity: str
    parent: str
    kind: int
    start: int
    end: int
    failed: bool
    attributes: Mapping[str, Any] = field(hash=False)
    events: Sequence[str] = ()

    @property
    def node(self) -> str:
        """What it is in the table of edges."""
        return f"{self.process}: {self.name}"

    def __str__(self) -> str:
        return f"{self.node} {(self.end - self.start) / 1e6:.1f} ms {dict(self.attributes)}"


@dataclass(frozen=True)
class Graph:
    """All spans of one trace that Jaeger has."""

    spans: Sequence[Span]

    def root(self) -> Span:
        """The one span above all others."""
        (root,) = [span for span in self.spans if not span.parent]
        return root

    def orphans(self) -> list[Span]:
        """Spans whose parent is not there."""
        known = {span.identity for span in self.spans} | {""}
        return [span for span in self.spans if span.parent not in known]

    def below(self, parent: Span, name: str = "") -> list[Span]:
        """The children of a span, of that name if one is given."""
        return [span for span in self.spans if span.parent == parent.identity and name in ("", span.name)]

    def named(self, name: str) -> list[Span]:
        """Every span of that name."""
        return [span for span in self.spans if span.name == name]

    def edges(self) -> list[tuple[Span, Span]]:
        """Every pair of parent and child."""
        by_identity = {span.identity: span for span in self.spans}
        return [(by_identity[span.parent], span) for span in self.spans if span.parent in by_identity]

    def __str__(self) -> str:
        """As a tree, for whoever reads the failure of a test."""
        tops = [span for span in self.spans if not span.parent or span in self.orphans()]
        return "\n" + "\n".join(line for top in tops for line in self._lines(top, ""))

    def _lines(self, span: Span, indent: str) -> Iterator[str]:
        yield f"{indent}{'' if indent or not span.parent else 'ORPHAN '}{span}"
        for child in sorted(self.below(span), key=lambda each: each.start):
            yield from self._lines(child, indent + "  ")


def read(reply: Mapping[str, Any]) -> Graph:
    """The graph of a reply of `/api/v3/traces/<id>`."""
    return Graph([span for resource in reply["result"]["resourceSpans"] for span in _spans(resource)])


def _spans(resource: Mapping[str, Any]) -> Iterator[Span]:
    process = _pairs(resource["resource"])["service.name"]
    for scope in resource["scopeSpans"]:
        for raw in scope["spans"]:
            yield Span(
                process=process,
                name=raw["name"],
                identity=raw["spanId"],
                parent=raw.get("parentSpanId", ""),
                kind=raw["kind"],
                start=int(raw["startTimeUnixNano"]),
                end=int(raw["endTimeUnixNano"]),
                failed=raw.get("status", {}).get("code") == 2,
                attributes={name.removeprefix(NAMESPACE): value for name, value in _pairs(raw).items()},
                events=[event["name"] for event in raw.get("events", ())],
            )


def _pairs(part: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, without what Jaeger adds when a trace is read before all of it has come."""
    pairs = part.get("attributes", ())
    return {pair["key"]: _value(pair["value"]) for pair in pairs if not pair["key"].startswith("@jaeger@")}


def _value(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    if kind == "arrayValue":
        return [_value(each) for each in content.get("values", ())]
    # JSON has no whole numbers of 64 bits: OTLP writes them as text.
    return int(content) if kind == "intValue" else content
