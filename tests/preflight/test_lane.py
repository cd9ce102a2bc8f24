"""The lane through its front door: advice, its limits, and every reason for giving none."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import Constraints, ContextItem, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from lanemesh.v1.search_pb2 import RefineRequest

from services.preflight.advise import by_rules, fill, read
from services.preflight.lane import BYPASSES, open_lane
from services.runtime.__main__ import services_of
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import StartupError
from services.runtime.lane import IndexLane
from tests.preflight.conftest import answer, kinds, queries
from tests.preflight.labelled import ADVISED, CLEAR
from tests.preflight.test_personal import FOUND
from tests.support import TABLE, mesh, serving


async def test_advice_is_whole_and_without_evidence(ask) -> None:
    reply = await ask("What is Docker and how does it work?")
    advice = reply.preflight
    assert (reply.status, reply.reason, len(reply.evidence)) == (lane_pb2.LANE_STATUS_OK, "", 0)
    assert (advice.should_trigger, advice.model, advice.bypass_reason) == (True, "rules", "")
    assert queries(advice) == ["What is Docker?", "How does Docker work?"]
    assert [each.id for each in advice.suggestions] == ["s1", "s2"]
    assert all(each.reason and 0 < each.confidence <= 1 for each in advice.suggestions)
    assert advice.elapsed_ms > 0
    assert reply.message == "2 suggestions."


async def test_a_clear_question_is_told_to_be_so(ask) -> None:
    reply = await ask("Who wrote Dune?")
    assert (reply.status, reply.preflight.should_trigger) == (lane_pb2.LANE_STATUS_OK, False)
    assert reply.message == "The question needs no advice."


async def test_best_comes_first_and_there_are_at_most_three(ask) -> None:
    query = "What is Kafka? How does it scale? Why is it fast? When was it written by ann@example.com?"
    advice = (await ask(query)).preflight
    assert kinds(advice) == ["sanitize", "decompose", "decompose"]
    confidences = [each.confidence for each in advice.suggestions]
    assert confidences == sorted(confidences, reverse=True)
    assert kinds((await ask(query, max_results=1)).preflight) == ["sanitize"]


async def test_personal_data_is_located_in_characters_and_bytes(ask) -> None:
    query = "Грüße 🙂 an ann@example.com"
    (found,) = (await ask(query)).preflight.personal_data
    span = found.span
    assert (found.kind, found.redacted) == ("email", "[email]")
    assert query[span.start : span.end] == "ann@example.com"
    assert query.encode()[span.start_byte : span.end_byte] == b"ann@example.com"


async def test_no_suggestion_repeats_personal_data(ask) -> None:
    advice = (await ask("What is ann@example.com and how does it work?")).preflight
    assert "sanitize" in kinds(advice)
    assert b"example" not in advice.SerializeToString()


async def test_a_pronoun_may_find_its_meaning_in_the_context(ask) -> None:
    assert kinds((await ask("How does it work?")).preflight) == ["disambiguate"]
    assert not (await ask("How does it work?", context=[ContextItem(title="a", text="b")])).preflight.should_trigger


@pytest.mark.parametrize(
    ("query", "constraints"),
    [
        ("What are the latest advances in fusion energy?", Constraints(time_range=lane_pb2.TIME_RANGE_RECENT)),
        ("What are the latest advances in fusion energy?", Constraints(published_after=Timestamp(seconds=1))),
        ("Studies show that coffee is healthy", Constraints(sources=["academic"])),
    ],
)
async def test_what_is_chosen_is_not_asked_again(ask, query: str, constraints: Constraints) -> None:
    assert (await ask(query)).preflight.should_trigger
    assert not (await ask(query, constraints=constraints)).preflight.should_trigger


async def test_a_pasted_text_is_only_searched_for_personal_data(ask) -> None:
    advice = (await ask("How does it work? " * 100 + "ann@example.com")).preflight
    assert kinds(advice) == ["sanitize"]


async def test_turned_off(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_PREFLIGHT_ENABLED": "false"})
    _bypassed(await answer(lane, "How does it work?"), "TURNED_OFF")
    await lane.close()


async def test_system_pressure(ask) -> None:
    assert (await ask("How does it work?", system_pressure=0.75)).preflight.should_trigger
    _bypassed(await ask("How does it work?", system_pressure=0.76), "SYSTEM_PRESSURE")


async def test_no_time_left(ask) -> None:
    with ambient(Deadline.after(0.001)):
        _bypassed(await ask("How does it work?"), "BUDGET_EXCEEDED")


def _bypassed(reply: RetrieveResponse, reason: str) -> None:
    assert (reply.status, reply.reason) == (lane_pb2.LANE_STATUS_BYPASSED, reason)
    assert reply.preflight.bypass_reason == reason
    assert reply.message == BYPASSES[reason]
    assert not reply.preflight.should_trigger
    assert not reply.preflight.suggestions


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"LANEMESH_PREFLIGHT_MODEL": "required"}, "LANEMESH_MODEL_URL"),
        ({"LANEMESH_PREFLIGHT_MODEL": "sometimes"}, "LANEMESH_PREFLIGHT_MODEL"),
        ({"LANEMESH_PREFLIGHT_BUDGET_MS": "0"}, "LANEMESH_PREFLIGHT_BUDGET_MS"),
        ({"LANEMESH_MODEL_URL": "https://example.org"}, "LANEMESH_MODEL_NAME"),
        ({"LANEMESH_PREFLIGHT_VOCABULARY": "nowhere"}, "LANEMESH_PREFLIGHT_VOCABULARY"),
    ],
)
async def test_half_configured_refuses_to_start(environment, variables: dict[str, str], named: str) -> None:
    with pytest.raises(StartupError, match=named):
        await open_lane(environment | variables)


async def test_over_the_wire(lane) -> None:
    assert isinstance(lane, IndexLane)
    async with mesh({"preflight": lane}) as running:
        reply = await running.search.Refine(RefineRequest(query="What is Docker and how does it work?"))
    assert queries(reply.preflight) == ["What is Docker?", "How does Docker work?"]


async def test_a_bypass_over_the_wire(environment: dict[str, str]) -> None:
    lane = await open_lane(environment | {"LANEMESH_PREFLIGHT_ENABLED": "false"})
    async with (
        serving(*services_of("preflight", lane, TABLE)) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        reply = await LaneServiceStub(channel).Retrieve(RetrieveRequest(query="How?", max_results=3), timeout=5)
    await lane.close()
    _bypassed(reply, "TURNED_OFF")


PIECES = st.sampled_from([*CLEAR, *(query for query, _ in ADVISED), *(written for _, _, written in FOUND)]) | st.text(
    max_size=20
)
TEXTS = st.lists(PIECES, min_size=1, max_size=5).map(" ".join).filter(bool)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS)
def test_any_text_is_advised_on_within_the_limits(query: str) -> None:
    known = read(RetrieveRequest(query=query))
    advice = lane_pb2.Preflight()
    fill(advice, known, [*known.sanitized(), *by_rules(known)], 3, {})
    assert len(advice.suggestions) <= 3
    assert advice.should_trigger == bool(advice.suggestions)
    hidden = [query[item.span.start : item.span.end] for item in advice.personal_data]
    for item, text in zip(advice.personal_data, hidden, strict=True):
        assert query.encode()[item.span.start_byte : item.span.end_byte].decode() == text
    for each in advice.suggestions:
        assert 0 < len(each.title) <= 60
        assert each.refined_query.strip()
        assert each.type != lane_pb2.SUGGESTION_TYPE_UNSPECIFIED
        assert not any(text in each.refined_query for text in hidden)
    for chip in advice.chips:
        assert chip.proposed in ("", *chip.options)
