from __future__ import annotations

import io
import json
import sys

import pytest
from lanemesh.v1 import index_pb2, search_pb2

from services.runtime.errors import Overloaded

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


def test_what_the_gateway_refuses_is_told_by_file_and_line(gateway, run, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("\n" + "".join(f'{{"id": "{number}", "text": "x"}}\n' for number in range(1203)))

    def refuse(records):
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
    assert (outcome.code, outcome.out) == (1, "")
    assert json.loads(outcome.err)["error"]["reason"] == "RESOURCE_EXHAUSTED"


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
