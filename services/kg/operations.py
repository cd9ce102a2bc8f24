"""What the kg lane can be asked to do: each operation fills the reply with its evidence, best first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

from lanemesh.v1.evidence_pb2 import Evidence
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.kg import cues, evidence
from services.kg.engine import Edge, Engine, Node
from services.kg.linking import Link, Question
from services.kg.plan import plans_for
from services.kg.vocabulary import ASKED_TYPES
from services.kg.walk import Answer, Trail, Walker, answers_of, unasked
from services.kg.words import words_of

PATHS = 5
PAIRS = 9
# Neighbours looked at to learn which relations there are, and entities a question starts from.
AROUND = 64
STARTS = 12
DOCUMENTS = 3
# A word of the question names the type of this answer.
_ASKED_TYPE = 0.3
_DEEPER = 0.5


class Asked:
    """One request to the graph, and the reply it fills."""

    def __init__(
        self,
        engine: Engine,
        request: RetrieveRequest,
        reply: RetrieveResponse,
        question: Question,
        links: Sequence[Link],
        *,
        hops: int,
        limit: int,
    ) -> None:
        self._engine = engine
        self._filters = request.filters
        self._relations = list(request.graph.relations)
        self._walker = Walker(engine, request.filters, self._relations)
        self._reply = reply
        self._question = question
        self._links = links
        self._hops = hops
        self._limit = limit
        self._seen: set[str] = set()

    @property
    def starts(self) -> list[Node]:
        """The entities meant, the likeliest first."""
        nodes = {node.handle: node for link in self._links for node, _ in link.nodes}
        return list(nodes.values())[:STARTS]

    async def look_up(self) -> None:
        """The entities themselves, with their relations."""
        for node in self.starts:
            await self._card(node, "entity")

    async def resolve(self) -> None:
        """Everything of the names mentioned, whatever project it belongs to."""
        namesakes = {node.handle: node for link in self._links for node in link.namesakes}
        for node in namesakes.values():
            await self._card(node, "cross_ref")

    async def paths(self) -> bool:
        """The shortest paths between the first two entities mentioned; false when there is none."""
        pair = sorted(self._links[:2], key=lambda link: link.start)
        if len(pair) < 2:
            return False
        self._begin()
        found: Sequence[Sequence[Edge]] = ()
        ends = product(*([node for node, _ in link.nodes] for link in pair))
        for start, end in islice(ends, PAIRS):
            found = await self._engine.paths(
                start.handle, end.handle, self._relations, self._hops, self._filters, min(PATHS, self._limit)
            )
            if found:
                break
        self._clear()
        for edges in found:
            self._add(evidence.path(Trail(start, tuple(edges), 1.0), 1.0 / len(edges)))
        return bool(found)

    async def traverse(self) -> None:
        """Everything within the hops, what the question's relation words lead to first."""
        trails, near, others = await self._asked_for()
        trails += near
        trails += await self._deeper(trails)
        self._add_answers(trails, others)

    async def explore(self) -> None:
        """What the relation words lead to, the entities themselves and their neighbours; entities first without such
        words."""
        trails, near, others = await self._asked_for()
        if trails:
            self._add_answers(trails + near, others)
        await self.look_up()
        if not trails:
            self._add_answers(near, others)
        await self.documents()

    async def documents(self) -> None:
        """Documents that mention the entities, as far as there is room."""
        names = {node.handle: node.name for node in self.starts}
        if self._room():
            for found in await self._engine.documents(list(names), self._filters, DOCUMENTS):
                self._add(evidence.mention(found, names[found.handle], 0.0))

    def _begin(self) -> None:
        """Puts the entities themselves into the reply: all there is if the deadline cuts the walk short."""
        for node in self.starts:
            self._add(evidence.card(node, (), "entity", node.confidence))

    def _clear(self) -> None:
        """Makes room for the whole answer."""
        del self._reply.evidence[:]
        self._reply.total_found = 0
        self._seen.clear()

    async def _asked_for(self) -> tuple[list[Trail], list[Trail], bool]:
        """Trails the question's words ask for, trails to the other neighbours, and whether others are wanted."""
        provisional = not self._reply.evidence
        if provisional:
            self._begin()
        near = await self._walker.around(self.starts, AROUND)
        spokes = [*await self._walker.spokes(self.starts), *await self._walker.spokes(edge.node for edge in near)]
        relations = sorted({spoke.relation for spoke in spokes})
        types = frozenset(word.text for kind in {edge.node.type for edge in near} for word in words_of(kind))
        trails: list[Trail] = []
        others = False
        for link in self._links:
            told = cues.read(self._question.words, link, self._links, relations, types)
            others = others or told.returns or told.others
            trails.extend(await self._planned(link, told))
        if provisional:
            self._clear()
        return trails, unasked(near, {node.handle: node for node in self.starts}), others

    def _add_answers(self, trails: Sequence[Trail], others: bool) -> None:
        for found in self._typed(answers_of(trails, self.starts, others)):
            self._add(evidence.answer(found))

    async def _card(self, node: Node, kind: str) -> None:
        if self._room():
            edges = await self._walker.around([node], evidence.SENTENCES)
            self._add(evidence.card(node, edges, kind, node.confidence))

    async def _planned(self, link: Link, told: cues.Cues) -> list[Trail]:
        nodes = [node for node, _ in link.nodes][:STARTS]
        trails: list[Trail] = []
        for plan in plans_for(told, self._hops):
            if len({trail.end.handle for trail in trails}) >= self._limit:
                break
            trails.extend(await self._walker.follow(nodes, plan))
        return trails

    async def _deeper(self, trails: Sequence[Trail]) -> list[Trail]:
        """Neighbours of neighbours, level by level, while there is room for them."""
        found: list[Trail] = []
        level = [trail for trail in trails if len(trail.edges) == 1]
        reached = {node.handle for node in self.starts} | {trail.end.handle for trail in trails}
        for _ in range(1, self._hops):
            if len(reached) > self._limit or not level:
                break
            ends = {trail.end.handle: trail for trail in reversed(level)}
            edges = await self._walker.around([trail.end for trail in ends.values()], AROUND)
            level = [_onward(ends[edge.source], edge) for edge in edges if edge.node.handle not in reached]
            reached |= {trail.end.handle for trail in level}
            found.extend(level)
        return found

    def _typed(self, answers: list[Answer]) -> list[Answer]:
        said = {word.text for word in self._question.words}
        wanted = said.union(*(ASKED_TYPES.get(word, frozenset()) for word in said))
        for answer in answers:
            if wanted & {word.text for word in words_of(answer.node.type)}:
                answer.score += _ASKED_TYPE
        return sorted(answers, key=lambda answer: (-answer.score, answer.node.name, answer.node.id))

    def _room(self) -> bool:
        return len(self._reply.evidence) < self._limit

    def _add(self, found: Evidence) -> None:
        """Adds what is new; what no longer fits is only counted."""
        if found.document.id in self._seen:
            return
        self._seen.add(found.document.id)
        self._reply.total_found += 1
        if self._room():
            # Best first also in figures: what comes later is worth no more than what came before.
            if self._reply.evidence:
                found.score = min(found.score, self._reply.evidence[-1].score)
            self._reply.evidence.append(found)


def _onward(trail: Trail, edge: Edge) -> Trail:
    return Trail(trail.start, (*trail.edges, edge), trail.worth * _DEEPER * edge.confidence)
