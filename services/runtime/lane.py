"""What a lane is: something that finds evidence for a question, and knows nothing of the wire it is asked over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from lanemesh.v1.index_pb2 import DeleteRequest, RecordFailure, StatsResponse, UpsertRequest
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse


class Lane(Protocol):
    """A source of evidence. Created by `open_lane(environment)` in services/<name>/lane.py."""

    async def retrieve(self, request: RetrieveRequest, reply: RetrieveResponse) -> None:
        """Fills `reply` in place, best evidence first.

        What stands in `reply` when the soft deadline passes is returned as PARTIAL, so a lane with several sources adds
        each as it comes. Leaving the status unset means OK, or EMPTY when there is no evidence; an EMPTY reply
        says in `reply.message` what was looked for. Errors are raised, as services.runtime.errors.
        """

    async def check(self) -> None:
        """Returns when the lane could answer now; raises what is wrong otherwise."""

    async def close(self) -> None:
        """Gives back files, threads and connections."""


@runtime_checkable
class IndexLane(Protocol):
    """A lane that keeps an index of its own and takes part in ingestion. It is a Lane as well."""

    # Kinds of record it stores, of: document, entity, relation.
    keeps: frozenset[str]

    async def upsert(self, records: Sequence[UpsertRequest]) -> Sequence[RecordFailure]:
        """Stores a batch of sound records durably, replacing those of the same identity; returns what it refused."""

    async def delete(self, request: DeleteRequest) -> int:
        """Deletes by identity; returns how many records existed."""

    async def stats(self, access_labels: Sequence[str]) -> StatsResponse:
        """Counts what a caller holding `access_labels` may see."""
