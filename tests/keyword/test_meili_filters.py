"""What reaches Meilisearch's filter language, and that nothing of a caller acts in it."""

from __future__ import annotations

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from lanemesh.v1.lane_pb2 import Filters

from services.keyword.meili_documents import MOST_BYTES, exact, key_of, name_of
from services.keyword.meili_filters import expression_of, opened_by, quoted
from tests.keyword.meili_filter import fold, parse

PUBLIC = "access_labels NOT EXISTS"


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("finance", '"finance"'),
        ("team-a/x_1.2:z", '"team-a/x_1.2:z"'),
        ("Finance", '"~46inance"'),
        ('" OR id EXISTS OR "', '"~22~20~4f~52~20id~20~45~58~49~53~54~53~20~4f~52~20~22"'),
        ("back\\slash", '"back~5cslash"'),
        ("two\nlines", '"two~0alines"'),
        ("~46inance", '"~7e46inance"'),
        ("é", '"~c3~a9"'),
        ("", '"~"'),
    ],
)
def test_a_value_is_quoted_with_nothing_left_to_escape(name: str, written: str) -> None:
    assert quoted(name) == written
    assert name_of(exact(name)) == name


@given(st.text(max_size=300), st.text(max_size=300))
def test_names_that_differ_differ_also_after_the_folding_of_meilisearch(left: str, right: str) -> None:
    assert (fold(exact(left)) == fold(exact(right))) == (left == right)
    assert fold(exact(left)) == exact(left)


@given(st.text(max_size=60))
def test_short_names_come_back(name: str) -> None:
    if len(exact(name)) <= MOST_BYTES and not exact(name).startswith("~~"):
        assert name_of(exact(name)) == name


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_a_filter_lets_its_own_value_through_and_no_other(name: str, other: str) -> None:
    condition = parse(expression_of(Filters(projects=[name])), {"project", "access_labels"})
    assert condition({"project": exact(name)})
    assert condition({"project": exact(other)}) == (name == other)


@given(st.text(max_size=600))
def test_a_primary_key_is_one_that_meilisearch_takes(identity: str) -> None:
    assert len(key_of(identity)) == 64
    assert key_of(identity).isalnum()
    assert key_of(identity).isascii()


@pytest.mark.parametrize(
    ("filters", "written"),
    [
        ({}, PUBLIC),
        ({"access_labels": ["b", "a", "b"]}, f'({PUBLIC} OR access_labels IN ["a", "b"])'),
        ({"projects": ["p", "Q"]}, f'{PUBLIC} AND project IN ["~51", "p"]'),
        ({"sources": ["news"], "tags": ["t"]}, f'{PUBLIC} AND source IN ["news"] AND tags IN ["t"]'),
        ({"language": "en-GB"}, f'{PUBLIC} AND language = "en-gb"'),
        (
            {"published_after": Timestamp(seconds=5, nanos=7)},
            f"{PUBLIC} AND (published_at > 5 OR (published_at = 5 AND published_nanos >= 7))",
        ),
        (
            {"published_before": Timestamp(seconds=-5)},
            f"{PUBLIC} AND (published_at < -5 OR (published_at = -5 AND published_nanos < 0))",
        ),
    ],
)
def test_every_filter_as_it_is_written(filters: dict[str, object], written: str) -> None:
    assert expression_of(Filters(**filters)) == written


def test_without_labels_only_what_has_none_is_open() -> None:
    assert opened_by([]) == PUBLIC
