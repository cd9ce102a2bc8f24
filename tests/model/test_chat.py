"""The chat client against a real HTTP server: what it sends, what it accepts, and every way a model fails."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.model.chat import ChatModel, Completion
from services.model.settings import load_model
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import BadReply, DeadlinePassed, LanemeshError, Overloaded, Refused, Unavailable
from tests.model.server import Answer, Model, breaks_off, model_server, never, says, sends

KEY = "sk-very-secret"
QUESTION = [{"role": "user", "content": "Why? 🙂"}]


@asynccontextmanager
async def asking(answer: Answer, **variables: str) -> AsyncIterator[tuple[ChatModel, Model]]:
    async with model_server(answer) as server:
        environment = {
            "LANEMESH_MODEL_URL": server.url,
            "LANEMESH_MODEL_NAME": "tiny",
            "LANEMESH_MODEL_KEY": KEY,
        }
        settings = load_model(environment | variables)
        assert settings is not None
        chat = ChatModel(settings)
        try:
            yield chat, server
        finally:
            await chat.close()


async def test_a_question_is_sent_and_answered() -> None:
    async with asking(says("Because.")) as (chat, server):
        assert await chat.complete(QUESTION, max_tokens=7) == Completion("Because.", cut=False)
    assert server.bodies == [{"model": "tiny", "messages": QUESTION, "max_tokens": 7, "temperature": 0}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


async def test_json_is_asked_for_and_a_cut_answer_is_told() -> None:
    async with asking(says("{", "length")) as (chat, server):
        assert (await chat.complete(QUESTION, max_tokens=7, as_json=True)).cut
    assert server.bodies[0]["response_format"] == {"type": "json_object"}


async def test_without_a_key_no_header_is_sent() -> None:
    async with asking(says("ok"), LANEMESH_MODEL_KEY="") as (chat, server):
        await chat.complete(QUESTION, max_tokens=1)
        assert not chat.keyed
    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    ("answer", "kind", "reason"),
    [
        (sends(KEY.encode(), 401), Refused, "MODEL_KEY_REFUSED"),
        (sends(b"", 403), Refused, "MODEL_KEY_REFUSED"),
        (sends(b"", 404), Refused, "HTTP_404"),
        (sends(b"", 400), Refused, "HTTP_400"),
        (sends(b"", 302, Location="http://127.0.0.1:1/"), Refused, "HTTP_302"),
        (sends(b"", 204), Refused, "HTTP_204"),
        (sends(b"", 429), Overloaded, "RESOURCE_EXHAUSTED"),
        (sends(b"", 408), Unavailable, "UNAVAILABLE"),
        (sends(KEY.encode(), 500), Unavailable, "UNAVAILABLE"),
        (sends(b"", 503), Unavailable, "UNAVAILABLE"),
        (sends(b"<html>"), BadReply, "BAD_REPLY"),
        (sends(b""), BadReply, "BAD_REPLY"),
        (sends(b"\xff\xfe"), BadReply, "BAD_REPLY"),
        (sends(b"[" * 200_000), BadReply, "BAD_REPLY"),
        (sends(b'"choices"'), BadReply, "BAD_REPLY"),
        (sends(b'{"choices": []}'), BadReply, "BAD_REPLY"),
        (sends(b'{"choices": [1]}'), BadReply, "BAD_REPLY"),
        (sends(b'{"choices": [{"message": {"content": null}}]}'), BadReply, "BAD_REPLY"),
        (sends(b"x" * 300_000), BadReply, "BAD_REPLY"),
        (breaks_off, BadReply, "BAD_REPLY"),
    ],
)
async def test_every_failure_has_a_name_and_tells_no_secret(
    answer: Answer, kind: type[LanemeshError], reason: str
) -> None:
    async with asking(answer) as (chat, _):
        with pytest.raises(kind) as raised:
            await chat.complete(QUESTION, max_tokens=1)
    assert raised.value.reason == reason
    assert KEY not in raised.value.message
    assert "model" in raised.value.message


async def test_nobody_there_is_unavailable() -> None:
    async with asking(says("ok"), LANEMESH_MODEL_URL="http://127.0.0.1:1") as (chat, _):
        with pytest.raises(Unavailable, match="cannot be reached"):
            await chat.complete(QUESTION, max_tokens=1)


async def test_the_deadline_ends_the_wait_and_the_request() -> None:
    async with asking(never) as (chat, server):
        with ambient(Deadline.after(0.2)), pytest.raises(DeadlinePassed):
            await chat.complete(QUESTION, max_tokens=1)
        await server.given_up.wait()


async def test_without_a_deadline_the_setting_bounds_the_wait() -> None:
    async with asking(never, LANEMESH_MODEL_TIMEOUT_MS="50") as (chat, _):
        with pytest.raises(DeadlinePassed):
            await chat.complete(QUESTION, max_tokens=1)


async def test_a_passed_deadline_asks_nobody() -> None:
    async with asking(says("ok")) as (chat, server):
        with ambient(Deadline.after(-1.0)), pytest.raises(DeadlinePassed):
            await chat.complete(QUESTION, max_tokens=1)
    assert server.bodies == []


async def test_a_cancelled_caller_leaves_no_request_behind() -> None:
    async with asking(never) as (chat, server):
        task = asyncio.create_task(chat.complete(QUESTION, max_tokens=1))
        await server.arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.given_up.wait()


async def test_a_model_that_keeps_failing_is_left_alone() -> None:
    async with asking(sends(b"", 500), LANEMESH_MODEL_FAILURES="2", LANEMESH_MODEL_REST_MS="60000") as (chat, server):
        for _ in range(2):
            with pytest.raises(Unavailable):
                await chat.complete(QUESTION, max_tokens=1)
        with pytest.raises(Unavailable) as raised:
            await chat.complete(QUESTION, max_tokens=1)
    assert raised.value.reason == "MODEL_RESTING"
    assert len(server.bodies) == 2


async def test_the_wait_a_model_asks_for_is_kept() -> None:
    async with asking(sends(b"", 429, Retry_After="30")) as (chat, server):
        with pytest.raises(Overloaded) as raised:
            await chat.complete(QUESTION, max_tokens=1)
        assert raised.value.retry_after == 30
        with pytest.raises(Unavailable, match="left alone"):
            await chat.complete(QUESTION, max_tokens=1)
    assert len(server.bodies) == 1


async def test_odd_text_survives() -> None:
    async with asking(sends(json.dumps({"choices": [{"message": {"content": "é\u0000🙂"}}]}).encode())) as (chat, _):
        assert (await chat.complete(QUESTION, max_tokens=1)).text == "é\x00🙂"
