"""Generates protos/gen from protos/lanemesh; run by `make protos` and diffed in CI."""

from __future__ import annotations

import shutil
import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

HERE = Path(__file__).resolve().parent


def generate(target: Path) -> None:
    """Writes messages, stubs and their types for every .proto file below `target`, replacing what was there."""
    package = target / "lanemesh"
    shutil.rmtree(package, ignore_errors=True)
    sources = sorted(str(path.relative_to(HERE)) for path in (HERE / "lanemesh").rglob("*.proto"))
    includes = [f"-I{HERE}", f"-I{files('grpc_tools') / '_proto'}"]
    outputs = [f"--{kind}_out={target}" for kind in ("python", "grpc_python", "mypy", "mypy_grpc")]
    if protoc.main(["protoc", *includes, *outputs, *sources]):
        sys.exit("protoc failed")
    for folder in (package, package / "v1"):
        (folder / "__init__.py").write_text('"""The contract, generated from protos/lanemesh."""\n')
        (folder / "py.typed").touch()


if __name__ == "__main__":
    generate(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "gen")
