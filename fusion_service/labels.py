"""Lane-style labels: local:file.md#L10-L20, graph:Entity, vector:project/file."""

from __future__ import annotations

import re

from lanemesh.v1.evidence_pb2 import Document, Evidence

LOCAL, GRAPH, SIMILAR = "local", "graph", "similar"
# The attribute under which a lane gives the path of a document's file.
_PATH = "path"
_BARE = "document"
# What would end a marker early or disturb a terminal.
_UNSAFE = re.compile(r"[\[\]\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]+")


def evidence_label(evidence: Evidence) -> str:
    """The label of a ranked piece of evidence, under the lane that ranked it best."""
    document = evidence.document
    if evidence.HasField("file") and evidence.file.path:
        file = evidence.file
        return _safe(LOCAL, f"{file.path}#L{file.start_line}-L{file.end_line}")
    if "kg" in evidence.lanes:
        return _safe(GRAPH, document.title or evidence.graph.entity_id or document.id)
    contributions = evidence.components.contributions
    best = contributions[0] if len(contributions) == 1 else min(contributions, key=lambda one: one.rank)
    return _safe(best.lane, _name(document))


def document_label(document: Document) -> str:
    """The label of a document no lane vouches for."""
    return _safe(_BARE, _name(document))


def _name(document: Document) -> str:
    name = document.attributes.get(_PATH, document.id)
    project = document.project
    return f"{project}/{name}" if project and not name.startswith(f"{project}/") else name


def _safe(prefix: str, name: str) -> str:
    return f"{prefix}:{_UNSAFE.sub(' ', name).strip()}"
