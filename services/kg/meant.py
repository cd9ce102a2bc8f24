"""Mentions that are no mentions: a relation's own word is also the name of some entity."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import Filters

from services.kg.cues import names_relation, own_words
from services.kg.engine import SPOKE_SAMPLE, Engine, Node
from services.kg.linking import Link, Question
from services.kg.vocabulary import STOP_WORDS
from services.kg.walk import Walker


async def meant(engine: Engine, question: Question, links: Sequence[Link], filters: Filters) -> list[Link]:
    """Leaves out what is written small and names a relation near another mention.

    In "the capital of France", with a book called The Capital, the book is not meant.
    """
    kept = list(links)
    walker = Walker(engine, filters, ())
    for link in [link for link in reversed(links) if _small(question, link)]:
        others = [node for other in kept if other is not link for node, _ in other.nodes]
        if others and _is_relation(question, link, await _relations(walker, others)):
            kept.remove(link)
    return kept


def _small(question: Question, link: Link) -> bool:
    words = question.words[link.first : link.last]
    return bool(words) and not any(word.capitalised for word in words)


async def _relations(walker: Walker, nodes: Sequence[Node]) -> set[str]:
    near = await walker.around(nodes, SPOKE_SAMPLE)
    spokes = [*await walker.spokes(nodes), *await walker.spokes(edge.node for edge in near)]
    return {spoke.relation for spoke in spokes}


def _is_relation(question: Question, link: Link, relations: set[str]) -> bool:
    words = [word.text for word in question.words[link.first : link.last] if word.text not in STOP_WORDS]
    known = [own_words(relation) for relation in relations]
    return bool(words) and all(names_relation(word, known) for word in words)
