from __future__ import annotations

import json
from pathlib import Path

import pytest
from lanemesh.v1.evidence_pb2 import Document

from client import jsonl, reading
from client.records import Item, Problem, Record, Skipped
from services.runtime.errors import InvalidRequest

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FRONT = """---
title: "Customer table: keys"
project: billing
author: Mara
published_at: 2026-05-12
tags: [schema, 'postgres']
access_labels:
  - finance
  - security
layout: wide
---
# Customer table

Text.
"""


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def items(path: Path, **options: str) -> list[Item]:
    return list(reading.read(reading.find([str(path)]), **options))


def documents(path: Path, **options: str) -> list[Document]:
    found = items(path, **options)
    assert all(isinstance(item, Record) for item in found), found
    return [item.request.document for item in found if isinstance(item, Record)]


def problem(path: Path) -> tuple[str, str]:
    (item,) = items(path)
    assert isinstance(item, Problem)
    return item.field, item.message


def test_markdown_takes_its_fields_from_the_front_matter(tmp_path):
    (document,) = documents(write(tmp_path / "x" / "customer-table.md", FRONT))
    assert document.title == "Customer table: keys"
    assert document.content == "# Customer table\n\nText.\n"
    assert (document.id, document.project, document.source) == ("billing/customer-table.md", "billing", "docs")
    assert document.published_at.ToJsonString() == "2026-05-12T00:00:00Z"
    assert list(document.tags) == ["schema", "postgres"]
    assert list(document.access_labels) == ["finance", "security"]
    assert dict(document.attributes) == {"layout": "wide"}


def test_markdown_without_front_matter_has_its_heading_for_a_title(tmp_path):
    text = "intro\n# The title\n\n---\nrest"
    (document,) = documents(write(tmp_path / "docs" / "a.md", text))
    assert (document.title, document.content, document.id) == ("The title", text, "docs/a.md")
    assert not document.HasField("published_at")
    (plain,) = documents(write(tmp_path / "docs" / "b.txt", "---\n\na rule above"))
    assert (plain.title, plain.content) == ("b", "---\n\na rule above")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("---\ntitle: x\naccess_labels: [finance]\n", "front matter"),
        ("---\naccess_label: finance\n---\nx", "access_label"),
        ("---\npublished_at: yesterday\n---\nx", "published_at"),
        ("---\ntitle: [a, b]\n---\nx", "title"),
        ("---\ntitle: a\n  b: c\n---\nx", "title"),
    ],
)
def test_front_matter_that_cannot_be_trusted_is_a_problem(tmp_path, text, field):
    assert problem(write(tmp_path / "a.md", text))[0] == field


def test_windows_line_ends_and_a_byte_order_mark_are_fine(tmp_path):
    text = "\ufeff---\r\ntitle: T\r\n---\r\nbody\r\n"
    (document,) = documents(write(tmp_path / "a.md", text))
    assert (document.title, document.content) == ("T", "body\r\n")


def test_code_is_code_by_its_extension(tmp_path):
    (document,) = documents(write(tmp_path / "billing" / "retry.py", "---\nx = 1\n"))
    assert (document.title, document.source, document.content) == ("retry.py", "code", "---\nx = 1\n")


def test_html_becomes_text(tmp_path):
    page = """<!doctype html><html lang="en"><head><title>The &amp; page<style>p{}</style></head>
    <body><script>if (a < b) steal()</script><h1>One</h1><p>Two <b>bold</b>
    words.</p><template>hidden</template><pre>  kept
    here</pre><p>x &lt;y&gt;</p></body>"""
    (document,) = documents(write(tmp_path / "w" / "p.html", page))
    assert (document.title, document.language, document.source) == ("The & page", "en", "docs")
    assert document.content == "One\n\nTwo bold words.\n\n  kept\n    here\n\nx <y>"


