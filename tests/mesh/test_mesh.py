"""The mesh as its users meet it: real processes, the real command, faults by signal."""

from __future__ import annotations

import asyncio
import hashlib
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import psutil
from lanemesh.v1.lane_pb2 import LaneStatus
from lanemesh.v1.search_pb2 import SearchRequest, SearchResponse, StreamSearchRequest

if TYPE_CHECKING:
    from tests.mesh.conftest import Up

LANES = ["web", "vector", "kg", "keyword", "news", "markets", "local", "preflight"]


def statuses(reply: SearchResponse) -> dict[str, tuple[str, str]]:
    return {row.lane: (LaneStatus.Name(row.status).removeprefix("LANE_STATUS_"), row.reason) for row in reply.ledger}


async def until(up: Up, lane: str, status: str) -> SearchResponse:
    """Asks until the lane has that status; the test's own time-out bounds it."""
    async with asyncio.timeout(30):
        while statuses(reply := await up.ask())[lane][0] != status:
            pass
    return reply


async def test_an_answer_is_cited_to_the_character_and_the_ledger_is_whole(up: Up) -> None:
    reply = await up.json("ask", "How many times does PaymentAdapter retry a failed charge?")
    assert reply["answer"]
    assert [row["lane"] for row in reply["ledger"]] == LANES
    assert {row["lane"]: row["status"] for row in reply["ledger"]}["keyword"] == "OK"
    assert reply["degradation"] == "L0"
    assert len(reply["trace_id"]) == 32
    documents = {result["document"]["id"]: result["document"]["content"] for result in reply["results"]}
    markers = {entry["marker"]: entry["id"] for entry in reply["bibliography"]}
    citations = [citation for sentence in reply["sentences"] for citation in sentence["citations"]]
    assert citations
    for citation in citations:
        content = documents[citation["document_id"]]
        assert content[citation["start"] : citation["end"]] == citation["passage"]
        assert content.encode()[citation["start_byte"] : citation["end_byte"]] == citation["passage"].encode()
        assert citation["sha256"] == hashlib.sha256(citation["passage"].encode()).hexdigest()
        assert markers[citation["marker"]] == citation["document_id"]


async def test_simulated_results_say_so_and_others_do_not(up: Up) -> None:
    question = SearchRequest(
        query="How does a canal lock raise boats?", include_lanes=["web", "keyword"], max_results=100
    )
    reply = await up.search.Search(question, timeout=5.0)
    assert statuses(reply)["web"][0] == "OK"
    marked = {
        lane: {result.simulated for result in reply.results if lane in result.lanes} for lane in ("web", "keyword")
    }
    assert marked == {"web": {True}, "keyword": {False}}


async def test_restricted_documents_are_not_shown_to_a_caller_without_labels(up: Up) -> None:
    reply = await up.ask("acquirer fees 2026 revenue recognition penetration test signing key", max_results=100)
    assert reply.results
    assert not [result.document.id for result in reply.results if result.document.access_labels]


async def test_bad_input_is_named_and_the_mesh_goes_on(up: Up, tmp_path: Path) -> None:
    for arguments, field in (
        (("ask", ""), "query"),
        (("ask", "x" * 10_001), "query"),
        (("ask", "x", "--max-results", "0"), "max_results"),
        (("ask", "x", "--max-results", "101"), "max_results"),
        (("ask", "x", "--mode", "psychic"), "mode"),
        (("ask", "x", "--time-range", "yesterday-ish"), "constraints.time_range"),
    ):
        code, out, err = await up.command(*arguments)
        assert (code, out) == (2, ""), err
        assert field in err
        assert "Traceback" not in err
    broken = tmp_path / "broken.jsonl"
    broken.write_text(
        '{"id": "good-1", "content": "Quokkas smile."}\n{"id": "bad"\n{"id": "good-2", "content": "x y"}\n'
    )
    code, _, err = await up.command("ingest", str(broken))
    assert code == 1
    assert "broken.jsonl:2" in err
    reply = await up.ask("Do quokkas smile?")
    assert reply.results[0].document.id == "good-1"


