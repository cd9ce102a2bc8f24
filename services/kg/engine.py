"""What a graph engine offers the kg lane. One file per engine implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import Filters

# By which of its names a query found an entity; a lower one is the better match.
NAME, ALIAS, SHORTENED = range(3)

# An engine's own name of an entity, opaque to everybody else.
Handle = int | str


@dataclass(frozen=True, slots=True)
class Node:
    """An entity as the caller may see it; `projects` holds those the filters leave."""

    handle: Handle
    id: str
    name: str
    type: str
    description: str
    confidence: float
    projects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """An entity found by one of its keys; `degree` counts its relations, up to a bound."""

    key: str
    kind: int
    node: Node
    degree: int


@dataclass(frozen=True, slots=True)
class Spoke:
    """A relation type in one direction; reversed means from its tail to its head."""

    relation: str
    reversed: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation followed from `source` to `node`."""

    source: Handle
    spoke: Spoke
    node: Node
    confidence: float
    description: str
    projects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mention:
    """A document that mentions an entity by one of these keys."""

    handle: Handle
    keys: tuple[str, ...]
    document: Document


class Engine(Protocol):
    """A knowledge graph. Every call keeps the ambient deadline, applies labels and projects of the filters inside its
    query to entities, relations and documents alike, and raises services.runtime.errors."""

    name: str

    async def link(self, keys: Sequence[str], filters: Filters) -> Sequence[Named]:
        """The entities that have one of the keys, at most LINK_LIMIT for each key, the best connected first."""

    async def spokes(self, handles: Sequence[Handle], filters: Filters) -> Sequence[Spoke]:
        """The relation types that lead away from any of the entities, in either direction."""

    async def expand(
        self, handles: Sequence[Handle], spokes: Sequence[Spoke], filters: Filters, limit: int
    ) -> Sequence[Edge]:
        """The surest `limit` relations of these types that lead away from the entities."""

    async def paths(
        self, start: Handle, end: Handle, relations: Sequence[str], hops: int, filters: Filters, count: int
    ) -> Sequence[Sequence[Edge]]:
        """The `count` shortest paths without a repeated entity, relations followed in both directions."""

    async def projects(self, handles: Sequence[Handle], filters: Filters) -> Mapping[Handle, Sequence[str]]:
        """The projects that contain each entity: its own, or those that state its relations when it names none."""

    async def documents(self, handles: Sequence[Handle], filters: Filters, limit: int) -> Sequence[Mention]:
        """For each entity the best `limit` documents that mention it, among those the filters let through."""

    async def upsert(self, records: Sequence[UpsertRequest]) -> None:
        """Stores all of them durably or none, each replacing the record of its identity."""

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes by identity; returns how many of the named records existed."""

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what a caller holding these labels may see."""

    async def check(self) -> None:
        """Returns when a question would be answered now."""

    async def close(self) -> None:
        """Gives back files, threads and connections."""


# Entities of one key worth telling apart; relations counted to do so; entities whose relation types are looked at.
LINK_LIMIT = 24
DEGREE_LIMIT = 50
SPOKE_SAMPLE = 64
