"""Podman or Docker, whichever is there."""

from __future__ import annotations

import shutil
import subprocess
import sys


def engine() -> str:
    """The program that builds images; ends the process with what to do when there is none."""
    if shutil.which("podman"):
        return "podman"
    if shutil.which("docker") and run("docker", "version", quiet=True):
        return "docker"
    sys.exit(
        "images need podman, or docker with its daemon running; neither is here (Debian: apt-get install podman runc)"
    )


def run(*command: str, quiet: bool = False) -> bool:
    """Whether a command succeeds."""
    where = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, stdout=where, stderr=where, check=False).returncode == 0


def output(*command: str) -> str:
    """What a command prints; ends the process with its last words when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} … failed:\n{last(done.stderr or done.stdout)}")
    return done.stdout.strip()


def last(text: str, lines: int = 20) -> str:
    """The end of a text."""
    return "\n".join(text.strip().splitlines()[-lines:])


def exists(image: str) -> bool:
    """Whether there is an image of that name."""
    return run(engine(), "image", "inspect", image, quiet=True)
