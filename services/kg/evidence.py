"""Findings of the graph as evidence: readable text, the path behind it, and documents that mention the entities."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from lanemesh.v1.evidence_pb2 import Document, Evidence, GraphDetail, GraphStep, Span

from services.kg import sentences
from services.kg.engine import Edge, Mention, Node
from services.kg.walk import Answer, Trail
from services.kg.words import words_of

LONGEST_ID = 512
SENTENCES = 12
WAYS = 4
ARROW = " → "
# How far a passage reaches around a mention, and how much of a long document is searched for one.
_REACH = 240
_SEARCHED = 100_000
_BOUNDARY = re.compile(r"(?<=[.!?])\s+|\n\s*\n")


def card(node: Node, edges: Sequence[Edge], kind: str, score: float) -> Evidence:
    """An entity with its relations in sentences."""
    lines = dict.fromkeys([sentences.of_node(node), *(sentences.of_edge(node, edge) for edge in edges[:SENTENCES])])
    detail = GraphDetail(entity_id=node.id, entity_type=node.type, projects=node.projects)
    told = [line for line in lines if line] or [f"{node.name} is an entity of the graph."]
    document = _document(f"kg:{node.id}", node.name, told, node.projects)
    return Evidence(
        document=document, score=score, confidence=node.confidence, kind=kind, graph=detail, entities=[node.name]
    )


def answer(found: Answer) -> Evidence:
    """An entity reached, told by the relations that lead to it."""
    best = found.trails[0]
    ways = [trail for trail in found.trails if len(trail.edges) == len(best.edges)][:WAYS]
    lines = dict.fromkeys(line for trail in ways for line in _lines(trail))
    if about := sentences.of_node(found.node):
        lines |= {about: None}
    detail = _detail(best)
    return Evidence(
        document=_document(f"kg:{found.node.id}", found.node.name, lines, detail.projects),
        score=found.score,
        confidence=_confidence(best),
        kind="relationship",
        graph=detail,
        entities=list(dict.fromkeys(trail.start.name for trail in ways)),
    )


def path(trail: Trail, score: float) -> Evidence:
    """A path between two entities as one piece of evidence."""
    nodes = [trail.start, *(edge.node for edge in trail.edges)]
    detail = _detail(trail)
    identity = "kg:" + ">".join(node.id for node in nodes)
    return Evidence(
        document=_document(identity, ARROW.join(node.name for node in nodes), _lines(trail), detail.projects),
        score=score,
        confidence=_confidence(trail),
        kind="relationship",
        graph=detail,
        entities=[trail.start.name, trail.end.name],
    )


def mention(found: Mention, name: str, score: float) -> Evidence:
    """A document that mentions an entity, whole and under its own id."""
    return Evidence(
        document=found.document,
        score=score,
        kind="cross_ref",
        passage=passage(found.document.content, found.keys),
        entities=[name],
    )


def passage(content: str, keys: Iterable[str]) -> Span | None:
    """The sentence around the first mention; None when only the title holds one."""
    words = words_of(content[:_SEARCHED])
    wanted = [key.split() for key in keys]
    for place, word in enumerate(words):
        for key in wanted:
            if word.text == key[0] and [each.text for each in words[place : place + len(key)]] == key:
                return _sentence(content, word.start, words[place + len(key) - 1].end)
    return None


def span(text: str, start: int, end: int) -> Span:
    """A stretch in characters and bytes."""
    first = len(text[:start].encode())
    return Span(start=start, end=end, start_byte=first, end_byte=first + len(text[start:end].encode()))


def _sentence(content: str, start: int, end: int) -> Span:
    low, high = max(0, start - _REACH), min(len(content), end + _REACH)
    begins = [match.end() for match in _BOUNDARY.finditer(content, low, start)]
    ends = [match.start() for match in _BOUNDARY.finditer(content, end, high)]
    left = begins[-1] if begins else low if low == 0 else start
    right = ends[0] if ends else high if high == len(content) else end
    return span(content, left + len(content[left:start]) - len(content[left:start].lstrip()), right)


def _document(identity: str, title: str, lines: Iterable[str], projects: Sequence[str]) -> Document:
    if len(identity) > LONGEST_ID:
        digest = hashlib.sha256(identity.encode()).hexdigest()
        identity = f"{identity[: LONGEST_ID - len(digest) - 1]}#{digest}"
    project = projects[0] if len(projects) == 1 else ""
    return Document(id=identity, title=title[:1_000], content=" ".join(lines), source="graph", project=project)


def _lines(trail: Trail) -> list[str]:
    nodes = [trail.start, *(edge.node for edge in trail.edges)]
    return [sentences.of_edge(near, edge) for near, edge in zip(nodes, trail.edges, strict=False)]


def _confidence(trail: Trail) -> float:
    product = 1.0
    for edge in trail.edges:
        product *= edge.confidence
    return product


def _detail(trail: Trail) -> GraphDetail:
    nodes = [trail.start, *(edge.node for edge in trail.edges)]
    held = [*(node.projects for node in nodes), *(edge.projects for edge in trail.edges)]
    return GraphDetail(
        entity_id=trail.end.id,
        entity_type=trail.end.type,
        path=[_step(near, edge) for near, edge in zip(nodes, trail.edges, strict=False)],
        relation_types=list(dict.fromkeys(edge.spoke.relation for edge in trail.edges)),
        hops=len(trail.edges),
        projects=sorted(set().union(*held)),
    )


def _step(near: Node, edge: Edge) -> GraphStep:
    return GraphStep(
        head_id=near.id,
        head=near.name,
        relation=edge.spoke.relation,
        tail_id=edge.node.id,
        tail=edge.node.name,
        reversed=edge.spoke.reversed,
        confidence=edge.confidence,
    )
