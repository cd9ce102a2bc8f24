from __future__ import annotations

import json

import pytest
from google.protobuf.descriptor import EnumDescriptor
from lanemesh.v1 import evidence_pb2, fusion_pb2, index_pb2, lane_pb2, search_pb2

from services.runtime.jsonform import name_of, short_name, to_json, to_line

FILES = (evidence_pb2, fusion_pb2, index_pb2, lane_pb2, search_pb2)
ENUMS = [enum for file in FILES for enum in file.DESCRIPTOR.enum_types_by_name.values()]


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.name)
def test_every_value_of_every_enum_loses_its_prefix(enum: EnumDescriptor) -> None:
    for value in enum.values:
        short = short_name(enum, value.name)
        assert short != value.name
        assert value.name.endswith(f"_{short}")
        assert name_of(enum, value.number) == short
    assert short_name(enum, enum.values_by_number[0].name) == "UNSPECIFIED"


def test_the_names_the_command_promises() -> None:
    assert name_of(lane_pb2.LaneStatus.DESCRIPTOR, lane_pb2.LANE_STATUS_TIMEOUT) == "TIMEOUT"
    assert name_of(search_pb2.Degradation.DESCRIPTOR, search_pb2.DEGRADATION_L0) == "L0"
    assert name_of(lane_pb2.TimeRange.DESCRIPTOR, lane_pb2.TIME_RANGE_FIVE_YEARS) == "FIVE_YEARS"


def test_a_number_the_contract_does_not_know_stays_a_number() -> None:
    assert name_of(lane_pb2.LaneStatus.DESCRIPTOR, 99) == "99"
    assert to_json(search_pb2.LedgerRow(status=99))["status"] == 99  # type: ignore[arg-type]


def test_fields_keep_their_names_and_are_there_when_empty() -> None:
    plain = to_json(search_pb2.LedgerRow(lane="kg"))
    assert plain["budget_ms"] == 0.0
    assert plain["attempts"] == []
    assert plain["status"] == "UNSPECIFIED"
    # A field with presence is left out when unset.
    assert "breaker" not in plain


def test_enums_are_found_inside_lists_messages_and_maps() -> None:
    reply = search_pb2.ListLanesResponse(lanes=[search_pb2.LaneInfo(serving=search_pb2.SERVING_READY)])
    reply.lanes[0].budgets_ms["simple"] = 500
    reply.lanes[0].stats.documents_by_project["crm"] = 3
    plain = to_json(reply)
    assert plain["lanes"][0]["serving"] == "READY"
    assert plain["lanes"][0]["budgets_ms"] == {"simple": 500.0}
    assert plain["lanes"][0]["stats"]["documents_by_project"] == {"crm": 3}
    row = search_pb2.LedgerRow(breaker=search_pb2.Breaker(state=search_pb2.BREAKER_STATE_HALF_OPEN))
    assert to_json(row)["breaker"]["state"] == "HALF_OPEN"


def test_well_known_types_keep_their_own_form() -> None:
    entity = index_pb2.Entity(id="a")
    entity.properties.update({"level": "LANE_STATUS_OK", "deep": {"x": [1, None]}})
    assert to_json(entity)["properties"] == {"level": "LANE_STATUS_OK", "deep": {"x": [1.0, None]}}


def test_a_line_is_ascii_and_one_line() -> None:
    line = to_line({"text": "é\n\x9b2J\u2028"})
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {"text": "é\n\x9b2J\u2028"}
