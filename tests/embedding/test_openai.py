"""The HTTP embedder against a local endpoint: what it sends, what it accepts, and what it makes of every refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp import web

from services.embedding.http_errors import EXCEPTIONS, LEAST_WAIT, STATUSES, retry_after
from services.embedding.models import Model
from services.embedding.openai import BATCH_TEXTS, OpenAIEmbedder
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import STATUS, BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable
from tests.embedding.endpoint import DIMENSION, Endpoint, serving, vectors

MODEL = Model("some-model", DIMENSION, 200, 0.5, 0.5, 0.9)
KEY = "sk-secret"


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    async with serving() as running:
        yield running


@pytest.fixture
async def embedder(endpoint: Endpoint) -> AsyncIterator[OpenAIEmbedder]:
    opened = OpenAIEmbedder(MODEL, endpoint.url, KEY, time_out=10.0, native=True)
    yield opened
    await opened.close()


async def test_vectors_come_in_the_order_of_the_texts(embedder: OpenAIEmbedder, endpoint: Endpoint) -> None:
    rows = await embedder.embed_passages(["four", "", "twelve chars"])
    assert np.allclose(rows[:, 0] * 3.0, rows[:, 1] * [4.0, 0.0, 12.0], atol=1e-5)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    assert np.allclose(await embedder.embed_query("four"), rows[0])
    assert (await embedder.embed_passages([])).shape == (0, DIMENSION)
    assert endpoint.bodies[0] == {
        "model": "some-model",
        "input": ["four", "", "twelve chars"],
        "encoding_format": "float",
    }
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_passages_go_in_batches(embedder: OpenAIEmbedder, endpoint: Endpoint) -> None:
    rows = await embedder.embed_passages(["x" * number for number in range(1, 2 * BATCH_TEXTS + 2)])
    assert [len(body["input"]) for body in endpoint.bodies] == [BATCH_TEXTS, BATCH_TEXTS, 1]
    assert len(rows) == 2 * BATCH_TEXTS + 1
    await embedder.embed_passages(["x" * 60_000] * 3)
    assert [len(body["input"]) for body in endpoint.bodies[3:]] == [1, 1, 1]


async def test_shortened_dimension_is_asked_for(endpoint: Endpoint) -> None:
    embedder = OpenAIEmbedder(MODEL, endpoint.url, None, time_out=10.0, native=False)
    await embedder.embed_query("x")
    assert endpoint.bodies[0]["dimensions"] == DIMENSION
    assert "Authorization" not in endpoint.headers[0]
    await embedder.close()


def _status(code: int, **headers: str) -> Any:
    return lambda _body: web.Response(
        status=code, text=f"{KEY} secret", headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (302, BadReply),
        (400, Refused),
        (401, Unavailable),
        (403, Unavailable),
        (404, Unavailable),
        (413, Refused),
        (429, Overloaded),
        (500, Unavailable),
        (502, Unavailable),
        (503, Unavailable),
        (504, DeadlinePassed),
        (204, BadReply),
    ],
)
async def test_refusals(embedder: OpenAIEmbedder, endpoint: Endpoint, status: int, kind: type[LanemeshError]) -> None:
    endpoint.answers = [_status(status, Location="http://127.0.0.1:1/")]
    with pytest.raises(kind) as raised:
        await embedder.embed_query("x")
    assert KEY not in raised.value.message
    assert f"HTTP {status}" in raised.value.message
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_told_to_come_again_it_does(embedder: OpenAIEmbedder, endpoint: Endpoint, status: int) -> None:
    endpoint.answers = [_status(status, Retry_After="0"), _status(status, Retry_After="0.01"), vectors]
    with ambient(Deadline.after(30.0)):
        assert (await embedder.embed_query("four")).shape == (DIMENSION,)
    assert len(endpoint.bodies) == 3


async def test_it_does_not_wait_beyond_the_deadline(embedder: OpenAIEmbedder, endpoint: Endpoint) -> None:
    endpoint.answers = [_status(429, Retry_After="60")]
    with ambient(Deadline.after(30.0)), pytest.raises(Overloaded) as raised:
        await embedder.embed_query("x")
    assert raised.value.retry_after == 60.0
    assert len(endpoint.bodies) == 1


async def test_slow_endpoint_is_left_at_the_deadline(embedder: OpenAIEmbedder, endpoint: Endpoint) -> None:
    endpoint.hangs = True
    with ambient(Deadline.after(0.05)), pytest.raises(DeadlinePassed):
        await embedder.embed_query("x")
    with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
        await embedder.embed_query("x")


async def test_endpoint_away(endpoint: Endpoint) -> None:
    embedder = OpenAIEmbedder(MODEL, "http://127.0.0.1:1", KEY, time_out=10.0, native=True)
    with pytest.raises(Unavailable, match="cannot be reached"):
        await embedder.embed_query("x")
    await embedder.close()


def _data(*rows: Any) -> Any:
    return lambda _body: web.json_response(
        {"data": [{"index": index, "embedding": embedding} for index, embedding in rows]}
    )


@pytest.mark.parametrize(
    "answer",
    [
        lambda _body: web.Response(text="<html>not json"),
        lambda _body: web.json_response([]),
        lambda _body: web.json_response({"data": None}),
        lambda _body: web.Response(text='{"data": [{"index": 0, "embedding": [NaN, 1, 1, 1]}]}'),
        lambda _body: web.Response(text='{"data": [{"index": 0, "embedding": [1e999, 1, 1, 1]}]}'),
        lambda _body: web.Response(text=" " * 200_000),
        _data(),
        _data((0, [1.0, 0.0, 0.0])),
        _data((0, [0.0, 0.0, 0.0, 0.0])),
        _data((1, [1.0, 0.0, 0.0, 0.0])),
        _data((0, [1.0, 0.0, 0.0, 0.0]), (0, [1.0, 0.0, 0.0, 0.0])),
        _data((0, "AAAA")),
        _data((0, [[1.0], [0.0], [0.0], [0.0]])),
        _data(("0", [1.0, 0.0, 0.0, 0.0])),
    ],
)
async def test_unusable_replies(embedder: OpenAIEmbedder, endpoint: Endpoint, answer: Any) -> None:
    endpoint.answers = [answer]
    with pytest.raises(BadReply):
        await embedder.embed_query("x")


def test_retry_after_in_every_form() -> None:
    assert retry_after({}) is None
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({"Retry-After": "2"}) == 2.0
    assert retry_after({"Retry-After": "0"}) == LEAST_WAIT
    assert retry_after({"Retry-After": format_datetime(datetime(2000, 1, 1, tzinfo=UTC), usegmt=True)}) == LEAST_WAIT


def test_the_tables_are_whole() -> None:
    assert {status // 100 for status in STATUSES} == {2, 3, 4, 5}
    assert {kind for kind, _ in [*STATUSES.values(), *EXCEPTIONS.values()]} <= set(STATUS)
    ours = [kind for kind in vars(aiohttp).values() if isinstance(kind, type) and issubclass(kind, aiohttp.ClientError)]
    assert all(issubclass(kind, tuple(EXCEPTIONS)) for kind in ours)
