"""Shortest paths between two entities, level by level from both ends, over relations an engine hands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

# A relation's number, where it starts, where it leads, and whether that is against its direction.
Step = tuple[int, int, int, bool]
Adjacent = Callable[[Sequence[int]], Sequence[Step]]


@dataclass(slots=True)
class _Side:
    """What is known around one end: its relations so far and the entities reached last."""

    frontier: set[int]
    seen: set[int] = field(default_factory=set)
    radius: int = 0


class Search:
    """The shortest paths without a repeated entity, shortest first."""

    def __init__(self, adjacent: Adjacent, start: int, end: int) -> None:
        self._adjacent = adjacent
        self._start, self._end = start, end
        self._near, self._far = _Side({start}), _Side({end})
        self._steps: dict[int, dict[tuple[int, int], Step]] = {}

    def shortest(self, count: int, hops: int) -> list[list[Step]]:
        """At most `count` paths of at most `hops` relations."""
        found: list[list[Step]] = []
        for length in range(1, hops + 1):
            self._widen(self._near, (length + 1) // 2)
            self._widen(self._far, length // 2)
            distances = self._distances(length)
            for path in self._walk([], self._start, {self._start}, length, distances):
                found.append(path)
                if len(found) == count:
                    return found
        return found

    def _widen(self, side: _Side, radius: int) -> None:
        while side.radius < radius and side.frontier:
            side.seen |= side.frontier
            reached: set[int] = set()
            for relation, near, far, against in self._adjacent(sorted(side.frontier)):
                self._steps.setdefault(near, {})[relation, far] = (relation, near, far, against)
                self._steps.setdefault(far, {})[relation, near] = (relation, far, near, not against)
                reached.add(far)
            side.frontier = reached - side.seen
            side.radius += 1

    def _distances(self, length: int) -> dict[int, int]:
        """How far each known entity is from the end, as far as a path of this length may use it."""
        distances, frontier = {self._end: 0}, [self._end]
        for distance in range(1, length + 1):
            reached = [far for near in frontier for (_, far) in self._steps.get(near, ()) if far not in distances]
            distances |= dict.fromkeys(reached, distance)
            frontier = list(dict.fromkeys(reached))
        return distances

    def _walk(
        self, path: list[Step], at: int, used: set[int], left: int, distances: dict[int, int]
    ) -> Iterator[list[Step]]:
        if at == self._end:
            if left == 0:
                yield path
            return
        for step in sorted(self._steps.get(at, {}).values()):
            far = step[2]
            if far not in used and distances.get(far, left) < left:
                yield from self._walk([*path, step], far, used | {far}, left - 1, distances)
