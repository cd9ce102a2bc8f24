"""Installs the part of requirements.lock that a process needs, by hash: `dependencies.py common`, then `… PROCESS`.

uv works out which part that is; the lock decides the versions, and its hashes stay with them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

UV = "/tools/bin/uv"
LOCK = Path("requirements.lock")
PROJECT = Path("pyproject.toml")
APP = Path("/app")


def locked(*what: str, folder: Path) -> dict[str, str]:
    """The locked requirements of what is asked for, each with its hashes, by name and version."""
    # What stands in the output file is what uv prefers, and whose hashes it keeps; the constraint leaves no choice.
    output = folder / "needed.lock"
    shutil.copyfile(LOCK, output)
    command = [UV, "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"]
    subprocess.run([*command, "--constraint", LOCK, "--output-file", output, *what], check=True)
    return entries(output.read_text(encoding="utf-8"))


def entries(lock: str) -> dict[str, str]:
    """The entries of a lock file, by what they begin with: name and version."""
    return {block.split(maxsplit=1)[0]: block for block in re.split(r"\n(?=\S)", lock.strip()) if block}


def of_project(extra: str | None, folder: Path) -> dict[str, str]:
    """The requirements of every process, or of one; one without libraries of its own has no extra."""
    known = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    chosen = ("--extra", extra) if extra in known else ()
    return locked(str(PROJECT), *chosen, folder=folder)


def install(requirements: dict[str, str], folder: Path, *where: str) -> None:
    """Installs exactly these; the index may offer nothing else, and nothing is built from source."""
    wanted = folder / "wanted.lock"
    wanted.write_text("\n".join(requirements.values()) + "\n", encoding="utf-8")
    command = [UV, "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    subprocess.run([*command, *where, "-r", wanted], check=True)


def install_common(folder: Path) -> None:
    """A virtual environment with what every process imports, that looks where the rest will be."""
    venv = APP / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, venv], check=True)
    install(of_project(None, folder), folder, "--python", str(venv / "bin" / "python"))
    (site,) = venv.glob("lib/python3*/site-packages")
    (site / "lanemesh.pth").write_text(f"{APP / 'own'}\n{APP / 'mesh'}\n", encoding="utf-8")


def install_own(process: str, folder: Path) -> None:
    """What this process imports beyond that."""
    common = of_project(None, folder)
    own = {name: entry for name, entry in of_project(process, folder).items() if name not in common}
    install_apart(own, APP / "own", folder)


def install_apart(requirements: dict[str, str], target: Path, folder: Path) -> None:
    """Installs into a folder of its own, without the scripts."""
    target.mkdir(parents=True)
    if requirements:
        install(requirements, folder, "--python", str(APP / "venv" / "bin" / "python"), "--target", str(target))
    shutil.rmtree(target / "bin", ignore_errors=True)


def main(arguments: list[str]) -> None:
    """Entry point."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        match arguments:
            case ["common"]:
                install_common(folder)
            case ["extra", extra, target]:
                install_apart(of_project(extra, folder), Path(target), folder)
            case ["tool", tool, target]:
                wanted = folder / "tool.in"
                wanted.write_text(tool, encoding="utf-8")
                install_apart(locked(str(wanted), folder=folder), Path(target), folder)
            case [process]:
                install_own(process, folder)
            case _:
                sys.exit("usage: dependencies.py common | PROCESS | extra EXTRA FOLDER | tool NAME FOLDER")


if __name__ == "__main__":
    main(sys.argv[1:])
