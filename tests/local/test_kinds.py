"""The table of kinds, row by row."""

from __future__ import annotations

import pytest

from services.local.kinds import TABLE, kind_of

CODE = "Call it so:\n```python\nclient.get()\nclient.put()\n```\n"


@pytest.mark.parametrize(
    ("path", "heading", "content", "kind"),
    [
        ("CLAUDE.md", "Build", "Run make.", "instruction"),
        ("sub/AGENTS.md", "", "Run make.", "instruction"),
        ("CONTRIBUTING.rst", "Tests", "Run make.", "instruction"),
        (".claude/rules/sql.md", "", "Bind variables.", "instruction"),
        (".github/copilot-instructions.md", "", "Bind variables.", "instruction"),
        ("CLAUDE.md", "Repository pattern", "A class per table.", "pattern"),
        ("docs/a.md", "Rules", "- You must bind.\n- Names are words.\n- Never sleep.\n", "instruction"),
        ("docs/a.md", "List", "- one\n- two\n- three\n- you must\n", "fact"),
        ("docs/a.md", "How to deploy", "- Always tag.\n", "pattern"),
        ("docs/a.md", "Naming conventions", "Words.", "pattern"),
        ("docs/a.md", "Client", CODE, "pattern"),
        ("docs/a.md", "Client", CODE + "text\n" * 20, "fact"),
        ("README.md", "Services", "| name | port |\n|---|---|\n| web | 1 |\n", "fact"),
        ("docs/claudette.md", "", "A name.", "fact"),
    ],
)
def test_kind(path: str, heading: str, content: str, kind: str) -> None:
    assert kind_of(path, heading, content) == kind


def test_the_last_row_always_holds() -> None:
    assert TABLE[-1].kind == "fact"
    assert all(row.why for row in TABLE)
