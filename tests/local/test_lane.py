"""What the lane answers: evidence with its place, honest statuses, filters, context, deadlines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lanemesh.v1.lane_pb2 import LANE_STATUS_PARTIAL, LANE_STATUS_UNSPECIFIED, ContextItem, Filters

from services.local.lane import open_lane
from services.local.library import Library
from services.runtime.deadline import Deadline, ambient
from services.runtime.errors import StartupError
from services.runtime.lane import Lane
from tests.local.project import Project

GUIDE = """# Guide

Welcome.

## Déploiement 🚀

À noter. The rollout of OrderService takes a minute.

## Other

Text.
"""


async def test_evidence_names_file_section_and_lines(project: Project) -> None:
    file = project.write("docs/guide.md", GUIDE)
    reply = await project.ask("how long is the order service rollout", entities=["OrderService", "Order"])
    assert (reply.status, reply.reason, reply.message) == (LANE_STATUS_UNSPECIFIED, "", "")
    assert (reply.engine, reply.total_found) == ("files", 1)
    (evidence,) = reply.evidence
    document = evidence.document
    assert document.id == "local:docs/guide.md#L5-L8"
    assert document.title == "Guide > Déploiement 🚀"
    assert document.content == "".join(GUIDE.splitlines(keepends=True)[4:8])
    assert (document.url, document.source, document.project) == ("docs/guide.md", "docs", "shop")
    assert document.published_at.ToNanoseconds() == file.stat().st_mtime_ns
    assert (evidence.file.path, evidence.file.section) == ("docs/guide.md", "Guide > Déploiement 🚀")
    assert (evidence.file.start_line, evidence.file.end_line) == (5, 8)
    assert (evidence.kind, list(evidence.entities)) == ("fact", ["OrderService"])
    assert 0 < evidence.confidence <= 1
    passage = evidence.passage
    stretch = document.content[passage.start : passage.end]
    assert "rollout of OrderService" in stretch
    assert document.content.encode()[passage.start_byte : passage.end_byte].decode() == stretch


async def test_line_endings_and_the_byte_order_mark_are_kept(project: Project) -> None:
    project.write("README.md", b"\xef\xbb\xbf# A\r\nalpha\r\n")
    (evidence,) = (await project.ask("alpha")).evidence
    assert evidence.document.content == "\ufeff# A\r\nalpha\r\n"
    assert evidence.document.title == "A"


async def test_a_section_without_heading_is_titled_by_its_file(project: Project) -> None:
    project.write("docs/notes.txt", "alpha\n")
    (evidence,) = (await project.ask("alpha")).evidence
    assert (evidence.document.title, evidence.file.section) == ("notes.txt", "")


async def test_a_bare_heading_gives_way_to_its_parts(project: Project) -> None:
    project.write("README.md", "# Alpha\n\n## One\n\ntext\n\n## Two\n")
    assert set(await project.ids("alpha")) == {"local:README.md#L3-L6", "local:README.md#L7-L7"}


async def test_the_limit_on_results_leaves_the_total(project: Project) -> None:
    for number in range(5):
        project.write(f"docs/{number}.md", "alpha\n")
    reply = await project.ask("alpha", max_results=2)
    assert (len(reply.evidence), reply.total_found) == (2, 5)


async def test_kinds_reach_the_reply(project: Project) -> None:
    project.write("CLAUDE.md", "alpha\n")
    project.write("docs/a.md", "# Example\nalpha\n")
    project.write("docs/b.md", "alpha\n")
    reply = await project.ask("alpha", context=[ContextItem(title="chat", text="alpha")])
    kinds = {evidence.document.id.split("#")[0]: evidence.kind for evidence in reply.evidence}
    assert kinds == {
        "local:CLAUDE.md": "instruction",
        "local:docs/a.md": "pattern",
        "local:docs/b.md": "fact",
        "context:1:chat": "context",
    }


async def test_recent_context_is_searched(project: Project) -> None:
    items = [
        ContextItem(title="first", text="nothing"),
        ContextItem(title="log", text="Zeile\nThe gateway fell ü over."),
    ]
    reply = await project.ask("gateway", context=items)
    (evidence,) = reply.evidence
    assert (evidence.document.id, evidence.document.title, evidence.kind) == ("context:2:log", "log", "context")
    assert evidence.document.content == items[1].text
    assert evidence.document.content[evidence.passage.start : evidence.passage.end] == "The gateway fell ü over."
    assert not evidence.HasField("file")
    assert not evidence.document.HasField("published_at")


async def test_nothing_matched_says_what_was_looked_for(project: Project) -> None:
    project.write("README.md", "alpha\n")
    reply = await project.ask("where is OrderService", context=[ContextItem(title="a", text="b")])
    assert (reply.status, reply.reason) == (LANE_STATUS_UNSPECIFIED, "NO_MATCH")
    assert reply.message == "Nothing in 1 file and 1 context item matches: OrderService."
    reply = await project.ask("what is this")
    assert (reply.reason, reply.message) == ("NO_MATCH", "The query holds no word to look for in 1 file.")


@pytest.mark.parametrize(
    "filters", [Filters(projects=["elsewhere"]), Filters(sources=["news", "web"]), Filters(tags=["draft"])]
)
async def test_out_of_scope(project: Project, filters: Filters) -> None:
    project.write("README.md", "alpha\n")
    reply = await project.ask("alpha", filters=filters, context=[ContextItem(title="a", text="alpha")])
    assert (reply.status, reply.reason, len(reply.evidence)) == (LANE_STATUS_UNSPECIFIED, "OUT_OF_SCOPE", 0)
    assert reply.message


async def test_filters_that_fit(project: Project) -> None:
    project.write("README.md", "alpha\n")
    filters = Filters(projects=["x", "shop"], sources=["docs"], language="fr", access_labels=["any"])
    reply = await project.ask("alpha", filters=filters, context=[ContextItem(title="a", text="alpha")])
    assert [evidence.document.source for evidence in reply.evidence] == ["docs"]
    reply = await project.ask(
        "alpha", filters=Filters(sources=["context"]), context=[ContextItem(title="a", text="alpha")]
    )
    assert [evidence.document.source for evidence in reply.evidence] == ["context"]


async def test_dates_are_those_of_the_files(project: Project) -> None:
    modified = project.write("README.md", "alpha\n").stat().st_mtime_ns
    context = [ContextItem(title="undated", text="alpha")]
    found = {}
    for offset in (-1, 0, 1):
        after, before = Filters(), Filters()
        after.published_after.FromNanoseconds(modified + offset)
        before.published_before.FromNanoseconds(modified + offset)
        replies = [await project.ask("alpha", filters=filters, context=context) for filters in (after, before)]
        found[offset] = [len(reply.evidence) for reply in replies]
    assert found == {-1: [1, 0], 0: [1, 0], 1: [0, 1]}


async def test_no_time_left_is_partial_with_what_is_known(project: Project) -> None:
    project.write("README.md", "alpha\n")
    assert await project.ids("alpha")
    with ambient(Deadline.after(0)):
        reply = await project.ask("alpha", context=[ContextItem(title="a", text="alpha")])
    assert (reply.status, reply.reason) == (LANE_STATUS_PARTIAL, "DEADLINE_EXCEEDED")
    assert [evidence.document.url for evidence in reply.evidence] == ["README.md"]
    assert reply.message == (
        "Time ran out before all files were checked: 1 searched, 0 known unread. "
        "Time ran out before 1 context item could be searched."
    )


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Refreshes wait until it is set."""
    event = threading.Event()
    original = Library.refresh

    def held(library: Library, stopped: Callable[[], bool]) -> None:
        event.wait()
        original(library, stopped)

    monkeypatch.setattr(Library, "refresh", held)
    yield event
    event.set()


