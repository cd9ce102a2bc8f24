"""Labels come from who calls: by token, into every lane's filter and count, and never from a guess."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import grpc
import pytest
from lanemesh.v1.search_pb2 import IngestRequest, ListLanesRequest, PlanRequest, SearchRequest, StreamSearchRequest

from gateway.callers import read_callers
from gateway.identity import ANYBODY, Caller, Callers
from services.runtime.errors import StartupError, Unauthenticated
from tests.support import TABLE, FakeLane, evidence, mesh

TOKEN = "a token of the billing service"
DIGEST = sha256(TOKEN.encode()).hexdigest()
CALLERS = Callers({DIGEST: Caller("billing", ("contracts", "finance"))}, anybody=ANYBODY)
BILLING = (("authorization", f"Bearer {TOKEN}"),)
STRANGER = (("authorization", "Bearer of bad news"),)


def written(folder: Path, text: str) -> Path:
    path = folder / "callers.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("value", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN} "])
def test_a_known_token_is_its_caller(value: str) -> None:
    assert CALLERS.identify([("authorization", value)]).name == "billing"


@pytest.mark.parametrize("metadata", [None, [], [("traceparent", "x")]])
def test_without_a_token_it_is_anybody(metadata: Sequence[tuple[str, str]] | None) -> None:
    assert CALLERS.identify(metadata) is ANYBODY


@pytest.mark.parametrize("value", ["", "Bearer", "Bearer ", TOKEN, f"Basic {TOKEN}", f"Bearer {DIGEST}", b"\xff"])
def test_another_token_is_refused_and_not_repeated(value: str | bytes) -> None:
    with pytest.raises(Unauthenticated) as caught:
        CALLERS.identify([("authorization", value)])
    assert TOKEN not in str(caught.value)


def test_a_file_names_callers_and_their_labels(tmp_path: Path) -> None:
    path = written(tmp_path, f"callers: {{billing: {{token_sha256: {DIGEST}, labels: [finance, contracts, finance]}}}}")
    assert read_callers(path, TABLE.lanes).identify(BILLING) == Caller(
        "billing", ("contracts", "finance"), ingest=False, delete=False
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "callers is missing"),
        ("callers: []", "callers is missing"),
        ("callers: {a: 1}", "callers.a must be a mapping"),
        (f"callers: {{a: {{token_sha256: {DIGEST}, lables: []}}}}", "callers.a must be a mapping"),
        ("callers: {a: {labels: []}}", "callers.a needs token_sha256 or names"),
        ("callers: {a: {token_sha256: secret}}", "callers.a.token_sha256"),
        (f"callers: {{a: {{token_sha256: {DIGEST}, labels: finance}}}}", "callers.a.labels"),
        (f"callers: {{a: {{token_sha256: {DIGEST}, labels: ['']}}}}", "callers.a.labels"),
        (f"callers: {{a: {{token_sha256: {DIGEST}, labels: [{', '.join('abcdefgh' * 9)}]}}}}", "callers.a.labels"),
        (f"callers: {{a: {{token_sha256: {DIGEST}}}, b: {{token_sha256: {DIGEST}}}}}", "also that of a"),
        ("callers: {a: [secret", "not YAML"),
    ],
)
def test_a_broken_file_is_refused_naming_the_entry(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(StartupError, match=named) as caught:
        read_callers(written(tmp_path, text), TABLE.lanes)
    assert "secret" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"LANEMESH_CALLERS=.*cannot be read"):
        read_callers(tmp_path / "nowhere.yaml", TABLE.lanes)


async def test_a_callers_labels_reach_the_filters_and_counts_of_lanes() -> None:
    lane = FakeLane([evidence("a")])
    async with mesh({"keyword": lane}, callers=CALLERS) as running:
        await running.search.Search(SearchRequest(query="a question"), metadata=BILLING)
        await running.search.Search(SearchRequest(query="a question"))
        await running.search.ListLanes(ListLanesRequest(), metadata=BILLING)
        await running.search.ListLanes(ListLanesRequest())
    assert [list(request.filters.access_labels) for request in lane.asked] == [["contracts", "finance"], []]
    assert lane.counted_for == [["contracts", "finance"], []]


async def test_labels_stand_beside_the_filters_of_the_request() -> None:
    lane = FakeLane([evidence("a")])
    request = SearchRequest(query="a question", projects=["shop"])
    request.constraints.language = "en"
    async with mesh({"keyword": lane}, callers=CALLERS) as running:
        await running.search.Search(request, metadata=BILLING)
    (asked,) = lane.asked
    assert (list(asked.filters.projects), asked.filters.language) == (["shop"], "en")
    assert list(asked.filters.access_labels) == ["contracts", "finance"]


async def test_a_wrong_token_opens_no_door_and_reaches_no_lane() -> None:
    lane = FakeLane([evidence("a")])
    async with mesh({"keyword": lane}, callers=CALLERS) as running:
        search = running.search
        doors = [
            search.Search(SearchRequest(query="a question"), metadata=STRANGER),
            search.Plan(PlanRequest(search=SearchRequest(query="a question")), metadata=STRANGER),
            search.ListLanes(ListLanesRequest(), metadata=STRANGER),
            search.Ingest(iter([IngestRequest()]), metadata=STRANGER),
        ]
        for door in doors:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await door
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            assert "bad news" not in str(caught.value)
        stream = search.StreamSearch(StreamSearchRequest(search=SearchRequest(query="a question")), metadata=STRANGER)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert not lane.asked
