"""A database file of a lane: created with its tables on first use, refused when its version is another."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from services.runtime.errors import StartupError
from services.sqlite.connections import connect
from services.sqlite.errors import refusing_to_start


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of one lane and their version; `what` names the file in errors, such as "keyword index"."""

    what: str
    version: int
    statements: Sequence[str]

    def prepare(
        self, path: Path, lock_wait: float, also: Callable[[sqlite3.Connection], object] = lambda _connection: None
    ) -> None:
        """Creates the tables where there are none, and does `also` with them; StartupError when they are unusable."""
        with refusing_to_start(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = connect(path, lock_wait)
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                self._create_or_compare(connection, path)
                also(connection)
                connection.execute("COMMIT")
            finally:
                connection.close()

    def _create_or_compare(self, connection: sqlite3.Connection, path: Path) -> None:
        found = connection.execute("PRAGMA user_version").fetchone()[0]
        if found == 0 and connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
            for statement in self.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {self.version}")
        elif found != self.version:
            wanted = f"this lane needs version {self.version}: move it away and ingest again"
            raise StartupError(f"the {self.what} {path} has schema version {found}, {wanted}")
