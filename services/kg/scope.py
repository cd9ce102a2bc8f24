"""The projects a search can be limited to: those that hold all the question's entities, else those that hold any."""

from __future__ import annotations

from collections.abc import Sequence

from lanemesh.v1.lane_pb2 import SCOPE_MATCH_ALL, SCOPE_MATCH_ANY, Filters, Scope

from services.kg.engine import Engine, Handle
from services.kg.linking import Link

DOCUMENTS_READ = 50


async def scope_of(engine: Engine, links: Sequence[Link], filters: Filters) -> Scope:
    """The scope of the mentions. A name that several entities share is held by a project that holds one of them."""
    nodes = [node for link in links for node, _ in link.nodes]
    held = await _held(engine, [node.handle for node in nodes], filters)
    mentions = [set().union(*(held[node.handle] for node, _ in link.nodes)) for link in links]
    projects = set.intersection(*mentions) or set.union(*mentions)
    whole = all(projects <= held[node.handle] for node in nodes)
    return Scope(
        projects=sorted(projects),
        match=SCOPE_MATCH_ALL if projects and whole else SCOPE_MATCH_ANY,
        entities=list(dict.fromkeys(node.name for node in nodes)),
    )


async def _held(engine: Engine, handles: Sequence[Handle], filters: Filters) -> dict[Handle, set[str]]:
    """Projects of each entity: its own, those of its relations, or those of the documents that mention it."""
    held = {handle: set(projects) for handle, projects in (await engine.projects(handles, filters)).items()}
    homeless = [handle for handle in handles if not held.setdefault(handle, set())]
    if homeless:
        for mention in await engine.documents(homeless, filters, DOCUMENTS_READ):
            held[mention.handle] |= {mention.document.project} - {""}
    return held
