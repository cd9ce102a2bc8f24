"""The index lanes' own rankings of judged collections, made through a mesh of their own by `lanemesh eval`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processes import free_base

LANES = "vector,keyword"
COMMAND = (sys.executable, "-m", "client.main")


def make(data: Path, folder: Path) -> None:
    """Writes one file a collection and lane into `folder`; every collection in BEIR layout below `data` takes part."""
    for corpus in sorted(data.glob("*/corpus.jsonl")):
        with TemporaryDirectory() as home, _up(Path(home)) as environment:
            arguments = ("eval", str(corpus.parent), "--lanes", LANES, "--rankings", str(folder))
            subprocess.run([*COMMAND, *arguments], env=environment, check=True)


@contextmanager
def _up(home: Path) -> Iterator[dict[str, str]]:
    """A mesh of the index lanes, its documents under `home`; yields the environment of its clients."""
    base = free_base(24)
    environment = os.environ | {"LANEMESH_HOME": str(home), "LANEMESH_GATEWAY": f"127.0.0.1:{base}"}
    command = [*COMMAND, "up", "--lanes", LANES, "--port-base", str(base)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        if not any("serving until" in line for line in process.stdout):
            raise SystemExit("bench: the mesh did not come up")
        yield environment
    finally:
        process.terminate()
        process.communicate()
