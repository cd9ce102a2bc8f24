"""Follows plans through the graph, one engine call per hop, and ranks where they lead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lanemesh.v1.lane_pb2 import Filters

from services.kg.engine import Edge, Engine, Handle, Node, Spoke
from services.kg.plan import Hop, Plan

# Relations read per hop and ways kept between hops: bounds on time and memory, far above what is shown.
EDGE_LIMIT = 1_000
TRAIL_LIMIT = 2_000
# Relations read of a hop that may be any: it is a guess, and not worth more time.
GUESS_LIMIT = 200
# An answer gains by every further way to it, up to this share.
_SUPPORT = 0.2
# What is reached without a word of the question asking for it.
_UNASKED = 0.05
_SELF = 0.3


@dataclass(frozen=True, slots=True)
class Trail:
    """One way from an entity of the question."""

    start: Node
    edges: tuple[Edge, ...]
    worth: float

    @property
    def end(self) -> Node:
        """Where it leads."""
        return self.edges[-1].node if self.edges else self.start


@dataclass(slots=True)
class Answer:
    """An entity reached, by its best way first."""

    node: Node
    trails: list[Trail] = field(default_factory=list)
    score: float = 0.0


class Walker:
    """Walks for one request: its filters and relation types apply to every hop."""

    def __init__(self, engine: Engine, filters: Filters, relations: Sequence[str]) -> None:
        self._engine = engine
        self._filters = filters
        self._allowed = frozenset(relations)
        self._known: dict[tuple[Handle, ...], list[Spoke]] = {}

    async def spokes(self, nodes: Iterable[Node]) -> list[Spoke]:
        """The relation types that lead on from these entities, of those the request allows."""
        handles = tuple(dict.fromkeys(node.handle for node in nodes))
        if handles not in self._known:
            found = await self._engine.spokes(handles, self._filters) if handles else ()
            self._known[handles] = sorted(
                (spoke for spoke in found if not self._allowed or spoke.relation in self._allowed),
                key=lambda spoke: (spoke.relation, spoke.reversed),
            )
        return self._known[handles]

    async def around(self, nodes: Sequence[Node], limit: int) -> list[Edge]:
        """The neighbours, taken from every relation type in turn so that none hides the others."""
        handles = [node.handle for node in nodes]
        spokes = await self.spokes(nodes)
        if not spokes:
            return []
        edges = await self._engine.expand(handles, spokes, self._filters, EDGE_LIMIT)
        seen = {edge.spoke for edge in edges}
        # A type with very many relations may have filled the limit.
        for spoke in spokes:
            if spoke not in seen:
                edges = [*edges, *await self._engine.expand(handles, [spoke], self._filters, limit)]
        return in_turn(edges)[:limit]

    async def follow(self, starts: Sequence[Node], plan: Plan) -> list[Trail]:
        """The ways a plan leads; empty when the graph has none of them."""
        trails = [Trail(start, (), plan.weight) for start in starts]
        for hop in plan.hops:
            trails = await self._hop(trails, hop)
            if not trails:
                break
        return trails

    async def _hop(self, trails: Sequence[Trail], hop: Hop) -> list[Trail]:
        ends = {trail.end.handle: trail.end for trail in trails}
        worths = {spoke: hop.worth(spoke) for spoke in await self.spokes(ends.values())}
        spokes = [spoke for spoke, worth in worths.items() if worth]
        if not spokes:
            return []
        limit = EDGE_LIMIT if hop.fits is not None else GUESS_LIMIT
        edges = await self._engine.expand(list(ends), spokes, self._filters, limit)
        return _extended(trails, edges, worths, hop.back)


def _extended(trails: Sequence[Trail], edges: Sequence[Edge], worths: Mapping[Spoke, float], back: bool) -> list[Trail]:
    leading: dict[Handle, list[Edge]] = {}
    for edge in edges:
        leading.setdefault(edge.source, []).append(edge)
    found: list[Trail] = []
    for trail in trails:
        for edge in leading.get(trail.end.handle, ()):
            if not back or _returns(trail.edges[-1], edge):
                worth = trail.worth * worths[edge.spoke] * (0.5 + 0.5 * edge.confidence)
                found.append(Trail(trail.start, (*trail.edges, edge), worth))
    found.sort(key=lambda trail: -trail.worth)
    return found[:TRAIL_LIMIT]


def _returns(out: Edge, back: Edge) -> bool:
    return out.spoke.relation == back.spoke.relation and out.spoke.reversed != back.spoke.reversed


def in_turn(edges: Sequence[Edge]) -> list[Edge]:
    """One of every relation type, then the second of each, and so on."""
    seen: dict[Spoke, int] = {}
    turns = []
    for place, edge in enumerate(edges):
        seen[edge.spoke] = seen.get(edge.spoke, 0) + 1
        turns.append((seen[edge.spoke], place, edge))
    return [edge for _, _, edge in sorted(turns, key=lambda turn: turn[:2])]


def answers_of(trails: Iterable[Trail], starts: Sequence[Node], others: bool) -> list[Answer]:
    """Where trails lead, best first; the entities asked about come last, or not at all when others are wanted."""
    asked = {start.handle for start in starts}
    found: dict[Handle, Answer] = {}
    for trail in trails:
        if not (others and trail.end.handle in asked):
            found.setdefault(trail.end.handle, Answer(trail.end)).trails.append(trail)
    for answer in found.values():
        answer.trails.sort(key=lambda trail: (-trail.worth, len(trail.edges)))
        best = answer.trails[0].worth
        ways = len({trail.edges for trail in answer.trails if trail.worth >= best / 2})
        from_all = len({trail.start.handle for trail in answer.trails}) - 1
        answer.score = best * (1 + _SUPPORT * (1 - 1 / ways) + from_all)
        if answer.node.handle in asked:
            answer.score *= _SELF
    return sorted(found.values(), key=lambda answer: (-answer.score, answer.node.name, answer.node.id))


def unasked(edges: Sequence[Edge], starts: Mapping[Handle, Node]) -> list[Trail]:
    """Neighbours nobody asked for by name, in the order given."""
    return [
        Trail(starts[edge.source], (edge,), _UNASKED * edge.confidence / (1 + place / 100))
        for place, edge in enumerate(edges)
        if edge.source in starts
    ]
