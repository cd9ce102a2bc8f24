"""The Meilisearch engine on the wire: what it asks for, and what it makes of every way in which a server can fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from google.protobuf.timestamp_pb2 import Timestamp
from lanemesh.v1.evidence_pb2 import Document
from lanemesh.v1.index_pb2 import DeleteRequest, UpsertRequest
from lanemesh.v1.lane_pb2 import (
    LANE_STATUS_OK,
    LANE_STATUS_PARTIAL,
    LANE_STATUS_TIMEOUT,
    Filters,
    RetrieveRequest,
    RetrieveResponse,
)

from services.keyword.lane import KeywordLane, open_lane
from services.keyword.meili_documents import exact, key_of
from services.keyword.meili_schema import settings_of
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    StartupError,
    Unavailable,
)
from tests.keyword.engines import KEY
from tests.keyword.fake_meili import ApiError, FakeMeili, Index, hang, serving

INDEX = "sarvanom_documents"
DOCUMENT = Document(id="a/b c", title="T", content="zebra", project="P", published_at=Timestamp(seconds=5, nanos=7))


@pytest.fixture
async def fake() -> AsyncIterator[FakeMeili]:
    async with serving(FakeMeili(key=KEY)) as server:
        yield server


def variables(fake: FakeMeili, **more: str) -> dict[str, str]:
    return {"MEILI_URL": fake.url, "MEILI_API_KEY": KEY, "MEILI_POLL_MS": "1"} | more


@asynccontextmanager
async def opened(fake: FakeMeili, **more: str) -> AsyncIterator[KeywordLane]:
    lane = await open_lane(variables(fake, **more))
    try:
        yield lane
    finally:
        await lane.close()


async def store(lane: KeywordLane, *documents: Document) -> None:
    await lane.upsert([UpsertRequest(sequence=1, document=document) for document in documents])


async def ask(lane: KeywordLane, query: str = "zebra", limit: int = 10, **filters: Any) -> RetrieveResponse:
    reply = RetrieveResponse()
    await lane.retrieve(RetrieveRequest(query=query, max_results=limit, filters=Filters(**filters)), reply)
    return reply


async def test_the_index_is_created_with_its_settings_on_first_use(fake: FakeMeili) -> None:
    async with opened(fake):
        assert fake.requests("POST", "/indexes")[0].body == {"uid": INDEX, "primaryKey": "id"}
        assert fake.requests("PATCH", f"/indexes/{INDEX}/settings")[0].body == settings_of(400)
    assert {asked.authorization for asked in fake.asked} == {f"Bearer {KEY}"}


async def test_settings_are_applied_once_and_only_where_they_differ(fake: FakeMeili) -> None:
    async with opened(fake):
        pass
    async with opened(fake):
        assert len(fake.requests("PATCH", "/settings")) == 1
        assert len(fake.requests("POST", "/indexes")) == 1
    fake.indexes[INDEX].settings["typoTolerance"]["enabled"] = False
    async with opened(fake, MEILI_CUTOFF_MS="250"):
        changed = fake.requests("PATCH", "/settings")[1].body
        assert changed == {name: settings_of(250)[name] for name in ("typoTolerance", "searchCutoffMs")}


async def test_an_index_of_its_own_name(fake: FakeMeili) -> None:
    async with opened(fake, MEILI_INDEX="other"):
        assert list(fake.indexes) == ["other"]


async def test_two_lanes_that_start_at_once_agree(fake: FakeMeili) -> None:
    lanes = await asyncio.gather(*(open_lane(variables(fake)) for _ in range(2)))
    for lane in lanes:
        await store(lane, DOCUMENT)
        await lane.close()
    assert len(fake.indexes[INDEX].records) == 1


async def test_a_search_as_it_is_sent(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        await store(lane, DOCUMENT)
        reply = await ask(lane, 'What is the "zebra" -of it?', projects=["P"], access_labels=["l"])
    sent = fake.requests("POST", f"/indexes/{INDEX}/search")[0].body
    assert sent == {
        "q": "zebra",
        "filter": '(access_labels NOT EXISTS OR access_labels IN ["l"]) AND project IN ["~50"]',
        "limit": 10,
        "matchingStrategy": "frequency",
        "showRankingScore": True,
        "attributesToRetrieve": ["id", "title", "content", "summary", "document"],
    }
    assert [(found.document, found.score) for found in reply.evidence] == [(DOCUMENT, 1.0)]


async def test_documents_as_they_are_sent(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        labelled = Document(id="b", content="x", tags=["T"], access_labels=["l"], language="en-GB", source="news")
        await store(lane, DOCUMENT, labelled)
    first, second = fake.requests("POST", f"/indexes/{INDEX}/documents")[0].body
    assert first == {
        "id": key_of("a/b c"),
        "title": "T",
        "content": "zebra",
        "summary": "",
        "project": "~50",
        "source": "~",
        "published_at": 5,
        "published_nanos": 7,
        "document": {"id": "a/b c", "project": "P", "published_at": "1970-01-01T00:00:05.000000007Z"},
    }
    assert (second["language"], second["tags"], second["access_labels"]) == (["en", "en-gb"], ["~54"], ["l"])


async def test_a_deletion_as_it_is_sent(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        await store(lane, DOCUMENT)
        assert await lane.delete(DeleteRequest(document_ids=["a/b c", "missing"])) == 1
    keys = ", ".join(f'"{key}"' for key in sorted((key_of("a/b c"), key_of("missing"))))
    assert fake.requests("POST", "/documents/delete")[0].body == {"filter": f"id IN [{keys}]"}


async def test_a_question_whose_words_are_apart_is_asked_word_by_word(fake: FakeMeili) -> None:
    documents = [Document(id=str(n), content="protein") for n in range(3)]
    async with opened(fake) as lane:
        await store(lane, *documents, Document(id="rare", content="folding"))
        reply = await ask(lane, "protein folding")
    scores = [evidence.score for evidence in reply.evidence]
    assert reply.evidence[0].document.id == "rare"
    assert scores == sorted(scores, reverse=True)
    assert (len(scores), reply.total_found) == (4, 4)
    queries = fake.requests("POST", "/multi-search")[0].body["queries"]
    assert [(query["q"], query["attributesToRetrieve"]) for query in queries] == [
        ("protein", ["id"]),
        ("folding", ["id"]),
    ]
    assert {query["filter"] for query in queries} == {"access_labels NOT EXISTS"}
    assert fake.requests("POST", "/documents/fetch")[0].body["filter"].endswith("] AND access_labels NOT EXISTS")


async def test_a_word_of_hidden_documents_does_not_change_what_others_see(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        await store(lane, Document(id="open", content="zebra"))
        before = await ask(lane, "zebra unobtainium")
        await store(lane, Document(id="hidden", content="unobtainium", access_labels=["l"]))
        after = await ask(lane, "zebra unobtainium")
    assert [evidence.document.id for evidence in after.evidence] == ["open"]
    assert [evidence.document for evidence in before.evidence] == [evidence.document for evidence in after.evidence]
    assert before.total_found == after.total_found == 1


async def test_projects_whose_names_are_too_long_to_filter_by_are_counted_by_name(fake: FakeMeili) -> None:
    name = "長" * 128
    async with opened(fake) as lane:
        await store(lane, Document(id="a", content="x", project=name))
        assert dict((await lane.stats([])).documents_by_project) == {name: 1}
        assert exact(name).startswith("~~")


async def test_documents_are_acknowledged_when_their_task_has_ended(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        fake.patience = 4
        await store(lane, DOCUMENT)
        assert len(fake.requests("GET", f"/tasks/{len(fake.tasks) - 1}")) == 4


async def test_a_failed_task_names_the_reason_and_nothing_is_acknowledged(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        fake.failing = ApiError(500, "no_space_left_on_device", "system", "No space left.").body
        with pytest.raises(Unavailable, match=r"no_space_left_on_device.*No space left") as caught:
            await store(lane, DOCUMENT)
    assert caught.value.reason == "NO_SPACE_LEFT_ON_DEVICE"


async def test_a_task_that_never_ends_is_given_up(fake: FakeMeili) -> None:
    async with opened(fake, MEILI_TASK_MS="50") as lane:
        fake.patience = 1_000_000
        with pytest.raises(DeadlinePassed, match="did not finish the task"):
            await store(lane, DOCUMENT)


async def test_an_index_made_for_something_else_refuses_to_start(fake: FakeMeili) -> None:
    fake.indexes[INDEX] = Index(INDEX, "isbn")
    with pytest.raises(StartupError, match=f"{INDEX} has the primary key 'isbn', the lane needs 'id'"):
        await open_lane(variables(fake))


@pytest.mark.parametrize("key", ["", "wrong"])
async def test_a_key_that_the_server_refuses_is_told_at_the_start(fake: FakeMeili, key: str) -> None:
    with pytest.raises(StartupError, match="MEILI_API_KEY") as caught:
        await open_lane(variables(fake, MEILI_API_KEY=key))
    assert "wrong" not in str(caught.value)


async def test_a_server_that_lacks_a_setting_is_told_at_the_start(fake: FakeMeili) -> None:
    async def older(request: web.Request) -> web.StreamResponse | None:
        return web.json_response(ApiError(400, "bad_request").body, status=400) if request.method == "PATCH" else None

    fake.fault = older
    with pytest.raises(StartupError, match="refused the request: BAD_REQUEST"):
        await open_lane(variables(fake))


@pytest.mark.parametrize("url", ["127.0.0.1:7700", "ftp://host", "/path"])
async def test_a_url_of_another_kind_refuses_to_start(url: str) -> None:
    with pytest.raises(StartupError, match="MEILI_URL"):
        await open_lane({"MEILI_URL": url})


async def test_a_server_that_is_down_at_the_start_is_found_when_it_comes() -> None:
    async with serving(FakeMeili(key=KEY)) as gone:
        port = int(gone.url.rsplit(":", 1)[1])
    lane = await open_lane(variables(gone))
    for call in (lane.check(), ask(lane), store(lane, DOCUMENT), lane.stats([])):
        with pytest.raises(Unavailable, match="cannot be reached"):
            await call
    async with serving(FakeMeili(key=KEY), port):
        await lane.check()
        await store(lane, DOCUMENT)
        assert len((await ask(lane)).evidence) == 1
    await lane.close()


async def test_a_server_that_lost_its_index_gets_a_new_one(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        fake.indexes.clear()
        with pytest.raises(Unavailable) as caught:
            await ask(lane)
        assert caught.value.reason == "INDEX_NOT_FOUND"
        await store(lane, DOCUMENT)
        assert len((await ask(lane)).evidence) == 1


def answering(status: int, body: str, kind: str = "application/json") -> Any:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text=body, content_type=kind)

    return answer


def told(status: int, code: str, kind: str = "invalid_request") -> Any:
    return answering(status, json.dumps(ApiError(status, code, kind, "secret words").body))


async def lose(request: web.Request) -> web.StreamResponse:
    """Promises more than it sends."""
    reply = web.StreamResponse(headers={"Content-Length": "1000"})
    await reply.prepare(request)
    await reply.write(b'{"hits": [')
    request.transport.close()
    return reply


FAULTS = [
    (told(400, "invalid_search_q"), Refused, "INVALID_SEARCH_Q"),
    (told(401, "missing_authorization_header", "auth"), Unavailable, "MISSING_AUTHORIZATION_HEADER"),
    (told(403, "invalid_api_key", "auth"), Unavailable, "INVALID_API_KEY"),
    (told(404, "index_not_found"), Unavailable, "INDEX_NOT_FOUND"),
    (told(409, "conflict"), Unavailable, "CONFLICT"),
    (told(429, "too_many_search_requests", "system"), Overloaded, "RESOURCE_EXHAUSTED"),
    (told(500, "internal", "internal"), Unavailable, "INTERNAL"),
    (answering(503, "upstream connect error", "text/plain"), Unavailable, "UNAVAILABLE"),
    (answering(200, "<html>garbage", "text/html"), BadReply, "BAD_REPLY"),
    (answering(200, "[]"), BadReply, "BAD_REPLY"),
    (answering(200, "{}"), BadReply, "BAD_REPLY"),
    (answering(200, '{"hits": [{"id": 1}], "processingTimeMs": 1, "estimatedTotalHits": 1}'), BadReply, "BAD_REPLY"),
    (answering(200, ""), BadReply, "BAD_REPLY"),
    (lose, Unavailable, "UNAVAILABLE"),
]
IDS = ["400", "401", "403", "404", "409", "429", "500", "503", "html", "list", "object", "record", "nothing", "lost"]


@pytest.mark.parametrize(("fault", "kind", "reason"), FAULTS, ids=IDS)
async def test_a_search_that_fails_says_why_and_the_next_succeeds(
    fake: FakeMeili, fault: Any, kind: type[LanemeshError], reason: str
) -> None:
    async with opened(fake) as lane:
        await store(lane, DOCUMENT)
        fake.fault = fault
        with pytest.raises(LanemeshError) as caught:
            await ask(lane)
        assert (type(caught.value), caught.value.reason) == (kind, reason)
        assert "secret" not in caught.value.message
        assert KEY not in caught.value.message
        fake.fault = None
        assert len((await ask(lane)).evidence) == 1


@pytest.mark.parametrize(("fault", "kind", "_reason"), FAULTS[1:], ids=IDS[1:])
async def test_a_batch_or_a_count_that_fails_is_not_taken_for_done(
    fake: FakeMeili, fault: Any, kind: type[LanemeshError], _reason: str
) -> None:
    async with opened(fake) as lane:
        for call in (store(lane, DOCUMENT), lane.stats([]), lane.delete(DeleteRequest(document_ids=["a"]))):
            fake.fault = fault
            with pytest.raises(kind):
                await call
            fake.fault = None
            await lane.check()


async def test_a_server_that_hangs_is_left_at_the_deadline(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        fake.fault = hang
        with ambient(Deadline.after(0.05)), pytest.raises(DeadlinePassed, match="did not answer in time"):
            await ask(lane)
        fake.fault = None
        assert (await ask(lane)).reason == "NO_MATCH"


async def test_without_a_deadline_a_call_has_a_limit_of_its_own(fake: FakeMeili) -> None:
    async with opened(fake, MEILI_CALL_MS="50") as lane:
        fake.fault = hang
        with pytest.raises(DeadlinePassed):
            await lane.stats([])


async def test_a_passed_deadline_asks_nothing(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        before = len(fake.asked)
        with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
            await ask(lane)
        assert len(fake.asked) == before


@pytest.mark.parametrize(("stored", "status"), [(1, LANE_STATUS_PARTIAL), (0, LANE_STATUS_TIMEOUT)])
async def test_a_search_that_took_as_long_as_the_cutoff_is_taken_for_cut_short(
    fake: FakeMeili, stored: int, status: int
) -> None:
    async with opened(fake) as lane:
        await store(lane, *[DOCUMENT] * stored, Document(id="other", content="other"))
        fake.processing_ms = 400
        reply = await ask(lane)
        assert (reply.status, reply.reason, len(reply.evidence)) == (status, "DEADLINE_EXCEEDED", stored)
        assert "meilisearch stopped at its own time limit" in reply.message
        fake.processing_ms = 399
        assert (await ask(lane)).status in (0, LANE_STATUS_OK)


async def test_what_was_found_is_returned_when_looking_for_more_takes_too_long(fake: FakeMeili) -> None:
    async def slow(request: web.Request) -> web.StreamResponse | None:
        return await hang(request) if request.path == "/multi-search" else None

    async with opened(fake) as lane:
        await store(lane, DOCUMENT)
        fake.fault = slow
        with ambient(Deadline.after(0.3)):
            reply = await ask(lane, "zebra giraffe")
    assert (reply.status, [evidence.document.id for evidence in reply.evidence]) == (LANE_STATUS_PARTIAL, ["a/b c"])


async def test_a_lane_whose_server_is_ill_is_not_ready(fake: FakeMeili) -> None:
    async with opened(fake) as lane:
        fake.fault = answering(200, '{"status": "unavailable"}')
        with pytest.raises(Unavailable):
            await lane.check()
        fake.fault = None
        await lane.check()
