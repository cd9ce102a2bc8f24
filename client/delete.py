"""`lanemesh delete`: documents, entities or relations out of every index lane, by identity."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from lanemesh.v1.search_pb2 import IngestRequest

from client import ingest, options
from client.mesh import Mesh
from client.records import Item, Origin, Problem, Record
from client.triples import relation_of
from services.runtime.errors import InvalidRequest


def register(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("id", metavar="ID", nargs="+", help="identity of a document, as `ask --json` shows it")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--entity", action="store_true", help="the identities are entities; their relations go too")
    kinds.add_argument("--relation", action="store_true", help="the identities are relations, head|relation|tail")
    options.add_json(parser)


async def run(arguments: argparse.Namespace) -> int:
    """Deletes and sums up. What is not there is not an error: each lane says how many it had."""
    async with Mesh() as mesh:
        items = _relations(arguments.id) if arguments.relation else _deletions(arguments.id, arguments.entity)
        summary = await ingest.ingest(mesh, items)
    return ingest.finish(summary, arguments.json, "deleted")


def _deletions(identities: Sequence[str], entities: bool) -> Iterator[Item]:
    field = "delete_entity_id" if entities else "delete_document_id"
    for identity in identities:
        request = IngestRequest()
        try:
            setattr(request, field, identity)
        except (ValueError, UnicodeEncodeError):
            yield Problem(Origin(repr(identity)), "id", "is not valid Unicode", 0)
        else:
            yield Record(Origin(identity), request, 0)


def _relations(identities: Sequence[str]) -> Iterator[Item]:
    for identity in identities:
        try:
            request = IngestRequest(delete_relation=relation_of(identity))
        except InvalidRequest as error:
            yield Problem(Origin(repr(identity)), error.field, error.description, 0)
        else:
            yield Record(Origin(identity), request, 0)
