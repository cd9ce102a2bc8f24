"""The kg lane: links a question to the graph's entities, decides what is asked of them, and answers from the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanemesh.v1 import lane_pb2
from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import GraphOperation, LinkedEntity, RetrieveRequest, RetrieveResponse, Scope

from services.kg import evidence
from services.kg.engine import Engine
from services.kg.linking import Link, Question
from services.kg.meant import meant
from services.kg.operations import Asked
from services.kg.recognise import Recogniser, nobody, recogniser_of
from services.kg.scope import scope_of
from services.kg.sqlite_graph import SqliteEngine
from services.kg.vocabulary import ACROSS_WORDS, OTHER_WORDS, PATH_WORDS, PROJECT_WORDS
from services.runtime.errors import InvalidRequest
from services.runtime.settings import load, setting

MOST_RESULTS = 20
HOPS, RESEARCH_HOPS = 3, 5
RESEARCH_DEPTH = 3
MOST_LINKS = 8


@dataclass(frozen=True, slots=True)
class KgSettings:
    """Where the graph lives, embedded or on a server, and how many questions run at once."""

    home: Path = setting("LANEMESH_HOME", Path("~/.lanemesh").expanduser())
    readers: int = setting("LANEMESH_KG_READERS", 4, low=1, high=32)
    lock_wait_ms: int = setting("LANEMESH_KG_LOCK_WAIT_MS", 1_000, low=0, high=60_000)
    request_ms: int = setting("LANEMESH_KG_REQUEST_MS", 30_000, low=1, high=600_000)
    spacy_model: str = setting("LANEMESH_KG_SPACY_MODEL", "")
    arango_url: str = setting("ARANGO_URL", "")
    arango_user: str = setting("ARANGO_USER", "root")
    arango_password: str = setting("ARANGO_PASSWORD", "")


class KgLane:
    """Finds entities, relations and paths."""

    keeps = frozenset({"document", "entity", "relation"})

    def __init__(self, engine: Engine, recogniser: Recogniser = nobody) -> None:
        self._engine = engine
        self._recogniser = recogniser

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills the reply with what the graph knows about the question's entities, and with their projects."""
        reply.engine = self._engine.name
        hops = _hops(request)
        question = Question(request.query, [*request.entities, *self._recogniser(request.query)])
        links = question.links(await self._engine.link(question.keys, request.filters))[:MOST_LINKS]
        if not links:
            reply.reason = "NO_ENTITY"
            reply.message = f"The graph knows no entity of the query by name{_within(request)}."
            return
        links = await meant(self._engine, question, links, request.filters)
        reply.entities.extend(_linked(question, links))
        reply.scope.CopyFrom(await scope_of(self._engine, links, request.filters))
        limit = min(request.max_results, MOST_RESULTS)
        asked = Asked(self._engine, request, reply, question, links, hops=hops, limit=limit)
        said = request.graph.operation != lane_pb2.GRAPH_OPERATION_UNSPECIFIED
        await _answer(asked, operation_of(request, question, links), said, reply)
        if not reply.evidence:
            reply.reason = reply.reason or "NO_MATCH"
            reply.message = reply.message or _in_vain(reply, request)

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        """Stores a batch in one transaction."""
        await self._engine.upsert(records)
        return []

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes by identity; returns how many of the named records existed."""
        return await self._engine.delete(request)

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what these labels open."""
        return await self._engine.stats(access_labels)

    async def check(self) -> None:
        """Returns when a question would be answered now."""
        await self._engine.check()

    async def close(self) -> None:
        """Closes the engine."""
        await self._engine.close()


async def open_lane(environment: Mapping[str, str]) -> KgLane:
    """The lane over its graph, which is created on first use."""
    settings = load(KgSettings, environment)
    return KgLane(await _open_engine(settings), recogniser_of(settings.spacy_model))


async def _open_engine(settings: KgSettings) -> Engine:
    if not settings.arango_url:
        path = settings.home / "data" / "kg.sqlite3"
        return await SqliteEngine.open(path, readers=settings.readers, lock_wait=settings.lock_wait_ms / 1_000)
    # Only whoever has a server needs its client.
    from services.kg.arango_graph import ArangoEngine, Server

    seconds = settings.request_ms / 1_000
    server = Server(settings.arango_url, settings.arango_user, settings.arango_password, settings.readers, seconds)
    return ArangoEngine(server)


