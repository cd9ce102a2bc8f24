from __future__ import annotations

import io
import json
import sys

import pytest
from lanemesh.v1 import index_pb2, search_pb2

from client import segments
from services.runtime.errors import Overloaded, Unavailable

FILES = {"a.md": "# A\ntext", "b.py": "x = 1", ".hidden": "x"}


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / "proj").mkdir(exist_ok=True)
        (tmp_path / "proj" / name).write_text(text)
    return tmp_path / "proj"


def reply(records, *failures, unkept=0):
    lost = len({failure.sequence for failure in failures})
    return search_pb2.IngestResponse(
        received=len(records),
        acknowledged=len(records) - lost - unkept,
        unkept=unkept,
        failures=failures,
        lanes=[search_pb2.LaneIngestion(lane="keyword", stored=len(records) - lost - unkept, ignored=unkept)],
    )


def test_a_folder_is_sent_and_summed_up(gateway, run, folder):
    gateway.replies["Ingest"] = reply
    outcome = run("ingest", str(folder))
    assert outcome.code == 0
    assert [record.document.id for record in gateway.requests] == ["proj/a.md", "proj/b.py"]
    assert "2 of 2 records stored, 0 failed" in outcome.out
    assert "keyword: 2 stored, 0 not of its kind" in outcome.out
    assert outcome.err == f"{folder}/.hidden: skipped: hidden\n"


def test_the_same_run_again_sends_the_same_records(gateway, run, folder):
    run("ingest", str(folder))
    first = list(gateway.requests)
    run("ingest", str(folder))
    assert gateway.requests == first * 2


def test_a_bad_line_is_told_and_the_rest_is_sent(gateway, run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "x"}\n{"id": 2, "text": "x"}\n{"id": "3", "text": "x"}\n')
    outcome = run("ingest", str(path))
    assert outcome.code == 1
    assert outcome.err == f"{path}:2: id: expected a string\n"
    assert "2 of 2 records stored, 1 failed" in outcome.out


def test_what_the_gateway_refuses_is_told_by_file_and_line(gateway, run, tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_RECORDS", 500)
    calls = []
    path = tmp_path / "a.jsonl"
    path.write_text("\n" + "".join(f'{{"id": "{number}", "text": "x"}}\n' for number in range(1203)))

    def refuse(records):
        calls.append(len(records))
        bad = [record.line for record in records if record.document.id == "1100"]
        failure = [
            index_pb2.RecordFailure(
                sequence=line, id="1100", field="document.content", message="too odd", lane="vector"
            )
            for line in bad
        ]
        return reply(records, *failure)

    gateway.replies["Ingest"] = refuse
    outcome = run("ingest", str(path), "--json")
    assert (outcome.code, outcome.err) == (1, "")
    summary = json.loads(outcome.out)
    assert (summary["received"], summary["acknowledged"], summary["unkept"]) == (1203, 1202, 0)
    assert summary["failures"] == [
        {
            "file": str(path),
            "line": 1102,
            "id": "1100",
            "field": "document.content",
            "reason": "",
            "message": "too odd",
            "lane": "vector",
        }
    ]
    assert summary["lanes"] == [{"lane": "keyword", "stored": 1202, "ignored": 0, "deleted": 0, "error": ""}]
    assert max(record.line for record in gateway.requests) == 500
    assert len(calls) == 3
    assert f"{path}:1102: document.content: vector lane: too odd\n" in run("ingest", str(path)).err


def test_records_that_nobody_keeps_are_a_note_and_no_error(gateway, run, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"id": "e", "name": "E"}')
    gateway.replies["Ingest"] = lambda records: reply(records, unkept=1)
    outcome = run("ingest", str(tmp_path / "e.jsonl"))
    assert outcome.code == 0
    assert "note: 1 records are of a kind no running lane keeps" in outcome.out


def test_a_path_that_is_not_there_is_exit_2(gateway, run, tmp_path):
    outcome = run("ingest", str(tmp_path / "nothing"))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("lanemesh: path: ")


def test_a_gateway_that_refuses_the_call_ends_the_run(gateway, run, folder):
    gateway.error = Overloaded("full")
    outcome = run("ingest", str(folder), "--json")
    assert outcome.code == 1
    assert json.loads(outcome.err)["error"]["reason"] == "RESOURCE_EXHAUSTED"
    summary = json.loads(outcome.out)
    assert (summary["received"], summary["acknowledged"]) == (2, 0)
    assert [loss["reason"] for loss in summary["lost"]] == ["RESOURCE_EXHAUSTED"]


@pytest.fixture
def many(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_RECORDS", 10)
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"id": "{number}", "text": "x"}}\n' for number in range(35)))
    return path


def test_a_gateway_lost_half_way_is_told_with_the_lines_that_are_not_stored(gateway, run, many):
    def answer(records):
        if records[0].document.id == "10":
            gateway.error = Unavailable("draining")
        return reply(records)

    gateway.replies["Ingest"] = answer
    outcome = run("ingest", str(many))
    assert outcome.code == 3
    assert f"{many}:21-30: 10 records not acknowledged by the gateway: UNAVAILABLE; " in outcome.err
    assert "lanemesh: draining" in outcome.err
    assert "20 of 30 records stored" in outcome.out
    # The channel may have tried the third call again; what follows it was never sent.
    assert {record.document.id for record in gateway.requests} == {str(number) for number in range(30)}