def test_a_folder_of_folders_is_a_folder_of_projects(tmp_path):
    for name in ("README.md", "crm/a.md", "crm/sql/b.sql", "auth/c.txt"):
        write(tmp_path / "corpus" / name, "text")
    whole = {document.id: document.project for document in documents(tmp_path / "corpus")}
    assert whole == {
        "corpus/README.md": "corpus",
        "auth/c.txt": "auth",
        "crm/a.md": "crm",
        "crm/sql/b.sql": "crm",
    }
    part = {document.id: document.project for document in documents(tmp_path / "corpus" / "crm")}
    assert part == {"crm/a.md": "crm", "crm/sql/b.sql": "crm"}
    (single,) = documents(tmp_path / "corpus" / "crm" / "a.md")
    assert single.id == "crm/a.md"


def test_project_and_source_of_the_command_overrule(tmp_path):
    write(tmp_path / "a.md", FRONT)
    (document,) = documents(tmp_path / "a.md", project="p", source="academic")
    assert (document.project, document.source, document.id) == ("p", "academic", "p/a.md")


def test_two_files_of_one_identity_are_a_problem_one_file_twice_is_not(tmp_path):
    write(tmp_path / "r" / "a.md", "---\nid: same\n---\nx")
    write(tmp_path / "r" / "b.md", "---\nid: same\n---\ny")
    first, second = items(tmp_path / "r")
    assert isinstance(first, Record)
    assert isinstance(second, Problem)
    assert second.field == "id"
    again = list(reading.read(reading.find([str(tmp_path / "r" / "a.md")] * 2)))
    assert all(isinstance(item, Record) for item in again)


def test_what_is_left_out_says_why(tmp_path):
    write(tmp_path / "r" / ".hidden.md", "x")
    write(tmp_path / "r" / ".git" / "a.md", "x")
    write(tmp_path / "r" / "blob.txt", b"a\0b")
    write(tmp_path / "r" / "empty.md", "---\ntitle: x\n---\n\n")
    write(tmp_path / "r" / "image.png", b"\x89PNG")
    write(tmp_path / "r" / "kept.md", "x")
    write(tmp_path / "secret.md", "x")
    (tmp_path / "r" / "out.md").symlink_to(tmp_path / "secret.md")
    found = items(tmp_path / "r")
    reasons = {Path(item.origin.file).name: item.reason for item in found if isinstance(item, Skipped)}
    assert reasons == {
        ".git": "hidden",
        ".hidden.md": "hidden",
        "blob.txt": "binary",
        "empty.md": "empty",
        "image.png": "not a kind of file that is read",
        "out.md": "a link out of the folder",
    }
    assert len(found) == 7


def test_what_is_too_large_or_not_text_is_a_problem(tmp_path):
    assert problem(write(tmp_path / "a.md", "x" * (reading.MAX_CHARACTERS + 1)))[0] == "content"
    assert problem(write(tmp_path / "b.md", "x" * (reading.MAX_BYTES + 1)))[0] == "content"
    assert problem(write(tmp_path / "c.md", b"\xff\xfe\xfd")) == ("content", "is not UTF-8 text")
    (document,) = documents(write(tmp_path / "d.md", "é" * reading.MAX_CHARACTERS))
    assert len(document.content) == reading.MAX_CHARACTERS


def test_a_file_that_vanishes_is_a_problem(tmp_path):
    path = write(tmp_path / "a.md", "x")
    sources = reading.find([str(path)])
    path.unlink()
    (item,) = reading.read(sources)
    assert isinstance(item, Problem)
    assert item.field == "file"


def test_a_path_that_is_not_there_is_refused_before_anything_is_read(tmp_path):
    with pytest.raises(InvalidRequest, match="does not exist"):
        reading.find([str(tmp_path / "nothing")])