async def test_ingesting_again_changes_nothing(up: Up) -> None:
    before = await up.json("lanes")
    corpus = Path(__file__).parents[2] / "examples" / "corpus"
    await up.json("ingest", str(corpus))
    assert _documents(await up.json("lanes")) == _documents(before) > 80


def _documents(listing: dict[str, list[dict[str, dict[str, int]]]]) -> int:
    return next(lane["stats"]["documents"] for lane in listing["lanes"] if lane["name"] == "keyword")


async def test_a_stopped_lane_costs_only_itself(up: Up) -> None:
    up.kill("local", signal.SIGSTOP)
    replies = await asyncio.gather(*(up.ask() for _ in range(20)))
    for reply in replies:
        assert statuses(reply)["local"] == ("TIMEOUT", "DEADLINE_EXCEEDED")
        assert statuses(reply)["keyword"][0] == "OK"
        assert reply.results
    up.kill("local", signal.SIGCONT)
    await until(up, "local", "OK")


async def test_a_killed_lane_is_reported_and_comes_back_alone(up: Up) -> None:
    before = {name: process.pid for name, process in up.processes().items()}
    up.kill("local", signal.SIGKILL)
    reply = await up.ask()
    assert statuses(reply)["local"] == ("ERROR", "UNAVAILABLE")
    assert statuses(reply)["keyword"][0] == "OK"
    await until(up, "local", "OK")
    after = {name: process.pid for name, process in up.processes().items()}
    assert after.pop("local") != before.pop("local")
    assert after == before


async def test_without_fusion_the_lanes_own_order_stands_flagged(up: Up) -> None:
    up.kill("fusion", signal.SIGSTOP)
    reply = await up.ask()
    assert reply.fusion_error == "DEADLINE_EXCEEDED"
    assert reply.results
    assert not reply.answer


async def test_a_request_accepted_before_sigterm_is_answered(up: Up) -> None:
    """A stopped lane keeps the requests inside the gateway; their first event proves that they were accepted."""
    up.kill("local", signal.SIGSTOP)
    request = StreamSearchRequest(
        search=SearchRequest(query="How many times does PaymentAdapter retry?", include_lanes=["keyword", "local"])
    )
    calls = [up.search.StreamSearch(request, timeout=5.0) for _ in range(20)]
    for call in calls:
        assert (await call.read()).HasField("plan")
    up.kill("gateway", signal.SIGTERM)
    for call in calls:
        while (event := await call.read()) is not grpc.aio.EOF:
            last = event
        assert statuses(last.final)["keyword"][0] == "OK"
        assert statuses(last.final)["local"][0] == "TIMEOUT"


async def test_a_lane_told_to_stop_under_load_loses_no_query(up: Up) -> None:
    told = asyncio.Event()

    async def client() -> list[SearchResponse]:
        replies = []
        for number in range(15):
            replies.append(await up.ask())
            if number == 3:
                told.set()
        return replies

    async def terminate() -> None:
        await told.wait()
        up.kill("keyword", signal.SIGTERM)

    *answers, _ = await asyncio.gather(*(client() for _ in range(4)), terminate())
    seen = {statuses(reply)["keyword"] for replies in answers for reply in replies}
    assert seen <= {("OK", ""), ("ERROR", "UNAVAILABLE")}


async def test_a_taken_port_is_said_by_name(up: Up, tmp_path: Path) -> None:
    up.environment["LANEMESH_HOME"] = str(tmp_path / "second")
    code, _, err = await up.command("up", "--port-base", str(up.base))
    assert code != 0
    assert f"port {up.base} (gateway)" in err


async def test_ctrl_c_leaves_no_process(up: Up) -> None:
    children = list(up.processes().values())
    up.process.send_signal(signal.SIGINT)
    await up.process.communicate()
    assert up.process.returncode == 0
    assert not [child for child in children if psutil.pid_exists(child.pid) and child.is_running()]
