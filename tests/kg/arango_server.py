"""A local server that speaks ArangoDB's documented HTTP interface as far as the lane uses it."""

from __future__ import annotations

import base64
import copy
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kg.arango_data import Data, Row

USER, PASSWORD = "lane", "se:cret"
SYSTEM, OWN = "/_db/_system", "/_db/sarvanom_kg"
# Rows per reply, small so that the client has to fetch further batches.
BATCH = 7

Answer = tuple[int, Any]


@dataclass(frozen=True)
class Sent:
    """One request as it came over the wire."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class Arango:
    """The server's state, and what a test may do to it."""

    url: str = ""
    data: Data = field(default_factory=Data)
    databases: set[str] = field(default_factory=lambda: {"_system"})
    graphs: dict[str, Row] = field(default_factory=dict)
    collections: set[str] = field(default_factory=set)
    indexes: list[tuple[str, Row]] = field(default_factory=list)
    requests: list[Sent] = field(default_factory=list)
    # While set, statements are answered by it instead: (status, body); None leaves the statement to the data.
    instead: Callable[[Sent], Answer | None] = lambda _sent: None
    # While cleared, replies to statements wait.
    released: threading.Event = field(default_factory=threading.Event)
    # Counts statements that have arrived since a test cleared `released`.
    arrived: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _before: dict[str, Data] = field(default_factory=dict)
    _cursors: dict[str, list[Any]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, sent: Sent) -> Answer:
        with self._lock:
            self.requests.append(sent)
            if sent.headers.get("authorization") != _basic(USER, PASSWORD):
                return 401, error(401, 11, "not authorized")
            if (given := self.instead(sent)) is not None:
                return given
            return self._routed(sent)

    def statements(self) -> list[Row]:
        return [sent.body for sent in self.requests if sent.path == f"{OWN}/_api/cursor"]

    def _routed(self, sent: Sent) -> Answer:
        database, _, rest = sent.path.removeprefix("/_db/").partition("/_api/")
        if database not in self.databases:
            return 404, error(404, 1228, "database not found")
        kind, _, name = rest.partition("/")
        return getattr(self, f"_{kind}_{sent.method.lower()}")(sent, name)

    def _database_get(self, _sent: Sent, _name: str) -> Answer:
        return 200, {"error": False, "code": 200, "result": sorted(self.databases)}

    def _database_post(self, sent: Sent, _name: str) -> Answer:
        self.databases.add(sent.body["name"])
        return 201, {"error": False, "code": 201, "result": True}

    def _gharial_get(self, _sent: Sent, name: str) -> Answer:
        if name not in self.graphs:
            return 404, error(404, 1924, "graph not found")
        return 200, {"error": False, "code": 200, "graph": self.graphs[name]}

    def _gharial_post(self, sent: Sent, _name: str) -> Answer:
        self.graphs[sent.body["name"]] = sent.body
        for definition in sent.body["edgeDefinitions"]:
            self.collections |= {definition["collection"], *definition["from"], *definition["to"]}
        return 202, {"error": False, "code": 202, "graph": sent.body}

    def _collection_get(self, _sent: Sent, _name: str) -> Answer:
        return 200, {"error": False, "code": 200, "result": [{"name": name} for name in sorted(self.collections)]}

    def _collection_post(self, sent: Sent, _name: str) -> Answer:
        self.collections.add(sent.body["name"])
        return 200, {"error": False, "code": 200, "name": sent.body["name"], "id": "1", "status": 3, "type": 2}

    def _index_post(self, sent: Sent, _name: str) -> Answer:
        collection = sent.query["collection"][0]
        self.indexes.append((collection, sent.body))
        return 201, sent.body | {"id": f"{collection}/1", "error": False, "code": 201}

    def _transaction_post(self, _sent: Sent, _name: str) -> Answer:
        number = str(len(self._before) + 1)
        self._before[number] = copy.deepcopy(self.data)
        return 201, {"error": False, "code": 201, "result": {"id": number, "status": "running"}}

    def _transaction_put(self, _sent: Sent, name: str) -> Answer:
        return 200, {"error": False, "code": 200, "result": {"id": name, "status": "committed"}}

    def _transaction_delete(self, _sent: Sent, name: str) -> Answer:
        self.data = self._before[name]
        return 200, {"error": False, "code": 200, "result": {"id": name, "status": "aborted"}}

    def _cursor_post(self, sent: Sent, name: str) -> Answer:
        if name:
            return self._batch(name, self._cursors[name])
        result = self.data.execute(sent.body["query"], sent.body["bindVars"])
        return self._batch(str(len(self._cursors) + 1), result)

    def _cursor_put(self, _sent: Sent, name: str) -> Answer:
        return self._batch(name, self._cursors[name])

    def _batch(self, name: str, rows: list[Any]) -> Answer:
        self._cursors[name] = rows[BATCH:]
        body: Row = {"error": False, "code": 201, "result": rows[:BATCH], "hasMore": len(rows) > BATCH, "cached": False}
        return 201, body | ({"id": name} if body["hasMore"] else {}) | {"extra": {"warnings": [], "stats": {}}}


def error(status: int, number: int, message: str) -> Row:
    return {"error": True, "code": status, "errorNum": number, "errorMessage": message}


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@contextmanager
def arango_server(arango: Arango, port: int = 0) -> Iterator[Arango]:
    """The server on a free port of this machine."""

    connections: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # One packet per reply: two would wait for each other.
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)

        def _serve(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            raw = self.rfile.read(size)
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(raw) if raw else None
            status, reply = arango.answer(Sent(self.command, parts.path, parse_qs(parts.query), headers, body))
            if "/cursor" in parts.path:
                if not arango.released.is_set():
                    arango.arrived.release()
                arango.released.wait()
            sent = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            return None

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            return None

    server = Server(("127.0.0.1", port), Handler)
    arango.url = f"http://127.0.0.1:{server.server_port}"
    arango.released.set()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield arango
    finally:
        arango.released.set()
        server.shutdown()
        server.server_close()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        thread.join()