def test_json_lines_are_told_apart_by_their_keys(tmp_path):
    lines = [
        {"head": "a", "relation": "CALLS", "tail": "b", "projects": ["crm"], "confidence": 1},
        {"id": "e", "name": "E", "type": "service", "aliases": ["ee"], "properties": {"tier": 1}},
        {"_id": "d", "title": "T", "text": "body", "metadata": {"year": 2020, "empty": "", "authors": ["x"]}},
        {"id": "f", "name": None, "content": "c"},
    ]
    path = write(tmp_path / "scifact" / "corpus.jsonl", "\n".join(json.dumps(line) for line in lines[:3]) + "\n\n")
    relation, entity, document = (item.request for item in items(path) if isinstance(item, Record))
    assert (relation.relation.relation, relation.relation.confidence) == ("CALLS", 1.0)
    assert (entity.entity.name, entity.entity.properties["tier"]) == ("E", 1.0)
    assert (document.document.id, document.document.content) == ("d", "body")
    assert document.document.project == "scifact"
    assert dict(document.document.attributes) == {"year": "2020", "authors": '["x"]'}
    assert problem(write(tmp_path / "x.jsonl", json.dumps(lines[3]))) == ("name", "unknown key")


def test_lines_of_collections_are_read_as_they_come(tmp_path):
    lines = [
        {"_id": 7, "title": "Only a title", "text": ""},
        {"_id": "8", "title": None, "text": "body", "metadata": None, "url": "https://a.test", "year": 2020},
        {"_id": "9", "text": "body", "doi": "10/x", "metadata": {"doi": "10/y"}},
        {"_id": "10", "title": "", "text": ""},
    ]
    path = write(tmp_path / "scifact" / "corpus.jsonl", "\n".join(map(json.dumps, lines)))
    titled, other, told, empty = (item.request.document for item in items(path))
    assert (titled.id, titled.content) == ("7", "Only a title")
    assert (other.url, dict(other.attributes)) == ("https://a.test", {"year": "2020"})
    assert dict(told.attributes) == {"doi": "10/y"}
    # What the gateway refuses is for it to tell.
    assert not empty.content


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b'{"id": "a", "content": "x", "colour": "red"}', "colour"),
        (b'{"id": 7, "content": "x"}', "id"),
        (b'{"id": "a", "content": "x", "tags": "t"}', "tags"),
        (b'{"id": "a", "content": "x", "tags": [1]}', "tags"),
        (b'{"id": "a", "content": "x", "metadata": []}', "attributes"),
        (b'{"id": "a", "_id": "b", "content": "x"}', "_id"),
        (b'{"id": "a", "content": "x", "published_at": "2026-13-01"}', "published_at"),
        (b'{"id": "a", "content": "\\ud800"}', "content"),
        (b'{"id": "e", "name": "E", "confidence": true}', "confidence"),
        (b'{"id": "a", ', "line"),
        (b"[1, 2]", "line"),
        (b'{"id": "\xff"}', "line"),
        (b"[" * 100_000, "line"),
    ],
)
def test_a_bad_line_is_a_problem_and_the_rest_goes_on(tmp_path, line, field):
    path = write(tmp_path / "a.jsonl", b'{"id": "1", "text": "x"}\n' + line + b'\n{"id": "3", "text": "x"}')
    before, bad, after = items(path)
    assert isinstance(bad, Problem)
    assert (str(bad.origin), bad.field) == (f"{path}:2", field)
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert after.origin.line == 3


def test_a_line_without_end_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonl, "LINE_BYTES", 64)
    path = write(tmp_path / "a.jsonl", b"x" * 1000 + b'\n{"id": "2", "text": "x"}\n')
    long, after = items(path)
    assert isinstance(long, Problem)
    assert isinstance(after, Record)
    assert after.origin.line == 2


def test_command_line_project_fills_lines_that_name_none(tmp_path):
    lines = [{"id": "e", "name": "E"}, {"id": "f", "name": "F", "projects": ["crm"]}, {"id": "d", "text": "x"}]
    path = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    first, second, third = (item.request for item in items(path, project="p", source="web") if isinstance(item, Record))
    assert list(first.entity.projects) == ["p"]
    assert list(second.entity.projects) == ["crm"]
    assert (third.document.project, third.document.source) == ("p", "web")


