"""Which files of a project are prose worth searching, as data: a suffix or a name says how a file is split."""

from __future__ import annotations

import re
from typing import Literal

Form = Literal["markdown", "rst", "text"]

SUFFIXES: dict[str, Form] = {
    ".md": "markdown",
    ".mdx": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".txt": "text",
}

# Files that are prose although they have no suffix.
BARE_NAMES = frozenset(
    {"readme", "contributing", "claude", "agents", "changelog", "changes", "architecture", "security", "install"}
)

# Files that end in .txt and are read by tools, not people.
TOOL_FILES = re.compile(r"(requirements|constraints)\b.*\.txt|cmakelists\.txt|robots\.txt|llms-full\.txt")

# Hidden folders are machinery, except these, which hold words for contributors.
HIDDEN_FOLDERS = frozenset({".github", ".claude"})

# Folders of other people's text and of build output.
FOREIGN_FOLDERS = frozenset(
    {"node_modules", "bower_components", "site-packages", "vendor", "third_party"}
    | {"__pycache__", "build", "_build", "dist", "out", "target", "htmlcov"}
)
FOREIGN_ENDINGS = (".egg-info", ".dist-info")

# A folder that contains one of these is a virtual environment or a cache, whatever its name.
FOREIGN_MARKERS = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})


def form_of(name: str) -> Form | None:
    """How a file of this name is split into sections; None when it is not searched."""
    lowered = name.casefold()
    if lowered.startswith(".") or TOOL_FILES.fullmatch(lowered):
        return None
    stem, dot, suffix = lowered.rpartition(".")
    if stem and dot:
        return SUFFIXES.get(dot + suffix)
    return "markdown" if lowered in BARE_NAMES else None


def enters(folder: str) -> bool:
    """Whether the walk goes into a folder of this name."""
    if folder.startswith("."):
        return folder in HIDDEN_FOLDERS
    return folder not in FOREIGN_FOLDERS and not folder.endswith(FOREIGN_ENDINGS)
