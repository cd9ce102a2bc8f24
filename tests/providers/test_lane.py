"""Provider lanes through their front door: steps that overlap, one run for identical questions, an honest status."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import grpc
import pytest
from lanemesh.v1 import lane_pb2
from lanemesh.v1.lane_pb2 import LaneStatus, RetrieveRequest, RetrieveResponse
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub
from prometheus_client import REGISTRY

from services.providers.lane import ProviderLane
from tests.providers.scripted import found, lane_of, outcomes, saying, search
from tests.simulator.server import Simulator
from tests.support import lane_server


async def call(lane: ProviderLane, seconds: float, query: str = "lock", max_results: int = 3) -> RetrieveResponse:
    """One question over gRPC with a deadline."""
    async with lane_server("web", lane) as address, grpc.aio.insecure_channel(address) as channel:  # type: ignore[arg-type]
        request = RetrieveRequest(query=query, max_results=max_results)
        return await LaneServiceStub(channel).Retrieve(request, timeout=seconds)


def status(reply: RetrieveResponse) -> str:
    return LaneStatus.Name(reply.status).removeprefix("LANE_STATUS_")


async def test_the_first_step_is_enough_when_it_answers(simulator: Simulator) -> None:
    simulator.replies["A"] = saying("a.org/1")
    async with lane_of(simulator, "A B cd") as lane:
        reply = await search(lane)
    assert found(reply) == ["a.org/1"]
    assert outcomes(reply) == {"A": "OK"}
    (evidence,) = reply.evidence
    assert (list(evidence.providers), evidence.simulated) == (["A"], True)
    assert evidence.score > 0
    assert (reply.attempts[0].tier, reply.attempts[0].results) == (lane_pb2.PROVIDER_TIER_KEYED, 1)


async def test_the_next_step_is_taken_after_failure_and_after_nothing(simulator: Simulator) -> None:
    simulator.faults["A"] = "500"
    simulator.replies |= {"B": saying(), "c": saying("c.org/1"), "d": saying("d.org/1", "d.org/2")}
    async with lane_of(simulator, "A B cd") as lane:
        reply = await search(lane)
    assert outcomes(reply) == {"A": "ERROR", "B": "EMPTY", "c": "OK", "d": "OK"}
    assert set(found(reply)) == {"c.org/1", "d.org/1", "d.org/2"}
    assert reply.attempts[0].message == "it failed (HTTP 500)"
    assert reply.status == lane_pb2.LANE_STATUS_UNSPECIFIED


async def test_a_slow_step_is_overtaken_and_may_still_finish(simulator: Simulator) -> None:
    gate = simulator.gates["A"] = asyncio.Event()
    simulator.replies |= {"A": saying("a.org/1"), "c": saying("c.org/1")}
    async with lane_of(simulator, "A c", LANEMESH_PROVIDER_HEDGE_SHARE="0.01", LANEMESH_PROVIDER_MS="30000") as lane:
        reply = await search(lane)
        assert outcomes(reply) == {"A": "CANCELLED", "c": "OK"}
        assert found(reply) == ["c.org/1"]
        gate.set()
        async with asyncio.timeout(30):
            while len(found(again := await search(lane))) < 2:
                pass
    assert again.cache == lane_pb2.CACHE_USE_HIT
    assert set(found(again)) == {"a.org/1", "c.org/1"}
    assert len(simulator.of("c")) == 1


async def test_enough_results_end_the_wait(simulator: Simulator) -> None:
    simulator.gates["d"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1", "c.org/2", "c.org/3", "c.org/4")
    async with lane_of(simulator, "cd") as lane:
        reply = await search(lane, max_results=2)
    assert found(reply) == ["c.org/1", "c.org/2"]
    assert outcomes(reply) == {"c": "OK", "d": "CANCELLED"}


async def test_of_providers_asked_at_once_none_fills_the_answer_alone(simulator: Simulator) -> None:
    for name in "cdef":
        simulator.replies[name] = saying(*(f"{name}.org/{number}" for number in range(20)))
    async with lane_of(simulator, "cdef") as lane:
        await search(lane, max_results=20)
    assert {asked.query["n"] for asked in simulator.asked} == {"10"}


async def test_the_same_page_of_two_providers_is_one(simulator: Simulator) -> None:
    simulator.replies |= {"c": saying("x.org/1", "www.y.org/2/?utm_source=c"), "d": saying("y.org/2")}
    async with lane_of(simulator, "cd") as lane:
        reply = await search(lane)
    assert found(reply) == ["y.org/2", "x.org/1"]
    assert list(reply.evidence[0].providers) == ["c", "d"]


async def test_everything_down_is_an_error_and_no_result(simulator: Simulator) -> None:
    simulator.faults |= {"A": "401", "c": "429", "d": "hang-up"}
    async with lane_of(simulator, "A cd") as lane:
        reply = await call(lane, 30.0)
    assert (status(reply), reply.reason, len(reply.evidence)) == ("ERROR", "PROVIDERS_FAILED", 0)
    assert outcomes(reply) == {"A": "UNAUTHORIZED", "c": "RATE_LIMITED", "d": "ERROR"}
    assert reply.message == "Providers failed: A (unauthorized), c (rate_limited), d (error)."


async def test_nothing_found_says_what_was_looked_for(simulator: Simulator) -> None:
    simulator.replies |= {"c": saying(), "d": saying()}
    async with lane_of(simulator, "cd") as lane:
        reply = await call(lane, 30.0, "zyzzyva")
    assert (status(reply), reply.reason) == ("EMPTY", "NO_MATCH")
    assert reply.message == 'Nothing was found for "zyzzyva"; asked: c, d.'


async def test_a_failure_beside_nothing_is_not_shown_as_empty(simulator: Simulator) -> None:
    simulator.replies["c"] = saying()
    simulator.faults["d"] = "500"
    async with lane_of(simulator, "cd") as lane:
        assert status(await call(lane, 30.0)) == "ERROR"


async def test_a_misread_reply_costs_only_its_provider(simulator: Simulator) -> None:
    simulator.faults["c"] = "other-shape"
    simulator.replies["d"] = saying("d.org/1")
    async with lane_of(simulator, "cd") as lane:
        reply = await search(lane)
    assert outcomes(reply) == {"c": "ERROR", "d": "OK"}
    assert reply.attempts[0].message == "the reply has another form than expected"


async def test_the_deadline_yields_what_is_there(simulator: Simulator) -> None:
    simulator.gates["d"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "cd", LANEMESH_PROVIDER_MS="30000") as lane:
        reply = await call(lane, 0.3)
    assert (status(reply), reply.reason) == ("PARTIAL", "DEADLINE_EXCEEDED")
    assert found(reply) == ["c.org/1"]
    assert outcomes(reply) == {"c": "OK", "d": "TIMEOUT"}


async def test_with_the_first_step_hanging_the_next_answers_inside_the_budget(simulator: Simulator) -> None:
    simulator.gates |= {"A": asyncio.Event(), "B": asyncio.Event()}
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "A B c") as lane:
        reply = await call(lane, 0.3)
    assert status(reply) == "OK"
    assert outcomes(reply) == {"A": "CANCELLED", "B": "CANCELLED", "c": "OK"}


async def test_nothing_in_time_is_a_timeout(simulator: Simulator) -> None:
    simulator.gates["c"] = asyncio.Event()
    async with lane_of(simulator, "c") as lane:
        reply = await call(lane, 0.2)
    assert (status(reply), outcomes(reply)) == ("TIMEOUT", {"c": "TIMEOUT"})


async def test_a_late_fetch_warms_the_cache(simulator: Simulator) -> None:
    gate = simulator.gates["c"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_MS="30000") as lane:
        assert status(await call(lane, 0.2)) == "TIMEOUT"
        gate.set()
        async with asyncio.timeout(30):
            while (reply := await search(lane)).cache != lane_pb2.CACHE_USE_HIT:
                pass
    assert found(reply) == ["c.org/1"]


async def test_without_room_in_the_background_a_late_fetch_is_ended(simulator: Simulator) -> None:
    simulator.gates["c"] = asyncio.Event()
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_BACKGROUND="0", LANEMESH_PROVIDER_MS="30000") as lane:
        await call(lane, 0.2)
        await asyncio.wait_for(simulator.left["c"].wait(), 30)
    assert len(simulator.asked) == 1


async def test_a_hundred_identical_questions_are_one_request(simulator: Simulator) -> None:
    gate = simulator.gates["c"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_MS="30000") as lane:
        askings = [asyncio.create_task(search(lane)) for _ in range(100)]
        await simulator.reached["c"].wait()
        gate.set()
        replies = await asyncio.gather(*askings)
    assert len(simulator.asked) == 1
    assert {tuple(found(reply)) for reply in replies} == {("c.org/1",)}
    uses = [reply.cache for reply in replies]
    assert (uses.count(lane_pb2.CACHE_USE_MISS), uses.count(lane_pb2.CACHE_USE_JOINED)) == (1, 99)


@pytest.mark.parametrize("filters", [{"language": "de"}, {"sources": ["x"]}, {"access_labels": ["team"]}])
async def test_a_constraint_makes_another_question(simulator: Simulator, filters: dict[str, object]) -> None:
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c") as lane:
        await asyncio.gather(search(lane), search(lane, **filters))
        await search(lane)
    assert len(simulator.asked) == 2


async def test_a_leader_who_leaves_does_not_take_the_others_along(simulator: Simulator) -> None:
    gate = simulator.gates["c"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_MS="30000") as lane:
        leader = asyncio.create_task(search(lane))
        await simulator.reached["c"].wait()
        other = asyncio.create_task(search(lane))
        await asyncio.sleep(0)
        leader.cancel()
        await asyncio.gather(leader, return_exceptions=True)
        gate.set()
        assert found(await other) == ["c.org/1"]
    assert len(simulator.asked) == 1


async def test_who_asks_when_everybody_has_left_begins_anew(simulator: Simulator) -> None:
    gate = simulator.gates["c"] = asyncio.Event()
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_MS="30000") as lane:
        leader = asyncio.create_task(search(lane))
        await simulator.reached["c"].wait()
        leader.cancel()
        await asyncio.gather(leader, return_exceptions=True)
        other = asyncio.create_task(search(lane))
        gate.set()
        assert found(await other) == ["c.org/1"]


async def test_health_and_outcomes_are_exported(simulator: Simulator, caplog: pytest.LogCaptureFixture) -> None:
    def sample(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(name, {"lane": "web", "provider": "e"} | labels) or 0.0

    before = sample("lanemesh_provider_attempts_total", tier="keyless", outcome="error")
    demoted = sample("lanemesh_provider_demotions_total", to="demoted")
    simulator.faults["e"] = "500"
    async with lane_of(simulator, "e") as lane:
        await search(lane)
    assert sample("lanemesh_provider_attempts_total", tier="keyless", outcome="error") == before + 1
    assert sample("lanemesh_provider_failure_share") == pytest.approx(1 / 3, abs=0.01)
    assert sample("lanemesh_provider_standing") == 1
    assert sample("lanemesh_provider_demotions_total", to="demoted") == demoted + 1
    (line,) = [record for record in caplog.records if record.getMessage() == "provider demoted"]
    assert (vars(line)["lane"], vars(line)["provider"]) == ("web", "e")


async def test_attempts_say_when_they_began(simulator: Simulator) -> None:
    async with lane_of(simulator, "e") as lane:
        reply = await call(lane, 30.0)
    (attempt,) = reply.attempts
    assert 0.0 <= attempt.started_ms <= attempt.started_ms + attempt.elapsed_ms <= reply.elapsed_ms


async def test_only_answers_with_results_are_kept(simulator: Simulator) -> None:
    simulator.replies["c"] = saying()
    async with lane_of(simulator, "c") as lane:
        await search(lane)
        simulator.faults["c"] = "500"
        assert (await search(lane)).cache == lane_pb2.CACHE_USE_MISS
        del simulator.faults["c"]
        simulator.replies["c"] = saying("c.org/1")
        assert found(await search(lane)) == ["c.org/1"]
    assert len(simulator.asked) == 3


async def test_a_stale_answer_is_better_than_none_and_marked(simulator: Simulator) -> None:
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", cache_seconds=-1) as lane:
        first = await search(lane)
        simulator.faults["c"] = "500"
        reply = await call(lane, 30.0)
    assert not first.evidence[0].stale
    assert (status(reply), reply.reason, reply.cache) == ("PARTIAL", "STALE", lane_pb2.CACHE_USE_STALE)
    assert [evidence.stale for evidence in reply.evidence] == [True]
    assert found(reply) == found(first)
    assert outcomes(reply) == {"c": "ERROR"}


async def test_a_stale_answer_is_there_when_time_runs_out(simulator: Simulator) -> None:
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "c", cache_seconds=-1) as lane:
        await search(lane)
        simulator.gates["c"] = asyncio.Event()
        reply = await call(lane, 0.2)
    assert (status(reply), reply.cache) == ("PARTIAL", lane_pb2.CACHE_USE_STALE)
    assert reply.evidence[0].stale


async def test_a_provider_that_keeps_failing_is_left_alone(simulator: Simulator) -> None:
    simulator.faults["A"] = "500"
    simulator.replies["c"] = saying("c.org/1")
    async with lane_of(simulator, "A c") as lane:
        replies = [await search(lane, f"question {number}") for number in range(5)]
    assert [outcomes(reply)["A"] for reply in replies] == ["ERROR", "ERROR", "ERROR", "SUSPENDED", "SUSPENDED"]
    assert len(simulator.of("A")) == 3
    assert replies[-1].attempts[0].message.startswith("suspended; the next probe is in")
    assert all(found(reply) for reply in replies)


async def test_a_demoted_provider_is_asked_after_its_tier_and_pays_in_the_ranking(simulator: Simulator) -> None:
    simulator.faults["A"] = "500"
    simulator.replies |= {"A": saying("a.org/1"), "B": saying("b.org/1")}
    async with lane_of(simulator, "A B") as lane:
        await search(lane)
        del simulator.faults["A"]
        simulator.replies["B"] = saying()
        reply = await search(lane, "another")
    assert list(outcomes(reply)) == ["B", "A"]
    assert reply.evidence[0].provider_adjustment < 0


async def test_retry_after_is_obeyed(simulator: Simulator) -> None:
    simulator.faults["c"] = "429"
    simulator.replies["d"] = saying("d.org/1")
    async with lane_of(simulator, "cd") as lane:
        await search(lane)
        reply = await search(lane, "another")
    assert outcomes(reply)["c"] == "SUSPENDED"
    assert len(simulator.of("c")) == 1


async def test_several_questions_are_asked_at_once_and_answered_together(simulator: Simulator) -> None:
    def frame(question, _reply):
        return [replace(question, query=word) for word in question.query.split()]

    def by_query(request, _path):
        return saying(f"{request.query['q']}.org/1")(request, _path)

    simulator.replies["c"] = by_query
    async with lane_of(simulator, "c", frame=frame) as lane:
        first = await search(lane, "one two")
        second = await search(lane, "two three")
    assert set(found(first)) == {"one.org/1", "two.org/1"}
    assert len(first.attempts) == 2
    assert set(found(second)) == {"two.org/1", "three.org/1"}
    assert len(simulator.asked) == 3


async def test_a_frame_that_asks_nothing_has_the_last_word(simulator: Simulator) -> None:
    def frame(_question, reply):
        reply.reason, reply.message = "NO_ENTITY", "nothing to ask about"
        return ()

    async with lane_of(simulator, "c", frame=frame) as lane:
        reply = await call(lane, 30.0)
    assert (status(reply), reply.reason, reply.message) == ("EMPTY", "NO_ENTITY", "nothing to ask about")
    assert not simulator.asked


async def test_closing_ends_what_runs(simulator: Simulator) -> None:
    simulator.gates["c"] = asyncio.Event()
    async with lane_of(simulator, "c", LANEMESH_PROVIDER_MS="30000") as lane:
        asking = asyncio.create_task(search(lane))
        await simulator.reached["c"].wait()
        await lane.close()
        reply = await asking
    assert outcomes(reply) == {"c": "CANCELLED"}
