"""Formats Markdown: tables, and text in lines of at most 120 characters."""

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120


def table(words: Sequence[str], counts: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table with columns of words to the left and of numbers to the right."""
    rule = ["---"] * len(words) + ["---:"] * len(counts)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ([*words, *counts], rule, *lines))


def wrapped(text: str) -> str:
    """The same text with long lines wrapped; tables, headings and comments stay as they are."""
    return "".join(f"{part}\n" for line in text.splitlines() for part in _parts(line))


def _parts(line: str) -> list[str]:
    if len(line) <= WIDTH or line.startswith(("|", "#", "<", "    ")):
        return [line]
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
