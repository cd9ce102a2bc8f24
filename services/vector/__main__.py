"""Indexes the embedded collection of a lane that does not run: `python -m services.vector`.

Until then its vectors are compared one by one, some 4 ms for 20 000. Indexing takes a minute for 50 000 and holds
up everything else in its process, so that no lane does it while it serves.
"""

from __future__ import annotations

import os
import sys

from services.runtime.errors import StartupError
from services.runtime.settings import load
from services.vector.edge_shard import optimise
from services.vector.lane import VectorSettings, folder_of


def main() -> None:
    """Entry point."""
    try:
        changed = optimise(folder_of(load(VectorSettings, os.environ)))
    except StartupError as error:
        sys.exit(error.message)
    sys.stderr.write("indexed\n" if changed else "nothing to do\n")


if __name__ == "__main__":
    main()
