"""A Meilisearch server on a free port of loopback: its documented wire format over records kept in memory."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.keyword.meili_filter import BadFilter, parse
from tests.keyword.meili_ranking import rank

# The defaults of an index, as GET /indexes/{uid}/settings gives them.
DEFAULTS: dict[str, Any] = {
    "displayedAttributes": ["*"],
    "searchableAttributes": ["*"],
    "filterableAttributes": [],
    "sortableAttributes": [],
    "rankingRules": ["words", "typo", "proximity", "attribute", "sort", "exactness"],
    "stopWords": [],
    "synonyms": {},
    "typoTolerance": {
        "enabled": True,
        "minWordSizeForTypos": {"oneTypo": 5, "twoTypos": 9},
        "disableOnWords": [],
        "disableOnAttributes": [],
        "disableOnNumbers": False,
    },
    "faceting": {"maxValuesPerFacet": 100, "sortFacetValuesBy": {"*": "alpha"}},
    "pagination": {"maxTotalHits": 1000},
    "prefixSearch": "indexingTime",
    "searchCutoffMs": None,
}
_SETS = ("stopWords", "filterableAttributes")
_KEY = re.compile(r"[A-Za-z0-9_-]{1,511}")
_TIME = "2026-01-02T03:04:05.123456789Z"


class ApiError(Exception):
    """A reply with a documented error body."""

    def __init__(self, status: int, code: str, kind: str = "invalid_request", message: str = "refused") -> None:
        super().__init__(code)
        self.status = status
        link = f"https://docs.meilisearch.com/errors#{code}"
        self.body = {"message": message, "code": code, "type": kind, "link": link}


@dataclass
class Index:
    uid: str
    key: str | None
    settings: dict[str, Any] = field(default_factory=lambda: json.loads(json.dumps(DEFAULTS)))
    records: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    authorization: str | None
    body: Any


Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]


@dataclass
class FakeMeili:
    """The server. `fault` may answer in its place; `asked` is what came; tasks take `patience` looks to end."""

    key: str | None = None
    url: str = ""
    indexes: dict[str, Index] = field(default_factory=dict)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    fault: Fault | None = None
    processing_ms: int = 1
    patience: int = 1
    # When set, the next task fails with this error.
    failing: dict[str, str] | None = None
    looks: dict[int, int] = field(default_factory=dict)

    def requests(self, method: str, ending: str) -> list[Asked]:
        """What was asked of paths with that ending."""
        return [each for each in self.asked if each.method == method and each.path.endswith(ending)]

    def application(self) -> web.Application:
        application = web.Application(middlewares=[self._middleware], client_max_size=100 * 1024 * 1024)
        application.add_routes(
            [
                web.get("/health", self.health),
                web.post("/indexes", self.create),
                web.get("/indexes/{uid}", self.show),
                web.get("/indexes/{uid}/settings", self.settings),
                web.patch("/indexes/{uid}/settings", self.change_settings),
                web.post("/indexes/{uid}/documents", self.add),
                web.post("/indexes/{uid}/documents/fetch", self.fetch),
                web.post("/indexes/{uid}/documents/delete", self.delete),
                web.post("/indexes/{uid}/search", self.search),
                web.get("/indexes/{uid}/stats", self.stats),
                web.post("/multi-search", self.multi_search),
                web.get("/tasks/{task}", self.task),
            ]
        )
        return application

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Any) -> web.StreamResponse:
        raw = await request.read()
        authorization = request.headers.get("Authorization")
        self.asked.append(Asked(request.method, request.path, authorization, json.loads(raw) if raw else None))
        if self.fault is not None and (reply := await self.fault(request)) is not None:
            return reply
        try:
            self._authorize(request, authorization)
            return web.json_response(**await handler(request))
        except ApiError as error:
            return web.json_response(error.body, status=error.status)

    def _authorize(self, request: web.Request, authorization: str | None) -> None:
        if self.key is None or request.path == "/health":
            return
        if authorization is None:
            raise ApiError(401, "missing_authorization_header", "auth")
        if authorization != f"Bearer {self.key}":
            raise ApiError(403, "invalid_api_key", "auth", "The provided API key is invalid.")

    async def health(self, _request: web.Request) -> dict[str, Any]:
        return {"data": {"status": "available"}}

    async def create(self, request: web.Request) -> dict[str, Any]:
        asked = await request.json()
        if asked["uid"] in self.indexes:
            return self._enqueue(asked["uid"], "indexCreation", error=ApiError(409, "index_already_exists").body)

        def create() -> dict[str, Any]:
            self.indexes[asked["uid"]] = Index(asked["uid"], asked.get("primaryKey"))
            return {"primaryKey": asked.get("primaryKey")}

        return self._enqueue(asked["uid"], "indexCreation", create)

    async def show(self, request: web.Request) -> dict[str, Any]:
        index = self._index(request)
        return {"data": {"uid": index.uid, "primaryKey": index.key, "createdAt": _TIME, "updatedAt": _TIME}}

    async def settings(self, request: web.Request) -> dict[str, Any]:
        return {"data": self._index(request).settings}

    async def change_settings(self, request: web.Request) -> dict[str, Any]:
        index, wanted = self._index(request), await request.json()
        if unknown := wanted.keys() - DEFAULTS.keys():
            raise ApiError(400, "bad_request", message=f"Unknown field `{min(unknown)}`")

        def change() -> dict[str, Any]:
            for name, value in wanted.items():
                index.settings[name] = sorted(value) if name in _SETS else _merged(index.settings[name], value)
            return wanted

        return self._enqueue(index.uid, "settingsUpdate", change)

    async def add(self, request: web.Request) -> dict[str, Any]:
        index, records = self._index(request), await request.json()
        key = index.key or request.query.get("primaryKey", "id")
        if bad := [record for record in records if not _KEY.fullmatch(str(record.get(key, "")))]:
            error = ApiError(400, "invalid_document_id", message=f"Document identifier `{bad[0].get(key)}` is invalid.")
            return self._enqueue(index.uid, "documentAdditionOrUpdate", error=error.body)

        def store() -> dict[str, Any]:
            index.key = key
            index.records.update({record[key]: record for record in records})
            return {"receivedDocuments": len(records), "indexedDocuments": len(records)}

        return self._enqueue(index.uid, "documentAdditionOrUpdate", store)

    async def delete(self, request: web.Request) -> dict[str, Any]:
        index, asked = self._index(request), await request.json()
        doomed = self._passing(index, asked["filter"], "invalid_document_filter")

        def delete() -> dict[str, Any]:
            for record in doomed:
                del index.records[record[index.key]]
            return {"providedIds": 0, "deletedDocuments": len(doomed), "originalFilter": asked["filter"]}

        return self._enqueue(index.uid, "documentDeletion", delete)

    async def fetch(self, request: web.Request) -> dict[str, Any]:
        index, asked = self._index(request), await request.json()
        found = self._passing(index, asked.get("filter"), "invalid_document_filter")
        limit = asked.get("limit", 20)
        shown = [_projected(record, asked.get("fields")) for record in found[:limit]]
        return {"data": {"results": shown, "offset": 0, "limit": limit, "total": len(found)}}

    async def search(self, request: web.Request) -> dict[str, Any]:
        return {"data": self._found(request.match_info["uid"], await request.json())}

    async def multi_search(self, request: web.Request) -> dict[str, Any]:
        queries = (await request.json())["queries"]
        found = [{"indexUid": query["indexUid"], **self._found(query["indexUid"], query)} for query in queries]
        return {"data": {"results": found}}

    def _found(self, uid: str, asked: dict[str, Any]) -> dict[str, Any]:
        index = self._named(uid)
        passing = self._passing(index, asked.get("filter"), "invalid_search_filter")
        ranked = rank(asked["q"], list(index.records.values()), index.settings, asked.get("matchingStrategy", "last"))
        allowed = {id(record) for record in passing}
        ranked = [each for each in ranked if id(each.record) in allowed]
        shown = asked.get("attributesToRetrieve")
        scored = asked.get("showRankingScore", False)
        hits = [
            _projected(each.record, shown) | ({"_rankingScore": each.score} if scored else {})
            for each in ranked[: asked.get("limit", 20)]
        ]
        reply = {
            "hits": hits,
            "query": asked["q"],
            "processingTimeMs": self.processing_ms,
            "limit": asked.get("limit", 20),
            "offset": 0,
            "estimatedTotalHits": len(ranked),
        }
        if "facets" in asked:
            reply["facetDistribution"] = {
                name: _facets([each.record for each in ranked], name) for name in asked["facets"]
            }
        return reply

    async def stats(self, request: web.Request) -> dict[str, Any]:
        count = len(self._index(request).records)
        return {"data": {"numberOfDocuments": count, "isIndexing": False, "fieldDistribution": {}}}

    async def task(self, request: web.Request) -> dict[str, Any]:
        uid = int(request.match_info["task"])
        if uid >= len(self.tasks):
            raise ApiError(404, "task_not_found")
        task = self.tasks[uid]
        self.looks[uid] = self.looks.get(uid, 0) + 1
        if self.looks[uid] >= self.patience and task["status"] == "enqueued":
            work = task.pop("work")
            task["details"] = work() if work is not None and task["error"] is None else None
            task["status"] = "failed" if task["error"] else "succeeded"
        return {"data": {name: value for name, value in task.items() if name != "work"}}

    def _index(self, request: web.Request) -> Index:
        return self._named(request.match_info["uid"])

    def _named(self, uid: str) -> Index:
        if uid not in self.indexes:
            raise ApiError(404, "index_not_found", message=f"Index `{uid}` not found.")
        return self.indexes[uid]

    def _passing(self, index: Index, expression: str | None, code: str) -> list[dict[str, Any]]:
        if expression is None:
            return list(index.records.values())
        try:
            condition = parse(expression, set(index.settings["filterableAttributes"]))
        except BadFilter as error:
            raise ApiError(400, code, message=str(error)) from error
        return [record for record in index.records.values() if condition(record)]

    def _enqueue(
        self, index: str, kind: str, work: Callable[[], dict[str, Any]] | None = None, error: Any = None
    ) -> dict[str, Any]:
        uid = len(self.tasks)
        error, self.failing = error or self.failing, None
        task = {"uid": uid, "indexUid": index, "status": "enqueued", "type": kind, "enqueuedAt": _TIME}
        self.tasks.append({**task, "error": error, "details": None, "canceledBy": None, "work": work})
        summary = {"taskUid": uid, "indexUid": index, "status": "enqueued", "type": kind, "enqueuedAt": _TIME}
        return {"data": summary, "status": 202}


def _merged(present: Any, wanted: Any) -> Any:
    if isinstance(present, dict) and isinstance(wanted, dict):
        return present | {name: _merged(present.get(name), value) for name, value in wanted.items()}
    return wanted


def _projected(record: Any, shown: list[str] | None) -> dict[str, Any]:
    return {name: value for name, value in record.items() if shown is None or name in shown}


def _facets(records: list[Any], name: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in records:
        if name in record:
            counts[record[name]] = counts.get(record[name], 0) + 1
    return counts


@asynccontextmanager
async def serving(fake: FakeMeili, port: int = 0) -> AsyncIterator[FakeMeili]:
    """The server on a port of loopback, by default a free one."""
    runner = web.AppRunner(fake.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield fake
    finally:
        await runner.cleanup()


async def hang(_request: web.Request) -> web.StreamResponse:
    """Never answers."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")