def operation_of(request: RetrieveRequest, question: Question, links: Sequence[Link]) -> GraphOperation.ValueType:
    """What is asked: as the request says, or as its words do. Unspecified means relations first, then the rest."""
    wanted = request.graph.operation
    if wanted not in GraphOperation.values():
        raise InvalidRequest("graph.operation", f"unknown value {wanted}")
    if wanted != lane_pb2.GRAPH_OPERATION_UNSPECIFIED:
        return wanted
    said = {word.text for word in question.words}
    if len(links) > 1 and ("relationship" in request.query_types or said & PATH_WORDS):
        return lane_pb2.GRAPH_OPERATION_PATHS
    elsewhere = said & ACROSS_WORDS or (said & OTHER_WORDS and said & PROJECT_WORDS)
    if "cross_project" in request.query_types or elsewhere:
        return lane_pb2.GRAPH_OPERATION_RESOLVE
    return lane_pb2.GRAPH_OPERATION_UNSPECIFIED


async def _answer(asked: Asked, operation: GraphOperation.ValueType, said: bool, reply: RetrieveResponse) -> None:
    """Runs the operation; one that was only guessed gives way to a general answer, or is followed by it."""
    if operation == lane_pb2.GRAPH_OPERATION_SCOPE:
        reply.reason, reply.message = "SCOPE_ONLY", _scope_message(reply.scope)
    elif operation == lane_pb2.GRAPH_OPERATION_LOOKUP:
        await asked.look_up()
    elif operation == lane_pb2.GRAPH_OPERATION_TRAVERSE:
        await asked.traverse()
    elif operation == lane_pb2.GRAPH_OPERATION_PATHS and (await asked.paths() or said):
        reply.reason = "" if reply.evidence else "NO_PATH"
        reply.message = "" if reply.evidence else _no_path(reply)
    else:
        if operation == lane_pb2.GRAPH_OPERATION_RESOLVE:
            await asked.resolve()
        if not (said and reply.evidence):
            await asked.explore()


def _no_path(reply: RetrieveResponse) -> str:
    names = list(reply.scope.entities)
    if len(names) < 2:
        return f"A path needs two entities; the query names only {names[0]}."
    return f"No path within the hops allowed joins {' and '.join(names)}."


def _scope_message(scope: Scope) -> str:
    names = ", ".join(scope.entities)
    if not scope.projects:
        return f"The graph knows no project that contains {names}."
    return f"{names}: {len(scope.projects)} projects."


def _hops(request: RetrieveRequest) -> int:
    if not 0 <= request.graph.max_hops <= RESEARCH_HOPS:
        raise InvalidRequest("graph.max_hops", f"must be 0 to {RESEARCH_HOPS}, is {request.graph.max_hops}")
    deep = (
        request.mode == lane_pb2.MODE_RESEARCH
        or request.constraints.depth == lane_pb2.DEPTH_RESEARCH
        or request.search_depth >= RESEARCH_DEPTH
    )
    return request.graph.max_hops or (RESEARCH_HOPS if deep else HOPS)


def _linked(question: Question, links: Sequence[Link]) -> list[LinkedEntity]:
    return [
        LinkedEntity(
            mention=question.text[link.start : link.end],
            span=evidence.span(question.text, link.start, link.end),
            entity_id=node.id,
            name=node.name,
            type=node.type,
            confidence=min(1.0, fit) * min(1.0, link.weight),
            projects=node.projects,
        )
        for link in links
        for node, fit in link.nodes
    ]


def _within(request: RetrieveRequest) -> str:
    narrowed = [field.name for field, _ in request.filters.ListFields() if field.name != "access_labels"]
    return f" within the filters {', '.join(narrowed)}" if narrowed else ""


def _in_vain(reply: RetrieveResponse, request: RetrieveRequest) -> str:
    return f"Nothing is known about {', '.join(reply.scope.entities)}{_within(request)}."
