"""The lane sees the project as it is at the moment of the question, and nothing outside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from services.local import files
from services.local.lane import open_lane
from services.local.patterns import enters, form_of
from services.runtime.errors import Unavailable
from tests.local.project import Project


@pytest.fixture
def trust(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Once called, every stamp counts as proof at once, as it does for files that have rested."""

    def begin() -> None:
        monkeypatch.setattr(files, "TICK_NS", -(10**18))
        monkeypatch.setattr(files, "COARSE_TICK_NS", -(10**18))

    return begin


async def test_an_edit_is_seen(project: Project, trust: Callable[[], None]) -> None:
    project.write("README.md", "# A\nalpha\n")
    trust()
    assert await project.ids("alpha") == ["local:README.md#L1-L2"]
    project.write("README.md", "# A\n\nnow it is beta\n")
    assert await project.ids("alpha") == []
    assert await project.ids("beta") == ["local:README.md#L1-L3"]


async def test_an_edit_of_the_same_size_is_seen(project: Project, trust: Callable[[], None]) -> None:
    file = project.write("README.md", "alpha\n")
    before = file.stat()
    trust()
    assert await project.ids("alpha")
    file.write_text("gamma\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert await project.ids("alpha") == []
    assert await project.ids("gamma")


async def test_an_edit_that_puts_the_old_time_back_is_seen(project: Project) -> None:
    file = project.write("README.md", "alpha\n")
    before = file.stat()
    assert await project.ids("alpha")
    file.write_text("gamma\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert await project.ids("gamma")


def test_a_stamp_holds_the_change_time() -> None:
    stamp = files.Stamp(modified_ns=1, changed_ns=1_000_000_001, size=6, inode=1)
    assert stamp != stamp._replace(changed_ns=1_000_000_002)
    assert not stamp.settled(stamp.changed_ns + files.TICK_NS)
    assert stamp.settled(stamp.changed_ns + files.TICK_NS + 1)
    coarse = stamp._replace(changed_ns=1_000_000_000)
    assert not coarse.settled(coarse.changed_ns + files.COARSE_TICK_NS)


async def test_an_edit_in_the_same_tick_of_the_clock_is_seen(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.Stamp, "of", classmethod(lambda cls, status: cls(1, 2**62, 6, 1)))
    file = project.write("README.md", "alpha\n")
    assert await project.ids("alpha")
    file.write_text("gamma\n")
    assert await project.ids("gamma")


async def test_an_untouched_file_is_not_read_again(
    project: Project, trust: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("README.md", "alpha\n")
    trust()
    assert await project.ids("alpha")
    monkeypatch.setattr(os, "open", None)
    assert await project.ids("alpha") == ["local:README.md#L1-L1"]


async def test_files_come_go_and_move(project: Project) -> None:
    project.write("docs/one.md", "alpha\n")
    assert await project.ids("alpha") == ["local:docs/one.md#L1-L1"]
    project.write("docs/deep/two.md", "alpha\n")
    assert len(await project.ids("alpha")) == 2
    (project.root / "docs/one.md").rename(project.root / "docs/moved.md")
    assert set(await project.ids("alpha")) == {"local:docs/moved.md#L1-L1", "local:docs/deep/two.md#L1-L1"}
    (project.root / "docs/moved.md").unlink()
    (project.root / "docs/deep").rename(project.root / "docs/deeper")
    assert await project.ids("alpha") == ["local:docs/deeper/two.md#L1-L1"]


async def test_links_are_not_followed(project: Project, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("alpha secret\n")
    (project.root / "file.md").symlink_to(outside / "secret.md")
    (project.root / "docs").symlink_to(outside)
    assert await project.ids("alpha") == []


async def test_a_folder_that_becomes_a_link_is_left(
    project: Project, tmp_path: Path, trust: Callable[[], None]
) -> None:
    project.write("docs/a.md", "alpha\n")
    trust()
    assert await project.ids("alpha")
    (project.root / "docs").rename(tmp_path / "elsewhere")
    (project.root / "docs").symlink_to(tmp_path / "elsewhere")
    assert await project.ids("alpha") == []


async def test_a_pipe_is_no_file(project: Project) -> None:
    os.mkfifo(project.root / "README.md")
    project.write("docs/a.md", "alpha\n")
    assert await project.ids("alpha") == ["local:docs/a.md#L1-L1"]


async def test_what_is_not_prose_is_counted(project: Project) -> None:
    project.write("a.md", b"alpha\0binary")
    project.write("b.md", b"alpha \xff\xfe latin")
    project.write("c.md", "alpha " * 200_000)
    project.write("d.txt", "alpha " * 5_000)
    project.write("e.md", "alpha\n")
    reply = await project.ask("alpha")
    assert [evidence.document.url for evidence in reply.evidence] == ["e.md"]
    assert reply.message == "4 files left out: 1 binary, 1 not UTF-8, 1 not prose, 1 too large."
    project.write("a.md", "alpha\n")
    assert len((await project.ask("alpha")).evidence) == 2


async def test_a_folder_that_cannot_be_opened_is_reported(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("docs/a.md", "alpha\n")
    original = os.scandir

    def guarded(path: str) -> object:
        if path.endswith("docs"):
            raise PermissionError(path)
        return original(path)

    monkeypatch.setattr(os, "scandir", guarded)
    reply = await project.ask("alpha")
    assert reply.message == "Nothing in 0 files matches: alpha. 1 folder could not be opened."


async def test_names_that_cannot_be_cited_are_passed_over(project: Project) -> None:
    project.write("a.md", "alpha\n")
    project.write(os.fsdecode(b"\xff.md"), "alpha\n")
    project.write("/".join(["d" * 100] * 5) + "/long.md", "alpha\n")
    assert await project.ids("alpha") == ["local:a.md#L1-L1"]


async def test_other_peoples_text_is_not_searched(project: Project) -> None:
    for folder in (".git", ".venv", "node_modules/x", "build", "x.egg-info", "docs/__pycache__", ".hidden"):
        project.write(f"{folder}/README.md", "alpha\n")
    project.write("myenv/pyvenv.cfg", "")
    project.write("myenv/README.md", "alpha\n")
    project.write(".github/SUPPORT.md", "alpha\n")
    project.write(".claude/rules.md", "alpha\n")
    assert {path.split("#")[0] for path in await project.ids("alpha")} == {
        "local:.github/SUPPORT.md",
        "local:.claude/rules.md",
    }


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("CLAUDE.md", "markdown"),
        ("README", "markdown"),
        ("README.rst", "rst"),
        ("notes.TXT", "text"),
        ("requirements.txt", None),
        ("requirements-dev.txt", None),
        ("CMakeLists.txt", None),
        ("main.py", None),
        ("Makefile", None),
        (".hidden.md", None),
    ],
)
def test_which_files_are_prose(name: str, form: str | None) -> None:
    assert form_of(name) == form


@pytest.mark.parametrize(("folder", "entered"), [("docs", True), (".github", True), (".git", False), ("dist", False)])
def test_which_folders_are_entered(folder: str, entered: bool) -> None:
    assert enters(folder) is entered


async def test_limits_keep_the_files_nearest_the_root(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for path in ("docs/a.md", "docs/b.md", "z.md"):
        (tmp_path / path).write_text("alpha\n")
    for variable, value in (("LANEMESH_LOCAL_MAX_FILES", "1"), ("LANEMESH_LOCAL_MAX_TOTAL_BYTES", "8")):
        lane = await open_lane({"LANEMESH_PROJECT_ROOT": str(tmp_path), variable: value})
        reply = await Project(tmp_path, lane).ask("alpha")
        await lane.close()
        assert [evidence.document.url for evidence in reply.evidence] == ["z.md"]
        assert reply.message == "The limits were reached after 1 file, counted from the project root down."


async def test_a_root_that_vanishes_is_an_error_not_an_empty_answer(project: Project) -> None:
    await project.lane.check()
    project.root.rmdir()
    with pytest.raises(Unavailable):
        await project.lane.check()
    with pytest.raises(Unavailable):
        await project.ask("alpha")
