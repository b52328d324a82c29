"""Assembles the HTML page from its parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files as resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ropes.evaluation.results import Results
from ropes.evaluation.rows.action import ActionRow
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.model import ModelRow
from ropes.report.naming import joint_label
from ropes.report.sections import provenance


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one kind of rows adds to the page.

    Attributes:
        title: heads the page where the part comes first.
        findings: a sentence each.
        links: id of a section → its words in the contents.
        body: the sections.
    """

    title: str
    findings: Sequence[str]
    links: dict[str, str]
    body: Markup


def render(template: str, /, **content: Any) -> Markup:
    """One of this package's HTML templates, filled in; what is no markup is escaped."""
    environment = Environment(
        loader=PackageLoader("ropes", "report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"joint": joint_label, "mark": _mark}
    return Markup(environment.get_template(template).render(**content))


def page(found: Results, parts: Sequence[Part]) -> str:
    """The whole page, without anything from outside.

    Args:
        found: the results.
        parts: at least one, in their order.
    """
    css = resources("ropes.report").joinpath("page.css").read_text(encoding="utf-8")
    rows: list[Row | ModelRow | ActionRow] = [*found.rows, *found.model_rows, *found.action_rows]
    return render("template.html.j2", results=found, parts=parts, css=Markup(css), provenance=provenance(found, rows))


def _mark(reached: bool | None) -> Markup:
    if reached is None:
        return Markup("")
    name, sign, word = ("yes", "✓", "reached") if reached else ("no", "✗", "short")
    return Markup(f'<span class="{name}" title="{word}" role="img" aria-label="{word}">{sign}</span>')
