"""Makes a base image where no registry can be reached: Debian with Python, from Debian's packages."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from images.engine import engine, exists, output

SUITE = "bookworm"
PACKAGES = "python3,python3-venv,ca-certificates,binutils"
IMAGE = f"localhost/lanemesh-base:{SUITE}"


def make() -> None:
    """Makes the image anew."""
    if shutil.which("mmdebstrap") is None:
        sys.exit("a base image is made with mmdebstrap, which is not here (Debian: apt-get install mmdebstrap)")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root.tar"
        output("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root))
        output(engine(), "import", str(root), IMAGE)


def ensure() -> str:
    """The image, made if it is not there."""
    if not exists(IMAGE):
        sys.stderr.write(f"making {IMAGE} (once; about a minute)\n")
        make()
    return IMAGE
