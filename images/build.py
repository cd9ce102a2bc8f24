"""Builds the images and says how large they are: `python -m images.build [PROCESS…]`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from images import base
from images.engine import engine, last, output
from images.start import MODULES
from services.runtime.registry import load_table

ROOT = Path(__file__).parents[1]
# The package index is reached as pip and uv reach it on this machine: by the files these variables name, as secrets.
SECRETS = {"ca": ("SSL_CERT_FILE", "PIP_CERT"), "pip": ("PIP_CONFIG_FILE",), "uv": ("UV_CONFIG_FILE",)}


def processes() -> list[str]:
    """Everything that has an image."""
    return [*MODULES, *(lane.name for lane in load_table().enabled())]


def version() -> str:
    """The project's version, which the chart takes for its images' tag."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return str(project["project"]["version"])


def name(process: str, prefix: str = "") -> str:
    """What the image of a process is called."""
    return f"{prefix}lanemesh-{process}:{version()}"


def secrets(environment: Mapping[str, str]) -> list[str]:
    """The options that lend the build what reaches the package index, where there is any."""
    options: list[str] = []
    for identity, variables in SECRETS.items():
        file = next(
            (path for variable in variables if (path := environment.get(variable)) and Path(path).is_file()), ""
        )
        if file:
            options += ["--secret", f"id={identity},src={file}"]
    return options


def build(process: str, image: str, base_image: str = "", network: str = "") -> None:
    """Builds one image; ends the process with the build's last words when it fails."""
    command = [engine(), "build", "--tag", image, "--build-arg", f"PROCESS={process}", *secrets(os.environ)]
    if base_image:
        command += ["--build-arg", f"BASE={base_image}"]
    if network:
        command += ["--network", network]
    command += ["--build-arg", f"REVISION={_revision()}", str(ROOT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"building {image} failed:\n{last(done.stdout)}")


def size(image: str) -> int:
    """How large an image is, in bytes."""
    return int(output(engine(), "image", "inspect", "--format", "{{.Size}}", image))


def _revision() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main(arguments: Sequence[str]) -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="images.build", description=__doc__)
    parser.add_argument("--base", default="", help="the base image, in place of the Dockerfile's; `local` makes one")
    parser.add_argument("--prefix", default="", help="registry and path before the name, with a slash at the end")
    parser.add_argument("--network", default="", help="the build's network, such as host")
    parser.add_argument("processes", nargs="*", metavar="PROCESS", help=f"of {', '.join(processes())} (default: all)")
    given = parser.parse_args(arguments)
    unknown = set(given.processes) - set(processes())
    if unknown:
        parser.error(f"no process {', '.join(sorted(unknown))}; there are {', '.join(processes())}")
    base_image = base.ensure() if given.base == "local" else given.base
    for process in given.processes or processes():
        image, begun = name(process, given.prefix), time.monotonic()
        build(process, image, base_image, given.network)
        print(f"{image:<32} {size(image) / 1e6:6.0f} MB   {time.monotonic() - begun:5.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
