"""Copies Python and the system's libraries that it needs into an empty root: `python -m images.runtime FOLDER`.

There is no shell, no package manager and no tool in it. What it consists of is recorded as packages.py tells.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

from images.packages import record

# Test suites, editors, windows, terminals, installers, and databases of old with the libraries they would bring: no
# server imports them.
LEFT_OUT = (
    *("test", "tests", "_test*", "_ctypes_test*", "_xxtestfuzz*", "idlelib", "lib2to3", "pydoc_data", "config-*"),
    *("tkinter", "_tkinter*", "turtledemo", "turtle.py", "curses", "_curses*", "readline*", "_dbm*", "_gdbm*"),
    *("nis.*", "ensurepip", "EXTERNALLY-MANAGED", "site-packages", "dist-packages", "__pycache__"),
)
# What wheels for Linux take for granted: the manylinux policy, without windows and graphics.
FOR_WHEELS = (
    *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libutil.so.1", "libresolv.so.2"),
    *("libgcc_s.so.1", "libstdc++.so.6", "libz.so.1"),
)
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Markets give times in their own zone. The second set of zones, and the one with leap seconds, no program asks for.
TIME_ZONES = Path("/usr/share/zoneinfo")
OTHER_ZONES = ("posix", "right")
USER = 65532
FILES = {
    "etc/passwd": f"root:x:0:0:root:/:/nonexistent\nlanemesh:x:{USER}:{USER}:lanemesh:/data:/nonexistent\n",
    "etc/group": f"root:x:0:\nlanemesh:x:{USER}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def libraries(file: Path) -> set[Path]:
    """The shared libraries of a program or extension, and the loader."""
    listed = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    if missing := re.findall(r"(\S+) => not found", listed):
        sys.exit(f"{file} needs {', '.join(missing)}, which the base image does not have")
    return {Path(path) for path in re.findall(r"(/\S+) \(0x", listed)}


def standard_library() -> Iterator[Path]:
    """The extensions of the standard library that are kept."""
    skip = shutil.ignore_patterns(*LEFT_OUT)
    dynamic = Path(sysconfig.get_path("platstdlib")) / "lib-dynload"
    names = [path.name for path in dynamic.iterdir()]
    left_out = skip(str(dynamic), names)
    return (dynamic / name for name in names if name not in left_out)


def for_wheels() -> Iterator[Path]:
    """Where the loader finds the libraries that wheels expect."""
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    for name in FOR_WHEELS:
        found = re.search(rf"^\s*{re.escape(name)} .*=> (\S+)$", cache, re.MULTILINE)
        if found is None:
            sys.exit(f"the base image has no {name}")
        yield Path(found[1])


class Root:
    """The root that is filled; it keeps the base's own names and links, so that every path means the same in both."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)
        for link in (path for path in Path("/").iterdir() if path.is_symlink() and path.name.startswith("lib")):
            target = folder / link.readlink()
            target.mkdir(parents=True, exist_ok=True)
            (folder / link.name).symlink_to(link.readlink())

    def place(self, path: Path) -> Path:
        """Where a path of the base is in the root."""
        target = self._folder / path.parent.resolve().relative_to("/") / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target

    def add(self, path: Path) -> None:
        """A file with the links that lead to it."""
        target = self.place(path)
        if path.is_symlink():
            if not target.is_symlink():
                target.symlink_to(path.readlink())
            self.add(path.parent / path.readlink())
        else:
            shutil.copy2(path, target)

    def add_python(self) -> None:
        """The interpreter and the standard library, compiled."""
        for name in ("python3", f"python3.{sys.version_info.minor}"):
            self.add(Path(sys.executable).with_name(name))
        library = Path(sysconfig.get_path("stdlib"))
        target = self.place(library)
        shutil.copytree(library, target, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        compile_all = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
        subprocess.run([*compile_all, "-s", self._folder, "-p", "/", target], check=True)

    def add_files(self, files: Iterable[Path]) -> None:
        """Libraries."""
        for file in sorted(files):
            self.add(file)

    def finish(self) -> None:
        """What a system has beside files that are copied."""
        import ssl

        for name, content in FILES.items():
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_text(content, encoding="utf-8")
        self.add(CERTIFICATES)
        shutil.copytree(TIME_ZONES, self.place(TIME_ZONES), symlinks=True, ignore=shutil.ignore_patterns(*OTHER_ZONES))
        trusted = self.place(Path(ssl.get_default_verify_paths().openssl_cafile))
        if not trusted.exists():
            trusted.symlink_to(CERTIFICATES)
        for name, mode in (("data", 0o755), ("tmp", 0o1777)):
            folder = self._folder / name
            folder.mkdir()
            folder.chmod(mode)
        shutil.chown(self._folder / "data", USER, USER)
        shutil.copytree("/etc/ld.so.conf.d", self._folder / "etc/ld.so.conf.d")
        shutil.copy2("/etc/ld.so.conf", self._folder / "etc/ld.so.conf")
        subprocess.run(["ldconfig", "-r", self._folder], check=True)


def main(folder: Path) -> None:
    """Entry point."""
    root = Root(folder)
    programs = [Path(sys.executable).resolve(), *standard_library(), *for_wheels()]
    needed = {library for program in programs for library in libraries(program)} | set(for_wheels())
    root.add_python()
    root.add_files(needed)
    root.finish()
    record(folder, [*needed, Path(sys.executable).resolve(), CERTIFICATES, TIME_ZONES])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
