"""Splitting is pure: text in, sections out, every line in exactly one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.local.patterns import Form
from services.local.sections import MAX_SECTION, TEXT_GROUP, split


def outline(text: str, form: Form = "markdown") -> list[tuple[str, int, int]]:
    return [(section.path, section.start_line, section.end_line) for section in split(text, form)]


def test_atx_headings_nest_by_level() -> None:
    text = "intro\n# A\na\n## B\nb\n### C\nc\n## D\nd\n# E\n"
    assert outline(text) == [
        ("", 1, 1),
        ("A", 2, 3),
        ("A > B", 4, 5),
        ("A > B > C", 6, 7),
        ("A > D", 8, 9),
        ("E", 10, 10),
    ]


def test_setext_headings_begin_at_their_first_line() -> None:
    assert outline("Title\n=====\ntext\n\nTwo\nlines\n---\nmore\n") == [("Title", 1, 4), ("Title > Two lines", 5, 8)]


@pytest.mark.parametrize(
    "text",
    [
        "# A\n```sh\n# comment\n```\n",
        "# A\n~~~~\n# comment\n~~~\n# comment\n~~~~\n",
        "# A\n1. step\n   ```\n   # comment\n   ```\n",
        "# A\n- ```\n  # comment\n  ```\n",
        "# A\n    # indented code\n",
        "# A\n<!--\n# hidden\n-->\n",
        "# A\n<pre>\n# raw\n</pre>\n",
        "# A\n```\n# never closed\n",
        "# A\n#hashtag\n####### seven\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert outline(text) == [("A", 1, text.count("\n"))]


@pytest.mark.parametrize(
    "text",
    [
        "- item\n---\ntext\n",
        "- item\nlazy\n---\n",
        "> quoted\n---\n",
        "| a |\n---\n",
        "text\n\n---\n\ntext\n",
        "***\n",
        "---\ntitle: x\n---\ntext\n",
        "---\ntitle: x\n...\ntext\n",
    ],
)
def test_dashes_that_underline_nothing(text: str) -> None:
    assert outline(text) == [("", 1, text.count("\n"))]


def test_inline_backticks_open_no_fence() -> None:
    assert outline("```code``` text\n# A\n") == [("", 1, 1), ("A", 2, 2)]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# A #", "A"),
        ("# C#", "C#"),
        ("#   `run` **now**", "run now"),
        ("# [Guide](guide.md)", "Guide"),
        ("# Set up {#setup}", "Set up"),
        ("# #", ""),
        ("#", ""),
        ("\ufeff# First", "First"),
        ("# Title\r", "Title"),
    ],
)
def test_titles_are_plain(line: str, title: str) -> None:
    assert outline(f"{line}\ntext\n") == [(title, 1, 2)]


def test_rst_levels_follow_the_order_of_styles() -> None:
    text = "====\nBook\n====\n\nintro\n\nPart\n----\n\ntext::\n\n    Not\n    ---\n\nSub\n~~~\n\nx\n\nPart 2\n------\n"
    assert outline(text, "rst") == [
        ("Book", 1, 6),
        ("Book > Part", 7, 14),
        ("Book > Part > Sub", 15, 19),
        ("Book > Part 2", 20, 21),
    ]


def test_rst_needs_a_title_of_its_own() -> None:
    text = "two lines of\nparagraph\n---------\n\n-----\n\nlonger title\n--\n"
    assert outline(text, "rst") == [("", 1, 8)]


def test_plain_text_is_grouped_by_paragraphs() -> None:
    paragraph = "word " * 150 + "\n\n"
    assert len(paragraph) * 2 > TEXT_GROUP
    assert outline(paragraph * 3, "text") == [("", 1, 2), ("", 3, 4), ("", 5, 6)]
    assert outline("# one\n\ntwo\n", "text") == [("", 1, 3)]


def test_a_long_section_is_divided_and_keeps_its_heading() -> None:
    text = "# A\n" + ("x" * 99 + "\n") * 100
    parts = split(text, "markdown")
    assert [part.path for part in parts] == ["A", "A"]
    assert all(part.end - part.start <= MAX_SECTION for part in parts)


LINES = st.sampled_from(
    [
        "# A",
        "## B",
        "text",
        "===",
        "---",
        "~~~",
        "```",
        "- x",
        "",
        "    code",
        "<!--",
        "-->",
        "é 漢",
        "\x0b",
        "\u2028",
        "t\r",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(LINES, st.text(max_size=900)), max_size=40).map("\n".join))


@given(TEXTS, st.sampled_from(["markdown", "rst", "text"]))
def test_sections_cover_every_line_exactly_once(text: str, form: Form) -> None:
    sections = split(text, form)
    lines = text.split("\n")
    for section in sections:
        stretch = "\n".join(lines[section.start_line - 1 : section.end_line])
        assert text[section.start : section.end].removesuffix("\n") == stretch
    assert "".join(text[section.start : section.end] for section in sections) == text
    covered = [line for section in sections for line in range(section.start_line, section.end_line + 1)]
    assert covered == list(range(1, text.count("\n") + (not text.endswith("\n") and text != "") + 1))