async def test_a_refresh_that_outlasts_the_query_goes_on(tmp_path: Path, gate: threading.Event) -> None:
    (tmp_path / "README.md").write_text("alpha\n")
    project = Project(tmp_path, await open_lane({"LANEMESH_PROJECT_ROOT": str(tmp_path)}))
    with ambient(Deadline.after(0.02)):
        reply = await project.ask("alpha")
    assert (reply.status, len(reply.evidence)) == (LANE_STATUS_PARTIAL, 0)
    gate.set()
    assert len(await project.ids("alpha")) == 1
    await project.lane.close()


async def test_queries_at_once_share_a_refresh(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    await project.ids("alpha")
    project.write("README.md", "alpha\n")
    refreshes: list[int] = []
    original = Library.refresh

    def counted(library: Library, stopped: Callable[[], bool]) -> None:
        refreshes.append(1)
        original(library, stopped)

    monkeypatch.setattr(Library, "refresh", counted)
    replies = await asyncio.gather(*(project.ids("alpha") for _ in range(20)))
    assert all(reply == ["local:README.md#L1-L1"] for reply in replies)
    assert len(refreshes) == 2


async def test_a_cancelled_query_leaves_the_others_alone(tmp_path: Path, gate: threading.Event) -> None:
    (tmp_path / "README.md").write_text("alpha\n")
    project = Project(tmp_path, await open_lane({"LANEMESH_PROJECT_ROOT": str(tmp_path)}))
    first, second = (asyncio.create_task(project.ids("alpha")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert len(await second) == 1
    await project.lane.close()


async def test_closing_ends_a_refresh_and_may_be_repeated(tmp_path: Path, gate: threading.Event) -> None:
    lane: Lane = await open_lane({"LANEMESH_PROJECT_ROOT": str(tmp_path)})
    gate.set()
    await lane.close()
    await lane.close()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("LANEMESH_PROJECT_ROOT", "missing"),
        ("LANEMESH_PROJECT_ROOT", "file"),
        ("LANEMESH_LOCAL_MAX_FILES", "0"),
        ("LANEMESH_LOCAL_MAX_FILE_BYTES", "much"),
    ],
)
async def test_a_wrong_setting_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StartupError, match=variable):
        await open_lane({variable: value})


async def test_the_root_is_the_current_directory_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "README.md").write_text("alpha\n")
    monkeypatch.chdir(tmp_path)
    lane = await open_lane({})
    reply = await Project(tmp_path, lane).ask("alpha")
    await lane.close()
    assert reply.evidence[0].document.project == tmp_path.name
