"""What the recipe is made of, as far as it can be told without building."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from images import build, engine
from images.dependencies import entries
from images.start import MODULES, script

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("process", build.processes())
def test_every_process_is_started_by_a_module_that_is_there(process: str) -> None:
    written = script(process, [process])
    compile(written, "start.py", "exec")
    (module,) = re.findall(r"run_module\('([\w.]+)'", written)
    assert importlib.util.find_spec(module)
    assert (f"sys.argv[1:1] = ['{process}']" in written) == (process not in MODULES)


def test_unknown_process_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"PROCESS=vektor: expected one of gateway, fusion, client, vector"):
        script("vektor", ["vector"])
    with pytest.raises(SystemExit):
        build.main(["vektor"])


def test_entries_of_a_lock_keep_their_hashes() -> None:
    text = "a==1 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\nb==2 ; python_version < '4' \\\n    --hash=sha256:3\n"
    found = entries(text)
    assert list(found) == ["a==1", "b==2"]
    assert "\n".join(found.values()) + "\n" == text
    assert entries("") == {}


def test_what_reaches_the_index_is_lent_where_it_is_there(tmp_path: Path) -> None:
    here, gone = tmp_path / "ca.pem", tmp_path / "gone"
    here.touch()
    assert build.secrets({"SSL_CERT_FILE": str(gone), "PIP_CERT": str(here)}) == ["--secret", f"id=ca,src={here}"]
    assert build.secrets({"PIP_CONFIG_FILE": str(gone), "UV_CONFIG_FILE": ""}) == []


def test_machine_without_podman_and_docker_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="podman, or docker"):
        engine.engine()


def test_everything_the_recipe_copies_is_there_and_not_ignored() -> None:
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").split() if line.startswith("!")}
    copied = [
        source
        for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(Path(source).is_relative_to(folder) for folder in kept), source


def test_no_stage_after_the_build_has_a_shell() -> None:
    final = DOCKERFILE.rpartition("FROM scratch")[2]
    assert "RUN" not in final
    assert "USER 65532:65532" in final
    assert re.search(r'ENTRYPOINT \["[^"]+", "[^"]+"\]', final)
