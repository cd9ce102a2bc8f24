"""Records which Debian packages an image has files of, where scanners for known flaws look, with their licences."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

# Scanners read one file per package here in images without a package manager.
STATUS = Path("var/lib/dpkg/status.d")


def record(root: Path, files: Iterable[Path]) -> None:
    """Writes status and licence of each package that one of the files belongs to."""
    (root / STATUS).mkdir(parents=True, exist_ok=True)
    for package in sorted(set(_packages(files))):
        status = subprocess.run(["dpkg-query", "--status", package], capture_output=True, text=True, check=True).stdout
        name = package.partition(":")[0]
        (root / STATUS / name).write_text(status, encoding="utf-8")
        licence = Path("usr/share/doc") / name / "copyright"
        if (source := Path("/") / licence).exists():
            (root / licence).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, root / licence)


def _packages(files: Iterable[Path]) -> Iterator[str]:
    """Whom the files belong to. A file that no package brought, as Python in some bases, belongs to nobody."""
    for file in files:
        for name in _names(file):
            found = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
            if found.returncode == 0:
                yield found.stdout.partition(": ")[0]
                break


def _names(file: Path) -> Iterator[str]:
    """The names under which the package database may know a file: /lib is a link to /usr/lib today."""
    for path in (file, file.resolve()):
        yield str(path)
        yield str(path).removeprefix("/usr") if str(path).startswith("/usr/lib") else f"/usr{path}"
