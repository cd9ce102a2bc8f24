"""The server engine: ArangoDB through python-arango, whose blocking calls run in a bounded number of threads."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

from arango.client import ArangoClient
from arango.database import StandardDatabase, TransactionDatabase
from arango.exceptions import ArangoError
from lanemesh.v1.index_pb2 import DeleteRequest, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import Filters
from requests import RequestException

from services.kg import aql, arango_rows
from services.kg.arango_errors import translated
from services.kg.arango_http import DeadlineClient, time_left
from services.kg.arango_rows import Row, edge_of, handle_of
from services.kg.engine import DEGREE_LIMIT, LINK_LIMIT, SPOKE_SAMPLE, Edge, Handle, Mention, Named, Spoke
from services.runtime.engine import operation
from services.runtime.errors import LanemeshError, Unavailable

DATABASE = "sarvanom_kg"
# Paths looked at before labels, projects and relation types are applied.
PATHS_TRIED = 1_000
WRITTEN = (aql.ENTITIES, aql.RELATIONS, aql.DOCUMENTS_COLLECTION)
INDEXES = ((aql.ENTITIES, "by_key", "keys[*]"), (aql.DOCUMENTS_COLLECTION, "by_word", "words[*]"))

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Server:
    """Where the server is, how to sign in, and what one request may take when its caller set no deadline."""

    url: str
    user: str
    password: str
    threads: int
    request_seconds: float


class ArangoEngine:
    """A graph in an ArangoDB server. Opening it asks nothing of the server: it may come up later, or go and return."""

    name = "arangodb"

    def __init__(self, server: Server) -> None:
        self._most = server.request_seconds
        http = DeadlineClient(server.threads, server.request_seconds)
        self._client = ArangoClient(hosts=server.url, http_client=http, resolver_max_tries=1)
        self._system = self._client.db("_system", server.user, server.password)
        self._database = self._client.db(DATABASE, server.user, server.password)
        self._threads = ThreadPoolExecutor(server.threads, thread_name_prefix="arango")
        self._prepared = False
        self._preparing = threading.Lock()

    @operation
    async def link(self, keys: Sequence[str], filters: Filters) -> Sequence[Named]:
        """One statement for all keys."""
        given = arango_rows.binds(filters) | {"keys": list(keys), "limit": LINK_LIMIT, "most": 2 * DEGREE_LIMIT}
        return await self._ask(aql.LINK, given, arango_rows.named_of)

    @operation
    async def spokes(self, handles: Sequence[Handle], filters: Filters) -> Sequence[Spoke]:
        """The relation types around a sample of the entities."""
        given = arango_rows.binds(filters) | {"handles": list(handles[:SPOKE_SAMPLE])}
        found = await self._ask(aql.SPOKES, given, lambda row: Spoke(row["relation"], row["reversed"]))
        return list(dict.fromkeys(found))

    @operation
    async def expand(
        self, handles: Sequence[Handle], spokes: Sequence[Spoke], filters: Filters, limit: int
    ) -> Sequence[Edge]:
        """The surest relations of these types."""
        given = arango_rows.binds(filters) | {
            "handles": list(handles),
            "along": [spoke.relation for spoke in spokes if not spoke.reversed],
            "against": [spoke.relation for spoke in spokes if spoke.reversed],
            "limit": limit,
        }
        return await self._ask(aql.EXPAND, given, edge_of)

    @operation
    async def paths(
        self, start: Handle, end: Handle, relations: Sequence[str], hops: int, filters: Filters, count: int
    ) -> Sequence[Sequence[Edge]]:
        """The server's own k shortest paths."""
        given = arango_rows.binds(filters) | {"start": start, "end": end, "relations": list(relations), "hops": hops}
        given |= {"tried": PATHS_TRIED, "count": count}
        return await self._ask(aql.PATHS, given, lambda path: [edge_of(row) for row in path])

    @operation
    async def projects(self, handles: Sequence[Handle], filters: Filters) -> Mapping[Handle, Sequence[str]]:
        """An entity's own projects, or those of its relations."""
        given = arango_rows.binds(filters) | {"handles": list(handles)}
        return dict(
            await self._ask(aql.PROJECTS, given, lambda row: (row["handle"], arango_rows.unsealed(row["projects"])))
        )

    @operation
    async def documents(self, handles: Sequence[Handle], filters: Filters, limit: int) -> Sequence[Mention]:
        """Documents found by the rarest word of a name, then by the name as a phrase."""
        given = arango_rows.document_binds(filters) | {"handles": list(handles), "limit": limit}
        found = await self._ask(aql.DOCUMENTS, given, arango_rows.mentions_of)
        return [mention for mentions in found for mention in mentions]

    async def upsert(self, records: Sequence[UpsertRequest]) -> None:
        """Stores the batch in one transaction, on disk before it returns."""
        entities = {each.entity.id: each.entity for each in records if each.HasField("entity")}
        named = [each.relation for each in records if each.HasField("relation")]
        relations = {(each.head, each.relation, each.tail): each for each in named}
        documents = {each.document.id: each.document for each in records if each.HasField("document")}
        stubs = dict.fromkeys(end for each in named for end in (each.head, each.tail) if end not in entities)
        writes = {
            aql.PUT_ENTITIES: [arango_rows.entity_row(each) for each in entities.values()],
            aql.PUT_STUBS: [arango_rows.stub_row(each) for each in stubs],
            aql.PUT_RELATIONS: [arango_rows.relation_row(each) for each in relations.values()],
            aql.PUT_DOCUMENTS: [arango_rows.document_row(each) for each in documents.values()],
        }

        def write(transaction: TransactionDatabase) -> None:
            for statement, rows in writes.items():
                if rows:
                    self._execute(transaction, statement, {"rows": rows})

        await self._transact(write)

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes what is named, and what hangs on it."""
        return await self._transact(lambda transaction: self._delete(transaction, request))

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what the labels open."""
        held: Row = {"labels": arango_rows.sealed(access_labels)}
        every = held | {"projects": None}
        counted = await self._ask(aql.COUNT_DOCUMENTS, held, _counted)
        return StatsResponse(
            documents=sum(number for _, number in counted),
            documents_by_project=dict(counted),
            entities=(await self._ask(aql.COUNT_ENTITIES, every, int))[0],
            relations=(await self._ask(aql.COUNT_RELATIONS, every, int))[0],
            engine=self.name,
        )

    async def check(self) -> None:
        """Looks one name up."""
        await self.link(["check"], Filters())

    async def close(self) -> None:
        """Waits for running requests and closes the connections."""
        await asyncio.to_thread(self._threads.shutdown)
        self._client.close()

    async def _ask(self, statement: str, given: Row, read: Callable[[Any], Result]) -> list[Result]:
        return await self._run(lambda: [read(row) for row in self._execute(self._database, statement, given)])

    async def _transact(self, work: Callable[[TransactionDatabase], Result]) -> Result:
        def transact() -> Result:
            transaction = self._database.begin_transaction(write=list(WRITTEN), sync=True)
            try:
                result = work(transaction)
                transaction.commit_transaction()
                return result
            except BaseException:
                # The server undoes by itself what cannot be aborted any more.
                with suppress(ArangoError, RequestException, LanemeshError):
                    transaction.abort_transaction()
                raise

        return await self._run(transact)

    def _delete(self, transaction: TransactionDatabase, request: DeleteRequest) -> int:
        def gone(statement: str, **given: list[str]) -> list[Any]:
            return self._execute(transaction, statement, given)

        documents = gone(aql.DROP_DOCUMENTS, keys=[arango_rows.key_of(each) for each in request.document_ids])
        relations = gone(
            aql.DROP_RELATIONS,
            keys=[arango_rows.key_of(each.head, each.relation, each.tail) for each in request.relations],
        )
        handles = [handle_of(each) for each in dict.fromkeys(request.entity_ids)]
        hanging = gone(aql.DROP_RELATIONS_OF, handles=handles)
        entities = gone(aql.DROP_ENTITIES, handles=handles)
        gone(aql.DROP_UNNAMED, handles=sorted({end for ends in (*relations, *hanging) for end in ends}))
        return len(documents) + len(relations) + len(entities)

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Runs blocking work in a thread that knows the caller's deadline."""

        def prepared() -> Result:
            with translated():
                self._prepare()
                return work()

        context = contextvars.copy_context()
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, prepared)
        except Unavailable:
            # A server that comes back may come back empty.
            self._prepared = False
            raise

    def _execute(self, database: StandardDatabase | TransactionDatabase, statement: str, given: Row) -> list[Any]:
        limit: Any = time_left(self._most)
        cursor: Any = database.aql.execute(statement, bind_vars=given, max_runtime=limit)
        return list(cursor)

    def _prepare(self) -> None:
        """Creates database, graph, collections and indexes where they are missing."""
        with self._preparing:
            if self._prepared:
                return
            if not self._system.has_database(DATABASE):
                self._system.create_database(DATABASE)
            if not self._database.has_graph(aql.GRAPH):
                ends = [aql.ENTITIES]
                edges = {"edge_collection": aql.RELATIONS, "from_vertex_collections": ends}
                self._database.create_graph(aql.GRAPH, [edges | {"to_vertex_collections": ends}])
            if not self._database.has_collection(aql.DOCUMENTS_COLLECTION):
                self._database.create_collection(aql.DOCUMENTS_COLLECTION)
            for collection, name, field in INDEXES:
                index = {"type": "persistent", "name": name, "fields": [field], "inBackground": True}
                self._database.collection(collection).add_index(index)
            self._prepared = True


def _counted(row: Row) -> tuple[str, int]:
    return unquote(row["project"]), int(row["number"])
