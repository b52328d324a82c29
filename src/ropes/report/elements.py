"""HTML elements of the report page."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup, escape
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.report import pictures
from ropes.report.figures import to_svg


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An HTML element with escaped content; `Markup` is not escaped.

    Args:
        name: of the element.
        content: children in their order.
        attributes: trailing underscores are dropped (`class_`); None leaves an attribute out.
    """
    given = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_"), value) for key, value in attributes.items() if value is not None
    )
    return Markup("<{0}{1}>{2}</{0}>").format(name, given, Markup("").join(map(escape, content)))


def absent(text: str) -> Markup:
    """A line about something that was not recorded."""
    return tag("p", text, class_="absent")


def plot(figure: Figure, label: str) -> Markup:
    """A figure as inline SVG; `label` describes it for screen readers."""
    return tag("div", Markup(to_svg(figure, label)), class_="plot")


def image(pixels: NDArray[Any], alt: str) -> Markup:
    """Pixels with alpha, (H, W, 2) grey or (H, W, 4) in colour, as an embedded PNG."""
    return Markup('<img src="{}" alt="{}">').format(pictures.data_uri(pixels), alt)


class Strip(NamedTuple):
    """A row of images: its label, its pixels (from `pictures.strip`), and whether a gap precedes it."""

    label: str
    pixels: NDArray[Any]
    apart: bool = False


def strips(panels: Iterable[tuple[str, Sequence[Strip]]], kind: str, subject: str = "") -> Markup:
    """Panels of image rows.

    Args:
        panels: caption and rows of each.
        kind: CSS class: "stacked" panels fill the width, "paired" ones stand side by side.
        subject: added to the images' alternative texts.
    """
    drawn = []
    for caption, rows in panels:
        lines = [
            tag(
                "tr",
                tag("th", row.label, scope="row"),
                tag("td", image(row.pixels, ", ".join(filter(None, (row.label, caption, subject))))),
                class_="apart" if row.apart else None,
            )
            for row in rows
        ]
        table = tag("table", tag("tbody", *lines), class_="strips")
        drawn.append(tag("figure", tag("figcaption", caption), table))
    return tag("div", *drawn, class_=f"cameras {kind}")


def details(summary: str, *content: object, opened: bool = False) -> Markup:
    """Content behind a summary that opens it."""
    return tag("details", tag("summary", summary), *content, open="" if opened else None)


def listing(entries: Iterable[tuple[str, str]]) -> Markup:
    """Names and values."""
    return tag("dl", *(tag(kind, text) for entry in entries for kind, text in zip(("dt", "dd"), entry, strict=True)))
