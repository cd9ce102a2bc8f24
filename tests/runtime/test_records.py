"""The limits of the contract, field by field, at the limit and one beyond it."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import Entity, Relation, UpsertRequest

from services.runtime import records
from services.runtime.errors import InvalidRequest
from services.runtime.records import MAX_CONTENT

Record = Document | Entity | Relation


def document(**fields: Any) -> Document:
    return Document(**({"id": "d", "content": "text"} | fields))


def entity(**fields: Any) -> Entity:
    return Entity(**({"id": "e", "name": "Entity"} | fields))


def relation(**fields: Any) -> Relation:
    return Relation(**({"head": "a", "relation": "CALLS", "tail": "b"} | fields))


KINDS = {"document": document, "entity": entity, "relation": relation}

TEXTS = [
    ("document", "id", 512),
    ("document", "title", 1_000),
    ("document", "content", MAX_CONTENT),
    ("document", "summary", 10_000),
    ("document", "url", 2_048),
    ("document", "project", 128),
    ("document", "author", 512),
    ("entity", "id", 512),
    ("entity", "name", 512),
    ("entity", "description", 10_000),
    ("relation", "relation", 128),
    ("relation", "description", 10_000),
]
LISTS = [
    ("document", "tags", 64),
    ("document", "access_labels", 32),
    ("entity", "aliases", 64),
    ("entity", "projects", 1_000),
    ("entity", "access_labels", 32),
    ("relation", "access_labels", 32),
]
REQUIRED = [
    ("document", "id"),
    ("document", "content"),
    ("entity", "id"),
    ("entity", "name"),
    ("relation", "head"),
    ("relation", "relation"),
    ("relation", "tail"),
]


def refused(record: Record) -> str:
    with pytest.raises(InvalidRequest) as caught:
        records.check(record)
    return caught.value.field


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_with_only_what_is_required_is_sound(kind: str) -> None:
    records.check(KINDS[kind]())


@pytest.mark.parametrize(("kind", "field", "most"), TEXTS)
def test_a_text_may_be_as_long_as_its_limit_counted_in_characters(kind: str, field: str, most: int) -> None:
    records.check(KINDS[kind](**{field: "é" * most}))
    assert refused(KINDS[kind](**{field: "é" * (most + 1)})) == f"{kind}.{field}"


@pytest.mark.parametrize(("kind", "field", "most"), LISTS)
def test_a_list_may_have_as_many_entries_as_its_limit(kind: str, field: str, most: int) -> None:
    records.check(KINDS[kind](**{field: ["x"] * most}))
    assert refused(KINDS[kind](**{field: ["x"] * (most + 1)})) == f"{kind}.{field}"


def test_attributes_are_counted() -> None:
    records.check(document(attributes={str(number): "" for number in range(64)}))
    assert refused(document(attributes={str(number): "" for number in range(65)})) == "document.attributes"


@pytest.mark.parametrize(("kind", "field"), REQUIRED)
@pytest.mark.parametrize("value", ["", " \n\t"])
def test_what_is_required_must_say_something(kind: str, field: str, value: str) -> None:
    assert refused(KINDS[kind](**{field: value})) == f"{kind}.{field}"


@pytest.mark.parametrize("field", ["tags", "access_labels"])
@pytest.mark.parametrize("entry", ["", "x" * 65])
def test_tags_and_labels_have_a_length_of_their_own(field: str, entry: str) -> None:
    records.check(document(**{field: ["x" * 64]}))
    assert refused(document(**{field: ["fine", entry]})) == f"document.{field}"


@pytest.mark.parametrize("tag", ["en", "pt-BR", "zh-Hant-TW", "sl-rozaj-biske"])
def test_a_language_is_a_tag(tag: str) -> None:
    records.check(document(language=tag))


@pytest.mark.parametrize("tag", ["e", "english language", "en_GB", "en-", "-en", "en\n", "12"])
def test_a_language_that_is_no_tag_is_refused(tag: str) -> None:
    assert refused(document(language=tag)) == "document.language"


@pytest.mark.parametrize(("seconds", "nanos"), [(-62_135_596_800, 0), (253_402_300_799, 999_999_999), (0, 0)])
def test_a_time_of_the_years_1_to_9999_is_sound(seconds: int, nanos: int) -> None:
    records.check(document(published_at=Timestamp(seconds=seconds, nanos=nanos)))


@pytest.mark.parametrize(
    ("seconds", "nanos"), [(-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)]
)
def test_any_other_time_is_refused(seconds: int, nanos: int) -> None:
    assert refused(document(published_at=Timestamp(seconds=seconds, nanos=nanos))) == "document.published_at"


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_confidence_lies_between_0_and_1(kind: str) -> None:
    for sound in (0.0, 0.5, 1.0):
        records.check(KINDS[kind](confidence=sound))
    for wrong in (-0.1, 1.1, float("nan"), float("inf")):
        assert refused(KINDS[kind](confidence=wrong)) == f"{kind}.confidence"


def test_a_failure_names_the_record_and_the_field() -> None:
    failure = records.refusal(UpsertRequest(sequence=7, relation=relation(tail="")))
    assert failure
    assert (failure.sequence, failure.id, failure.field) == (7, "a|CALLS|", "relation.tail")
    assert (failure.reason, failure.message) == ("INVALID_ARGUMENT", "must not be empty")


def test_a_request_without_a_record_is_a_failure() -> None:
    failure = records.refusal(UpsertRequest(sequence=3))
    assert failure
    assert (failure.sequence, failure.id, failure.field) == (3, "", "record")


def test_a_sound_record_is_no_failure() -> None:
    assert records.refusal(UpsertRequest(sequence=1, document=document())) is None


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


@given(
    st.builds(
        Document,
        id=TEXT,
        title=TEXT,
        content=TEXT,
        language=TEXT,
        tags=st.lists(TEXT, max_size=4),
        access_labels=st.lists(TEXT, max_size=4),
        attributes=st.dictionaries(TEXT, TEXT, max_size=4),
    )
)
def test_any_document_is_either_sound_or_refused_by_one_of_its_fields(anything: Document) -> None:
    before = anything.SerializeToString(deterministic=True)
    failure = records.refusal(UpsertRequest(sequence=1, document=anything))
    assert anything.SerializeToString(deterministic=True) == before
    if failure is None:
        assert anything.id.strip()
        assert anything.content.strip()
    else:
        kind, _, field = failure.field.partition(".")
        assert kind == "document"
        assert field in Document.DESCRIPTOR.fields_by_name
        assert failure.id == anything.id
