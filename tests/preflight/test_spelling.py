"""Spelling against the words of the documents: corrected when it is sure, and left alone in every other case."""

from __future__ import annotations

from pathlib import Path

import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest

from services.preflight.forms import same_word
from services.preflight.lane import PreflightLane, open_lane
from services.preflight.slips import one_slip, two_slips
from services.runtime.deadline import Deadline, ambient
from tests.preflight.conftest import answer, kinds, queries

TEXT = "phosphorylation of the receptor by kinases; colorimetry, homocysteine and the idempotency of orchestration"


def corpus(text: str = TEXT, count: int = 5, **fields: object) -> list[Document]:
    return [Document(id=f"{text[:8]}{number}", content=text, **fields) for number in range(count)]


@pytest.mark.parametrize(
    ("query", "corrected"),
    [
        ("Which kinase binds the receptr?", "Which kinase binds the receptor?"),
        ("how is the recpetor activated", "how is the receptor activated"),
        ("what does phosphorilaton change", "what does phosphorylation change"),
        ("what does idempotancy mean for retries", "what does idempotency mean for retries"),
        ("homocystiene and the recepter in blood", "homocysteine and the receptor in blood"),
    ],
)
async def test_a_slip_is_corrected(store, ask, query: str, corrected: str) -> None:
    await store(*corpus())
    advice = (await ask(query)).preflight
    assert (kinds(advice), queries(advice)) == (["refine"], [corrected])
    assert advice.suggestions[0].title.startswith("Did you mean “")


@pytest.mark.parametrize(
    "query",
    [
        "which receptors bind the kinase",
        "what is colourimetry used for in blood tests",
        "how does Receptr compare to MLflow",
        "RECEPTR gene expression in mice",
        "where is receptr_id set in schema.sql",
        "why does receptr2 fail in tests",
        "how are wonderful people connected",
        "what does zyzzyva mean in biology",
        "does the preceptor teach students",
        "which kinas is it that binds to them",
        "what do рецептор and receptör mean in science",
    ],
)
async def test_what_is_no_slip_is_left_alone(store, ask, query: str) -> None:
    await store(*corpus())
    assert not (await ask(query)).preflight.should_trigger


async def test_two_candidates_are_none(store, ask) -> None:
    await store(*corpus("stalactite"), *corpus("statactite"))
    assert not (await ask("how does a stajactite grow in caves")).preflight.should_trigger


async def test_a_rare_word_corrects_nothing(store, ask) -> None:
    await store(*corpus(count=2))
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger


async def test_without_documents_nothing_is_corrected(ask) -> None:
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger


async def test_words_go_with_their_documents(lane: PreflightLane, store, ask) -> None:
    await store(*corpus())
    assert (await lane.stats([])).documents == 5
    ids = [document.id for document in corpus()]
    assert await lane.delete(DeleteRequest(document_ids=[*ids[:4], ids[0], "missing"])) == 4
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger
    assert await lane.delete(DeleteRequest(document_ids=ids)) == 1
    assert (await lane.stats([])).documents == 0


async def test_a_replaced_document_counts_once(store, ask) -> None:
    for _ in range(3):
        await store(*corpus(count=2))
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger
    await store(Document(id="other", content=TEXT))
    assert (await ask("how is the recpetor activated")).preflight.should_trigger


async def test_labelled_documents_teach_nothing(lane: PreflightLane, store, ask) -> None:
    await store(*corpus(access_labels=["secret"]))
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger
    assert (await lane.stats(["secret"])).documents == 0


async def test_a_document_that_becomes_labelled_is_forgotten(store, ask) -> None:
    await store(*corpus())
    await store(*corpus(access_labels=["secret"]))
    assert not (await ask("how is the recpetor activated")).preflight.should_trigger


async def test_words_survive_a_restart(environment: dict[str, str], store, lane: PreflightLane) -> None:
    await store(*corpus(project="p"))
    second = await open_lane(environment)
    assert (await answer(second, "how is the recpetor activated")).preflight.should_trigger
    assert dict((await second.stats([])).documents_by_project) == {"p": 5}
    await second.close()


async def test_a_file_of_words(environment: dict[str, str], tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("# our own\nReceptor\nkinase 7\nrare 1\n\n")
    lane = await open_lane(environment | {"LANEMESH_PREFLIGHT_VOCABULARY": str(words)})
    advice = (await answer(lane, "which kinaze binds the recepter")).preflight
    assert queries(advice) == ["which kinase binds the receptor"]
    await lane.close()
    lane = await open_lane(environment)
    assert not (await answer(lane, "which kinaze binds the recepter")).preflight.should_trigger
    await lane.close()


async def test_a_vocabulary_that_cannot_be_asked_is_told(lane: PreflightLane, store, ask, monkeypatch) -> None:
    await store(*corpus())
    with ambient(_Late(10.0)):
        reply = await ask("What is Docker and how does the recpetor work?")
    assert (reply.status, reply.reason) == (lane_pb2.LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED")
    assert "Spelling was not checked" in reply.message
    assert kinds(reply.preflight) == ["decompose", "decompose"]


class _Late(Deadline):
    """A deadline that has passed for whoever asks the vocabulary, and not for the lane."""

    def soft(self) -> Deadline:
        return _Late(0.0, lambda: 0.0)

    def remaining(self) -> float:
        return 0.1

    def passed(self) -> bool:
        return True

    def require(self) -> float:
        return Deadline.after(-1.0).require()


def test_slips() -> None:
    near = one_slip("kinase")
    assert {"kinaes", "kinas", "kinasse", "kinaze", "knase"} <= near
    assert not {"kinase", "pinase", "kilase", "iknase"} & near
    assert two_slips("phosphorilaton", "phosphorylation")
    assert two_slips("seperrate", "separate")
    assert not two_slips("stagnation", "starvation")
    assert not two_slips("phosphorilatun", "phosphorylation")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("colour", "color"),
        ("organise", "organize"),
        ("centre", "center"),
        ("kinase", "kinases"),
        ("study", "studies"),
        ("compressor", "compression"),
    ],
)
def test_forms_of_one_word(left: str, right: str) -> None:
    assert same_word(left, right)
    assert same_word(right, left)


@pytest.mark.parametrize(
    ("left", "right"), [("recepter", "receptor"), ("existance", "existence"), ("receptr", "receptor")]
)
def test_slips_in_an_ending_are_no_forms(left: str, right: str) -> None:
    assert not same_word(left, right)