def test_a_lane_lost_for_a_while_is_told_by_stretches_and_the_others_go_on(gateway, run, many):
    def answer(records):
        if records[0].document.id == "10":
            return reply(records)
        lanes = [
            search_pb2.LaneIngestion(lane="keyword", stored=len(records)),
            search_pb2.LaneIngestion(lane="vector", error="UNAVAILABLE"),
        ]
        return search_pb2.IngestResponse(received=len(records), lanes=lanes)

    gateway.replies["Ingest"] = answer
    outcome = run("ingest", str(many), "--json")
    assert outcome.code == 1
    summary = json.loads(outcome.out)
    assert (summary["received"], summary["acknowledged"]) == (35, 10)
    stretches = [(loss["lane"], loss["first"]["line"], loss["last"]["line"]) for loss in summary["lost"]]
    assert stretches == [("vector", 1, 10), ("vector", 21, 35)]
    assert [(lane["lane"], lane["stored"], lane["error"]) for lane in summary["lanes"]] == [
        ("keyword", 35, ""),
        ("vector", 0, "UNAVAILABLE"),
    ]
    err = run("ingest", str(many)).err
    assert f"{many}:21-35: 15 records not acknowledged by the vector lane: UNAVAILABLE; run the command again" in err


def test_a_large_segment_is_cut_by_its_bytes(gateway, run, tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_BYTES", 100)
    calls = []
    gateway.replies["Ingest"] = lambda records: calls.append(len(records)) or reply(records)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"id": "{number}", "text": "{"x" * 40}"}}\n' for number in range(5)))
    assert run("ingest", str(path)).code == 0
    assert calls == [2, 2, 1]


@pytest.mark.parametrize(("option", "field"), [([], "delete_document_id"), (["--entity"], "delete_entity_id")])
def test_deletion_sends_identities_and_tells_what_each_lane_had(gateway, run, option, field):
    lanes = [search_pb2.LaneIngestion(lane="keyword", deleted=1)]
    gateway.replies["Ingest"] = lambda records: search_pb2.IngestResponse(
        received=len(records), acknowledged=len(records), lanes=lanes
    )
    outcome = run("delete", "a", "b/c.md", *option)
    assert (outcome.code, outcome.err) == (0, "")
    assert [(record.WhichOneof("record"), getattr(record, field)) for record in gateway.requests] == [
        (field, "a"),
        (field, "b/c.md"),
    ]
    assert outcome.out == "2 of 2 records deleted, 0 failed\n  keyword: 1 deleted\n"
    assert json.loads(run("delete", "a", *option, "--json").out)["lanes"][0]["deleted"] == 1


def test_a_deletion_that_a_lane_did_not_do_names_the_identities(gateway, run):
    lanes = [search_pb2.LaneIngestion(lane="keyword", error="UNAVAILABLE")]
    gateway.replies["Ingest"] = lambda records: search_pb2.IngestResponse(received=len(records), lanes=lanes)
    outcome = run("delete", "a", "b")
    assert outcome.code == 1
    assert outcome.err.startswith("a to b: 2 records not acknowledged by the keyword lane: UNAVAILABLE")


def test_relations_are_deleted_by_their_three_parts(gateway, run):
    outcome = run("delete", "--relation", "Ann | WORKS_AT|Acme", "Ann|Acme", "|x|y", "--json")
    assert outcome.code == 1
    (sent,) = gateway.requests
    assert sent.delete_relation == index_pb2.Relation(head="Ann", relation="WORKS_AT", tail="Acme")
    assert [failure["field"] for failure in json.loads(outcome.out)["failures"]] == ["line", "head"]


def test_a_lane_that_is_down_is_told_once_and_not_record_by_record(gateway, run, many):
    def answer(records):
        lane = search_pb2.LaneIngestion(lane="vector", error="UNAVAILABLE")
        missed = [index_pb2.RecordFailure(sequence=each.line, reason="UNAVAILABLE", lane="vector") for each in records]
        return search_pb2.IngestResponse(received=len(records), lanes=[lane], failures=missed)

    gateway.replies["Ingest"] = answer
    summary = json.loads(run("ingest", str(many), "--json").out)
    assert summary["failures"] == []
    assert [(loss["first"]["line"], loss["last"]["line"], loss["records"]) for loss in summary["lost"]] == [(1, 35, 35)]


@pytest.mark.parametrize("arguments", [[], ["\udcff"]])
def test_nothing_to_delete_is_an_error(gateway, run, arguments):
    assert run("delete", *arguments).code != 0
    assert gateway.requests == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_progress_bar_on_stderr(gateway, run, folder, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    outcome = run("ingest", str(folder), "--json")
    assert json.loads(outcome.out)["received"] == 2
    assert "records, " in terminal.getvalue()