def test_the_questions_of_a_beir_folder_are_not_evidence(tmp_path):
    write(tmp_path / "scifact" / "corpus.jsonl", '{"_id": "1", "text": "x"}')
    write(tmp_path / "scifact" / "queries.jsonl", '{"_id": "q", "text": "x?"}')
    write(tmp_path / "scifact" / "qrels" / "test.tsv", "q\t1\t1")
    found = items(tmp_path / "scifact")
    reasons = {Path(item.origin.file).name: item.reason for item in found if isinstance(item, Skipped)}
    assert reasons == {
        "queries.jsonl": "the questions of a BEIR data set are not evidence",
        "qrels": "the judgements of a BEIR data set are not evidence",
    }
    (record,) = [item for item in found if isinstance(item, Record)]
    assert record.request.document.project == "scifact"


TRIPLES = "$|directed_by|Richard Brooks\n\n 1408 |has_genre| Horror \n"


@pytest.mark.parametrize("name", ["kb.txt", "kb.psv", "kb.triples", "KB.TXT"])
def test_a_file_of_triples_is_known_by_its_content(tmp_path, name):
    path = write(tmp_path / "films" / name, TRIPLES)
    first, second = (item.request.relation for item in items(path) if isinstance(item, Record))
    assert (first.head, first.relation, first.tail, list(first.projects)) == ("$", "directed_by", "Richard Brooks", [])
    assert (second.head, second.tail) == ("1408", "Horror")
    assert [list(item.request.relation.projects) for item in items(path, project="p")] == [["p"], ["p"]]
    assert len(items(path.parent)) == 2


@pytest.mark.parametrize("text", ["a|b|c\na line of prose\n", "| a | b |\n", "one|bar\n", "a|b|c|d\n"])
def test_text_with_bars_is_text(tmp_path, text):
    (document,) = documents(write(tmp_path / "a.txt", text))
    assert document.content == text


def test_a_long_file_is_judged_by_whole_lines_of_its_start(tmp_path):
    line = "head|relation|" + "é" * 50 + "\n"
    path = write(tmp_path / "a.txt", line * 2_000 + "not a triple\n")
    *relations, bad = items(path)
    assert len(relations) == 2_000
    assert isinstance(bad, Problem)
    assert (bad.origin.line, bad.field) == (2_001, "line")


def test_a_spoilt_line_does_not_make_a_document_of_a_file_of_triples(tmp_path):
    spoilt, *relations = items(write(tmp_path / "kb.txt", "# of the museum\n" + "a|b|c\n" * 9))
    assert (spoilt.origin.line, spoilt.field) == (1, "line")
    assert all(item.request.HasField("relation") for item in relations)


@pytest.mark.parametrize(
    ("line", "field"),
    [(b"a|b", "line"), (b"a|b|c|d", "line"), (b"a||c", "relation"), (b" |b|c", "head"), (b"a|b|\xff", "line")],
)
def test_a_bad_triple_is_a_problem_with_its_line(tmp_path, line, field):
    path = write(tmp_path / "a.dat", b"a|b|c\n\n" + line + b"\nd|e|f\n")
    before, bad, after = reading.read(reading.find([str(path)], "triples"))
    assert isinstance(bad, Problem)
    assert (str(bad.origin), bad.field) == (f"{path}:3", field)
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert after.origin.line == 4


def test_the_demo_corpus_reads_without_a_problem():
    found = items(CORPUS)
    records = [item.request for item in found if isinstance(item, Record)]
    assert len(records) == len(found)
    kinds = [record.WhichOneof("record") for record in records]
    assert (kinds.count("entity"), kinds.count("relation")) == (111, 194)
    by_id = {record.document.id: record.document for record in records if record.HasField("document")}
    assert len(by_id) == kinds.count("document")
    assert list(by_id["payments/acquirer-fees-2026.md"].access_labels) == ["finance"]
    assert by_id["billing/migrations/002_customers.sql"].project == "billing"
    assert "corpus/README.md" in by_id
