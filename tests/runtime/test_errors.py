"""One tree, one table, and what crosses the wire."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from lanemesh.v1.lane_pb2 import RetrieveRequest
from lanemesh.v1.lane_pb2_grpc import LaneServiceStub

from services.runtime import errors
from services.runtime.clients import call
from services.runtime.deadline import Deadline
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    InvalidRequest,
    LanemeshError,
    NotImplementedHere,
    Overloaded,
    Refused,
    StartupError,
    Unavailable,
)
from tests.support import FakeLane, lane_server

QUESTION = RetrieveRequest(query="anything", max_results=1)


def tree(root: type[LanemeshError] = LanemeshError) -> Iterator[type[LanemeshError]]:
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


@asynccontextmanager
async def failing() -> AsyncIterator[tuple[FakeLane, LaneServiceStub]]:
    """A lane that fails as it is told, and a way to ask it."""
    lane = FakeLane()
    async with lane_server("keyword", lane) as address, grpc.aio.insecure_channel(address) as channel:
        yield lane, LaneServiceStub(channel)


async def status_of(lane: FakeLane, stub: LaneServiceStub, error: Exception) -> grpc.aio.AioRpcError:
    """The status with which the error arrives."""
    lane.error = error
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Retrieve(QUESTION)
    return caught.value


async def received(lane: FakeLane, stub: LaneServiceStub, error: Exception) -> LanemeshError:
    """The error that `call` makes of it again."""
    lane.error = error
    with pytest.raises(LanemeshError) as caught:
        await call(stub.Retrieve, QUESTION, Deadline.after(30.0))
    return caught.value


def test_every_error_of_the_tree_has_a_status_and_nothing_else_has() -> None:
    assert set(errors.STATUS) == set(tree())


def test_the_drawing_at_the_top_names_every_error() -> None:
    assert errors.__doc__
    for kind in tree():
        assert kind.__name__ in errors.__doc__


def test_reasons_are_upper_snake_case_and_distinct() -> None:
    reasons = [kind.reason for kind in tree()]
    assert len(set(reasons)) == len(reasons)
    assert all(reason.replace("_", "").isupper() for reason in reasons)


ROUND_TRIPS: list[tuple[LanemeshError, type[LanemeshError]]] = [
    (LanemeshError("went wrong"), Refused),
    (InvalidRequest("filters.projects", "too many"), InvalidRequest),
    (Overloaded("busy"), Overloaded),
    (Unavailable("the engine is away"), Unavailable),
    (Unavailable("the index is being rebuilt", reason="REBUILDING"), Unavailable),
    (NotImplementedHere("not here"), NotImplementedHere),
    (BadReply("unusable"), Refused),
    (Refused("no", reason="KEY_REJECTED"), Refused),
    (StartupError("half-configured"), Refused),
]


async def test_an_error_keeps_its_kind_reason_and_message_over_a_call() -> None:
    async with failing() as (lane, stub):
        for sent, arrives_as in ROUND_TRIPS:
            arrived = await received(lane, stub, sent)
            assert type(arrived) is arrives_as
            assert (arrived.message, arrived.reason) == (sent.message, sent.reason)


async def test_an_error_leaves_with_the_status_of_the_table() -> None:
    async with failing() as (lane, stub):
        for sent, _ in ROUND_TRIPS:
            assert (await status_of(lane, stub, sent)).code() is errors.STATUS[type(sent)]


async def test_an_invalid_request_names_its_field_in_the_standard_details() -> None:
    sent = InvalidRequest("query", "must not be empty")
    async with failing() as (lane, stub):
        arrived, raw = await received(lane, stub, sent), await status_of(lane, stub, sent)
    assert isinstance(arrived, InvalidRequest)
    assert (arrived.field, arrived.description) == ("query", "must not be empty")
    status = status_pb2.Status.FromString(dict(raw.trailing_metadata())[errors.DETAILS_KEY])
    bad = error_details_pb2.BadRequest()
    assert any(part.Unpack(bad) for part in status.details)
    assert [violation.field for violation in bad.field_violations] == ["query"]
    assert status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]


async def test_an_overload_keeps_its_retry_hint() -> None:
    async with failing() as (lane, stub):
        for retry_after in (None, 0.25, 30.0):
            arrived = await received(lane, stub, Overloaded("busy", retry_after=retry_after))
            assert isinstance(arrived, Overloaded)
            assert arrived.retry_after == retry_after


async def test_the_text_of_an_unforeseen_error_stays_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with failing() as (lane, stub):
        raw = await status_of(lane, stub, RuntimeError("password=hunter2"))
    assert raw.code() is grpc.StatusCode.INTERNAL
    assert "hunter2" not in f"{raw.details()} {raw.trailing_metadata()!r}"
    assert "RuntimeError" in (raw.details() or "")
    (record,) = [record for record in caplog.records if record.message == "unexpected error"]
    assert record.exc_info
    assert "hunter2" in str(record.exc_info[1])


async def test_a_foreseen_error_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with failing() as (lane, stub):
        await status_of(lane, stub, InvalidRequest("query", "must not be empty"))
        await status_of(lane, stub, ConnectionResetError("by peer"))
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("foreign", errors.FOREIGN)
def test_every_foreign_error_becomes_ours_without_its_text(foreign: type[Exception]) -> None:
    kind, message = errors.FOREIGN[foreign]
    known = errors.translate(foreign("db://user:secret@host"))
    assert type(known) is kind
    assert known.message == message


@pytest.mark.parametrize(
    ("foreign", "kind"),
    [
        (ConnectionRefusedError(), Unavailable),
        (BrokenPipeError(), Unavailable),
        (TimeoutError(), DeadlinePassed),
        (KeyError("secret"), LanemeshError),
        (OSError("secret"), LanemeshError),
    ],
)
def test_subclasses_of_foreign_errors_follow_their_base(foreign: Exception, kind: type[LanemeshError]) -> None:
    known = errors.translate(foreign)
    assert type(known) is kind
    assert "secret" not in known.message


def test_our_own_errors_are_not_translated() -> None:
    error = Unavailable("the engine is away")
    assert errors.translate(error) is error


def status(code: grpc.StatusCode, details: bytes | None = None) -> grpc.aio.AioRpcError:
    trailing = grpc.aio.Metadata() if details is None else grpc.aio.Metadata((errors.DETAILS_KEY, details))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailing, details="as sent")


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
@pytest.mark.parametrize("details", [None, b"", b"\xff\xff not a status"])
def test_any_status_of_any_peer_becomes_an_error_of_ours(code: grpc.StatusCode, details: bytes | None) -> None:
    known = errors.from_status(status(code, details))
    assert "as sent" in known.message
    if isinstance(known, Refused):
        assert known.reason == code.name
    else:
        # A call that the peer dropped never had an answer: the peer is away.
        expected = grpc.StatusCode.UNAVAILABLE if code is grpc.StatusCode.CANCELLED else code
        assert errors.STATUS[type(known)] is expected


def test_an_invalid_argument_without_details_blames_the_request() -> None:
    known = errors.from_status(status(grpc.StatusCode.INVALID_ARGUMENT))
    assert isinstance(known, InvalidRequest)
    assert known.field == "request"
