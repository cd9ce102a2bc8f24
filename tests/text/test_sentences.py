"""Where sentences stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.text.sentences import LONGEST, byte_span, split


def pieces(text: str) -> list[tuple[str, str]]:
    return [(kind, text[start:end]) for start, end, kind in split(text)]


def test_prose() -> None:
    text = " Dr. Smith waits 3.5 seconds. Then he\ncalls again!  \n\nLast one"
    assert pieces(text) == [
        ("prose", "Dr. Smith waits 3.5 seconds."),
        ("prose", "Then he\ncalls again!"),
        ("prose", "Last one"),
    ]


def test_markdown_structure_stands_apart() -> None:
    text = """# Title
Text below it. And
more.
- one item
  that goes on
2. two. Items here.
> quoted words
Set text
--------
| a | b |
***
```python
x = 1. Y
```
After the code."""
    assert pieces(text) == [
        ("heading", "Title"),
        ("prose", "Text below it."),
        ("prose", "And\nmore."),
        ("item", "one item\n  that goes on"),
        ("item", "two."),
        ("item", "Items here."),
        ("heading", "quoted words\nSet text"),
        ("row", "| a | b |"),
        ("code", "x = 1. Y"),
        ("prose", "After the code."),
    ]


@pytest.mark.parametrize("space", ["\xa0", "\u2003", "\u2028", "\u3000", "\x85"])
def test_wide_white_space_does_not_disturb_the_splitter(space: str) -> None:
    text = f"B{space}.{space}A b.{space}{space}Next one. {space}!"
    assert next(text[start:end] for start, end, _ in split(text)).startswith("B")


def test_long_sentences_are_cut_between_words() -> None:
    text = "word " * 400
    assert all(end - start <= LONGEST and text[start:end].endswith("word") for start, end, _ in split(text))
    assert len(split("x" * 10_000)) == -(-10_000 // LONGEST)


@given(st.text(alphabet=st.sampled_from("aB.?! \n\t\"'()#-|`1>=*~é😀。\xa0\u2028\u3000\x00"), max_size=120) | st.text())
def test_pieces_are_trimmed_ordered_and_lose_no_word_of_prose(text: str) -> None:
    position = 0
    for start, end, _ in split(text):
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert end - start <= LONGEST
        position = end


@given(st.text(), st.integers(0, 20), st.integers(0, 20))
def test_byte_spans_hold_the_same_text(text: str, start: int, size: int) -> None:
    end = min(start + size, len(text))
    start = min(start, end)
    first, last = byte_span(text, start, end)
    assert text.encode()[first:last] == text[start:end].encode()
