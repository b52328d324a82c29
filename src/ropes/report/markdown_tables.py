"""Formats a Markdown table."""

from collections.abc import Iterable, Sequence


def table(words: Sequence[str], numbers: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Columns of words, to the left, and after them columns of numbers, to the right, under their headings."""
    every = [[*words, *numbers], ["---"] * len(words) + ["---:"] * len(numbers), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)
