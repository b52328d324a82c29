"""Tables for HTML pages, Markdown files and terminals."""

import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import rich.console
import rich.table
import rich.text
from markupsafe import Markup

from ropes.evaluation.summary import JointErrors
from ropes.report.page import tag
from ropes.report.words import error, error_and_deviation, fixed, rms_and_deviation

#: Longest line of a Markdown file, outside tables.
WIDTH = 120
#: Marks of numbers that reach the paper's or not: CSS class, sign, and meaning for screen readers.
_MARKS = {True: ("yes", "✓", "reached"), False: ("no", "✗", "short")}
Item = TypeVar("Item")


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: its text.
        number: whether its entries align to the right.
        paper: whether a page shows it in the softer colour of the paper's numbers.
        marked: whether a page shows ✓ or ✗ beside its entries.
    """

    heading: str
    number: bool = True
    paper: bool = False
    marked: bool = False


@dataclass(frozen=True)
class Entry:
    """A formatted number with its deviations and a comparison value.

    Attributes:
        text: the number.
        deviations: its standard deviations.
        reached: whether it reaches the paper's; None without comparison.
        beside: another number, shown in brackets; empty for none.
    """

    text: str
    deviations: Sequence[str] = ()
    reached: bool | None = None
    beside: str = ""

    def __str__(self) -> str:
        return " ± ".join((self.text, *self.deviations)) + (f" ({self.beside})" if self.beside else "")

    def markdown(self) -> str:
        """As Markdown; a number that reaches the paper's is bold."""
        return str(replace(self, text=f"**{self.text}**") if self.reached else self)

    def __html__(self) -> Markup:
        words = [f"± {each}" for each in self.deviations] + ([f"({self.beside})"] if self.beside else [])
        return (
            Markup("{} {}").format(self.text, tag("span", " ".join(words), class_="std"))
            if words
            else Markup.escape(self.text)
        )


def mse_entry(cell: JointErrors | None) -> Entry:
    """MSE of a cell ± over test draws, and ± over training seeds if there are several; "–" without a value."""
    if cell is None or cell.mse is None:
        return Entry("–")
    shown = [error_and_deviation(cell.mse, each) for each in (cell.mse_draws, cell.mse_seeds)]
    return Entry(shown[0][0], [text for _, text in shown[: len(cell.seeds)]], cell.mse_reached)


def rms_entry(cell: JointErrors | None) -> Entry:
    """RMS error of a cell in degrees, ± as in `mse_entry`, with the MSE in rad² in brackets; "–" without a value."""
    if cell is None or cell.mse is None:
        return Entry("–")
    shown = [rms_and_deviation(cell.mse, each) for each in (cell.mse_draws, cell.mse_seeds)]
    deviations = [text for _, text in shown[: len(cell.seeds)]]
    return Entry(shown[0][0], deviations, cell.mse_reached, error(cell.mse))


def mcc_entry(cell: JointErrors) -> Entry:
    """MCC of a cell ± over test draws, and ± over training seeds if there are several; "–" without a value."""
    if cell.mcc is None:
        return Entry("–")
    deviations = [fixed(each or 0.0) for each in (cell.mcc_draws, cell.mcc_seeds)]
    return Entry(fixed(cell.mcc), deviations[: len(cell.seeds)], cell.mcc_reached)


class Table:
    """A table.

    Args:
        columns: the columns, or their headings.
        lines: entries of each line, one a column: an `Entry`, or anything that is shown as `str` writes it.
        texts: places of the columns of text among those given by their headings; the others are numbers.
    """

    def __init__(
        self, columns: Iterable[Column | str], lines: Sequence[Sequence[object]], *, texts: Collection[int] = (0,)
    ) -> None:
        self.columns = [
            column if isinstance(column, Column) else Column(column, number=place not in texts)
            for place, column in enumerate(columns)
        ]
        self.lines = lines

    @classmethod
    def of(cls, lines: Sequence[Sequence[tuple[Column | str, object]]], *, texts: Collection[int] = (0,)) -> Self:
        """The table of lines that give each entry with its column; at least one line."""
        return cls([column for column, _ in lines[0]], [[entry for _, entry in line] for line in lines], texts=texts)

    def html(self) -> Markup:
        """As HTML, in a box that scrolls sideways."""
        head = [
            tag("th", column.heading, class_="n" if column.number else None, colspan=2 if column.marked else None)
            for column in self.columns
        ]
        body = [tag("tr", *map(_cell, self.columns, line, [True] + [False] * len(line))) for line in self.lines]
        return tag("div", tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body)), class_="scroll")

    def markdown(self) -> str:
        """As Markdown."""
        heads = [column.heading for column in self.columns]
        rule = ["---:" if column.number else "---" for column in self.columns]
        body = [[each.markdown() if isinstance(each, Entry) else str(each) for each in line] for line in self.lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rule, *body))

    def terminal(self) -> rich.table.Table:
        """For a terminal: long texts are folded, numbers never are."""
        drawn = rich.table.Table()
        for column in self.columns:
            justify: Any = "right" if column.number else "left"
            drawn.add_column(rich.text.Text(column.heading), justify=justify, no_wrap=column.number, overflow="fold")
        for line in self.lines:
            drawn.add_row(*(rich.text.Text(str(entry)) for entry in line))
        return drawn


def print_line(console: rich.console.Console, line: str = "", style: str | None = None) -> None:
    """Print a line as it is beside tables of a terminal: without markup, colours of numbers or line breaks."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _cell(column: Column, entry: object, first: bool) -> Markup:
    if first:
        return tag("th", entry, scope="row", class_="n" if column.number else None)
    names = " ".join(name for name, holds in (("n", column.number), ("paper", column.paper)) if holds)
    cell = tag("td", entry, class_=names or None)
    if not column.marked:
        return cell
    sign = ""
    if isinstance(entry, Entry) and entry.reached is not None:
        name, sign, word = _MARKS[entry.reached]
        sign = tag("span", sign, class_=name, title=word, role="img", **{"aria-label": word})
    return cell + tag("td", sign, class_="mark")


def grouped(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Key → its items, in order of first appearance."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def named_once(lines: Iterable[tuple[str, Sequence[object]]]) -> list[list[object]]:
    """Lines that begin with the name of their block; a name that equals the one above is left out."""
    lines = list(lines)
    names = [name for name, _ in lines]
    return [["" if k and names[k - 1] == name else name, *entries] for k, (name, entries) in enumerate(lines)]


def paragraphs(*parts: str) -> str:
    """Markdown of the parts that are not empty, with empty lines between them and a newline at the end."""
    return "\n\n".join(filter(None, parts)) + "\n"


def wrapped(text: str) -> str:
    """Text with lines wrapped at `WIDTH`; tables, headings and comments are not wrapped."""
    return "".join(f"{part}\n" for line in text.splitlines() for part in _parts(line))


def _parts(line: str) -> list[str]:
    if len(line) <= WIDTH or line.startswith(("|", "#", "<", "    ")):
        return [line]
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
