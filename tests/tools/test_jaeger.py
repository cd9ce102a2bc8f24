"""Building Jaeger, with a stand-in for Go: what is asked of it, what is refused, and that nothing is built twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.runtime import jaeger as runtime
from tools import jaeger

# Writes down what it was called with; answers `mod download`, and `build` with the file that -o names.
GO = """#!/bin/sh
echo "$GOTOOLCHAIN $CGO_ENABLED $GOFLAGS | $*" >> "{folder}/called"
case $1 in
mod) echo '{answer}' ;;
build) [ -z "{broken}" ] || {{ echo "does not compile"; exit 1; }}
    while [ "$1" != -o ]; do shift; done; echo built > "$2" ;;
esac
"""


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Puts a stand-in on the PATH; returns how to read what it was called with."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def install(total: str = jaeger.SUM, broken: str = "") -> None:
        answer = json.dumps({"Sum": total, "Dir": "/source"})
        script = tmp_path / "bin" / "go"
        script.parent.mkdir(exist_ok=True)
        script.write_text(GO.format(folder=tmp_path, answer=answer, broken=broken))
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")

    def called() -> list[str]:
        return (tmp_path / "called").read_text().splitlines()

    install.called = called  # type: ignore[attr-defined]
    return install


def target(tmp_path: Path) -> Path:
    return runtime.binary({"XDG_CACHE_HOME": str(tmp_path / "cache")})


def test_it_is_built_once_from_the_pinned_module(go, tmp_path, capsys):
    go()
    assert jaeger.main([]) == 0
    download, build = go.called()
    assert download == f"local 0 -mod=readonly -buildvcs=false | mod download -json {jaeger.MODULE}@v{runtime.VERSION}"
    assert "| build -C /source -trimpath -ldflags -s -w -o " in build
    assert target(tmp_path).read_text() == "built\n"
    assert [path.name for path in target(tmp_path).parent.iterdir()] == [target(tmp_path).name]
    assert jaeger.main([]) == 0
    assert len(go.called()) == 2
    assert capsys.readouterr().out.endswith(f"is built: {target(tmp_path)}\n")


def test_another_source_under_the_same_version_is_refused(go, tmp_path, capsys):
    go(total="h1:other")
    assert jaeger.main([]) == 2
    assert "is not what it was: h1:other" in capsys.readouterr().err
    assert not target(tmp_path).exists()


def test_a_build_that_fails_leaves_nothing_and_says_why(go, tmp_path, capsys):
    go(broken="yes")
    assert jaeger.main(["--start"]) == 2
    assert "go build ended with code 1: does not compile" in capsys.readouterr().err
    assert list(target(tmp_path).parent.iterdir()) == []


def test_without_go_it_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert jaeger.main([]) == 2
    assert "no `go` on the PATH" in capsys.readouterr().err
