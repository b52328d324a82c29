"""The report page: its elements, sections and parts, and its templates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, over_seeds
from ropes.report import pictures
from ropes.report.figures import to_svg
from ropes.simulation.corruption import OCCLUDER_NAMES

_ENVIRONMENT = Environment(
    loader=PackageLoader("ropes", "report"),
    autoescape=select_autoescape(("html.j2",)),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)


@dataclass(frozen=True)
class Source:
    """Results, and the folder of the experiment with its artefacts."""

    results: Results
    folder: Path

    @cached_property
    def cells(self) -> tuple[JointErrors, ...]:
        """The rows of joint angles, averaged over training seeds."""
        return over_seeds(self.results.rows)


@dataclass(frozen=True)
class Section:
    """A section: its id, its heading, which the contents repeat, and its elements."""

    id: str
    heading: str
    content: Sequence[Markup]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of the page for one kind of rows.

    Attributes:
        rows: field of `Results`; a part without rows is left out.
        title: of the part; the first one is that of the page.
        findings: sentences below the page's title.
        opening: pictures below them, on the first screen.
        sections: functions that yield no, one or several sections.
    """

    rows: str
    title: Callable[[Source], str]
    findings: Callable[[Source], list[str]]
    sections: Sequence[Callable[[Source], Iterator[Section]]]
    opening: Callable[[Source], Sequence[Markup]] = lambda _: ()


def render(template: str, /, **content: Any) -> str:
    """Fill in one of this package's templates; HTML templates escape their content unless it is `Markup`."""
    return _ENVIRONMENT.get_template(template).render(**content)


def explained(name: str, /, **conditions: Any) -> Markup:
    """The explanation of a section: the macro `name` of texts.html.j2."""
    return Markup(getattr(_ENVIRONMENT.get_template("texts.html.j2").module, name)(**conditions).strip())


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


def page(source: Source, parts: Sequence[Part]) -> str:
    """The page as HTML, without network or scripts.

    Args:
        source: the results.
        parts: at least one, in their order.
    """
    found = source.results
    rows = [row for kind in ("rows", "model_rows", "action_rows") for row in getattr(found, kind)]
    provenance = [
        ("experiment", found.name),
        ("preset", found.preset),
        *((("scene", found.scene),) if found.scene else ()),
        *((("occluded by", OCCLUDER_NAMES[found.hiding]),) if found.hiding else ()),
        ("device", found.device),
        ("version", found.version),
        *((("wall time", f"{found.seconds:,.0f} s"),) if found.seconds is not None else ()),
        ("training seeds", ", ".join(map(str, sorted({row.seed for row in rows}))) or "none"),
    ]
    shown = [
        {
            "title": part.title(source),
            "findings": part.findings(source),
            "opening": part.opening(source),
            "sections": [section for sections in part.sections for section in sections(source)],
        }
        for part in parts
    ]
    return document(f"ropes {found.version} · {found.preset} preset", shown, provenance)


def document(kind: str, parts: Sequence[Mapping[str, Any]], provenance: Sequence[tuple[str, str]]) -> str:
    """One self-contained HTML page.

    Args:
        kind: line above the title.
        parts: each with its "title", "findings" (sentences), "opening" (elements) and "sections" (`Section`s).
        provenance: names and values at the end.
    """
    css = Markup(resources("ropes.report").joinpath("page.css").read_text(encoding="utf-8"))
    return render("template.html.j2", kind=kind, parts=parts, css=css, provenance=provenance)
