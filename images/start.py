"""Writes the script an image starts with, in place of a shell that would put the process's name into the command."""

from __future__ import annotations

import sys
from pathlib import Path

from services.runtime.registry import load_table

SCRIPT = '''"""Starts {process}."""

import runpy
import sys

sys.argv[1:1] = {arguments!r}
runpy.run_module({module!r}, run_name="__main__", alter_sys=True)
'''
MODULES = {"gateway": "gateway", "fusion": "fusion_service", "client": "client.main"}


def script(process: str, lanes: list[str]) -> str:
    """What starts this process; ValueError when there is none of that name."""
    if process in MODULES:
        return SCRIPT.format(process=process, module=MODULES[process], arguments=[])
    if process in lanes:
        return SCRIPT.format(process=process, module="services.runtime", arguments=[process])
    raise ValueError(f"PROCESS={process}: expected one of {', '.join([*MODULES, *lanes])}")


def main(process: str, target: Path) -> None:
    """Entry point."""
    try:
        target.write_text(script(process, list(load_table().lanes)), encoding="utf-8")
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
