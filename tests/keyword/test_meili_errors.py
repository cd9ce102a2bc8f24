"""Every error that Meilisearch or its client can give has a name in the mesh."""

from __future__ import annotations

import inspect

import meilisearch.errors
import pydantic
import pytest
import requests
from meilisearch.errors import MeilisearchApiError
from meilisearch.models.task import Task

from services.keyword.meili_errors import EXCEPTIONS, STATUSES, TASKS, failure_of, translate
from services.runtime.errors import (
    BadReply,
    DeadlinePassed,
    LanemeshError,
    Overloaded,
    Refused,
    Unavailable,
)

# https://www.meilisearch.com/docs/reference/errors/overview
DOCUMENTED_TYPES = {"invalid_request", "internal", "auth", "system"}


def answered(status: int, body: str = "") -> MeilisearchApiError:
    response = requests.Response()
    response.status_code = status
    response._content = body.encode()
    return MeilisearchApiError("told", response)


def classes_of(module: object, base: type[Exception]) -> list[type[Exception]]:
    found = [each for _, each in inspect.getmembers(module, inspect.isclass) if issubclass(each, base)]
    return [each for each in found if each is not MeilisearchApiError]


@pytest.mark.parametrize("foreign", classes_of(meilisearch.errors, meilisearch.errors.MeilisearchError))
def test_every_error_of_the_client_has_an_entry_of_its_own(foreign: type[Exception]) -> None:
    assert foreign in EXCEPTIONS
    assert type(translate(foreign("secret"))) is EXCEPTIONS[foreign][0]


@pytest.mark.parametrize(
    "foreign", classes_of(requests.exceptions, requests.exceptions.RequestException), ids=lambda each: each.__name__
)
def test_every_error_below_the_client_is_covered(foreign: type[Exception]) -> None:
    assert isinstance(translate(foreign.__new__(foreign)), BadReply | Unavailable)


def test_no_entry_hides_behind_a_more_general_one() -> None:
    entries = list(EXCEPTIONS)
    for place, entry in enumerate(entries):
        assert not any(issubclass(entry, earlier) for earlier in entries[:place])


@pytest.mark.parametrize("status", range(300, 600))
def test_every_status_has_a_meaning(status: int) -> None:
    kind = type(translate(answered(status)))
    assert kind is (STATUSES.get(status) or STATUSES[status // 100 * 100])[0]
    assert kind is not LanemeshError


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Unavailable),
        (403, Unavailable),
        (404, Unavailable),
        (409, Unavailable),
        (422, Refused),
        (429, Overloaded),
        (500, Unavailable),
        (503, Unavailable),
        (504, DeadlinePassed),
    ],
)
def test_a_status_is_told_with_its_code_and_without_its_text(status: int, kind: type[LanemeshError]) -> None:
    error = translate(answered(status, '{"message": "secret words", "code": "some_code", "type": "t", "link": "l"}'))
    assert type(error) is kind
    assert error.reason == ("RESOURCE_EXHAUSTED" if kind is Overloaded else "SOME_CODE")
    assert "secret" not in error.message


@pytest.mark.parametrize("code", ['"spaced out"', "7", "null", '"' + "x" * 99 + '"'])
def test_a_code_that_is_none_names_nothing(code: str) -> None:
    assert translate(answered(500, f'{{"code": {code}}}')).reason == "UNAVAILABLE"


def test_garbage_of_a_reply_is_told_as_such() -> None:
    with pytest.raises(pydantic.ValidationError) as caught:
        Task(uid="x")  # type: ignore[call-arg]
    assert type(translate(caught.value)) is BadReply


def task(status: str, error: dict[str, str] | None) -> Task:
    return Task(uid=1, status=status, type="documentDeletion", enqueued_at="2026-01-01T00:00:00.5Z", error=error)


def test_the_types_of_failed_tasks_are_those_documented() -> None:
    assert set(TASKS) == DOCUMENTED_TYPES


@pytest.mark.parametrize(("kind", "expected"), [*TASKS.items(), ("new_type", Unavailable)])
def test_a_failed_task_names_the_reason(kind: str, expected: type[LanemeshError]) -> None:
    error = failure_of(task("failed", {"code": "invalid_document_id", "type": kind, "message": "the id\nis bad"}))
    assert type(error) is expected
    assert error.reason == "INVALID_DOCUMENT_ID"
    assert error.message.endswith("(invalid_document_id): the id is bad")


def test_a_cancelled_task_is_no_success() -> None:
    assert failure_of(task("canceled", None)).reason == "TASK_CANCELED"
