"""Entities and relations in plain sentences, so that a citation into them reads as one."""

from __future__ import annotations

from services.kg.engine import Edge, Node
from services.kg.words import relation_words

_PREPOSITIONS = frozenset({"of", "in", "at", "on", "by", "to", "from", "for", "with", "near"})
_VERBS = frozenset({"has", "have", "is", "was", "are"})


def phrase_of(relation: str) -> str:
    """A relation type as the verb of a sentence: directed_by as "is directed by", CALLS as "calls"."""
    spoken = [word.surface.lower() for word in relation_words(relation)]
    if not spoken:
        return f"has {relation}"
    first, last = spoken[0], spoken[-1]
    phrase = " ".join(spoken)
    if first in _VERBS or (last != "by" and (first.endswith("ed") or (first.endswith("s") and last != "s"))):
        return phrase
    return f"is {phrase}" if last in _PREPOSITIONS or first in _PREPOSITIONS else f"has {phrase}"


def ended(text: str) -> str:
    """The text as a sentence with its full stop."""
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def of_edge(near: Node, edge: Edge) -> str:
    """What a relation states, in its own direction, with what its source says about it."""
    head, tail = (edge.node, near) if edge.spoke.reversed else (near, edge.node)
    stated = f"{head.name} {phrase_of(edge.spoke.relation)} {tail.name}."
    described = ended(edge.description) if edge.description.strip() else ""
    return stated if not described or described == stated else f"{stated} {described}"


def of_node(node: Node) -> str:
    """What an entity is; empty when the graph only knows its name."""
    kind = node.type.replace("_", " ")
    kind = kind.lower() if kind.isupper() else kind
    article = "an" if kind[:1].lower() in "aeiou" else "a"
    first = f"{node.name} is {article} {kind}." if kind else ""
    return f"{first} {ended(node.description)}".strip() if node.description.strip() else first
