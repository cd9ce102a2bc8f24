"""Names recognised by a model count for more; without one nothing changes."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from lanemesh.v1.index_pb2 import Entity
from lanemesh.v1.lane_pb2 import RetrieveRequest, RetrieveResponse

from services.kg.lane import open_lane
from services.kg.recognise import recogniser_of
from services.runtime.errors import StartupError
from tests.kg.conftest import records


def model(name: str) -> object:
    """A model that recognises every word in lower-case letters that begins with q."""
    if name != "little":
        raise OSError(name)
    return lambda query: SimpleNamespace(ents=[SimpleNamespace(text=w) for w in query.split() if w.startswith("q")])


async def test_model_raises_what_it_recognises(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=model))
    lane = await open_lane(environment | {"LANEMESH_KG_SPACY_MODEL": "little"})
    await lane.upsert(records(Entity(id="q", name="quay"), Entity(id="b", name="Boat")))
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query="is the Boat at the quay", max_results=5), reply)
    assert [linked.name for linked in reply.entities] == ["quay", "Boat"]
    await lane.close()


def test_missing_model_or_library_refuses_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=model))
    with pytest.raises(StartupError, match="LANEMESH_KG_SPACY_MODEL='large'"):
        recogniser_of("large")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(StartupError, match="installed"):
        recogniser_of("little")


async def test_a_hint_does_not_make_a_part_of_a_name_the_name(environment: dict[str, str]) -> None:
    lane = await open_lane(environment)
    await lane.upsert(records(Entity(id="old", name="Apartment 9"), Entity(id="new", name="Apartment 9 3D")))
    reply = RetrieveResponse()
    request = RetrieveRequest(query="who plays in Apartment 9 3D?", entities=["Apartment 9", ""], max_results=5)
    await lane.retrieve(request, reply)
    assert [linked.entity_id for linked in reply.entities] == ["new"]
    await lane.close()
