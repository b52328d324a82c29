"""The causal graph as a figure, a section of the page, and terminal lines."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from rich.console import Console
from rich.table import Table

from ropes.common import files
from ropes.errors import UserError
from ropes.report.figures import INK, OURS, PAPER, to_png, to_svg
from ropes.report.naming import joint_label
from ropes.report.numbers import fixed

#: How an edge is drawn: found and right or nothing known, found and wrong, there but not found.
_KINDS: dict[str, tuple[str, Any]] = {"found": (OURS, "-"), "extra": (PAPER, "-"), "missing": ("#8c8c8c", (0, (4, 3)))}
#: A joint that is not read, and a pair without an answer.
_OPEN = "#8c8c8c"
_WORDS = {"found": "found", "extra": "found, but not there", "missing": "there, but not found"}


def read_graph(path: Path) -> dict[str, Any] | None:
    """Read graph.json of an evaluation; None where there is none.

    Raises:
        UserError: it is damaged.
    """
    if not path.exists():
        return None
    content = files.read_json(path)
    if isinstance(content, dict) and isinstance(content.get("absent"), str):
        return content
    try:
        d = len(content["joints"])
        pairs = [*content["edges"], *(content["true"] or [])]
        shapes = {np.asarray(content[name], dtype=float).shape for name in ("effects", "errors")}
        _ = content["distance"], content["poses"], content["undecided"], content["cyclic"]
        pairs += [[row["parent"], row["child"]] for row in content.get("undetermined", [])]
        whole = all(joint in content["joints"] for pair in [*pairs, content.get("unread", {})] for joint in pair)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error!r}); run the evaluation again") from error
    if not whole or shapes != {(d, d)}:
        raise UserError(f"{path} is damaged (edges and effects are not between its joints); run the evaluation again")
    return content


def edges(graph: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every edge that was found or should have been: "parent", "child", "effect", "error" and "kind", found ones first.

    "effect" and "error" are None where a joint is not read.

    Args:
        graph: content of graph.json.
    """
    joints, true = list(graph["joints"]), graph["true"]
    pairs = [*graph["edges"], *(pair for pair in true or [] if pair not in graph["edges"])]
    rows = []
    for parent, child in pairs:
        at = joints.index(parent), joints.index(child)
        kind = "missing" if [parent, child] not in graph["edges"] else "found"
        if kind == "found" and true is not None and [parent, child] not in true:
            kind = "extra"
        effect, error = (graph[name][at[0]][at[1]] for name in ("effects", "errors"))
        strength = None if effect is None else abs(effect)
        rows.append({"parent": parent, "child": child, "effect": strength, "error": error, "kind": kind})
    return rows


def unanswered(graph: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Ordered pairs without an answer, in sentences for the reader: what, and why.

    Joints that are not read come first, one line for all their pairs; files of older versions have neither.

    Args:
        graph: content of graph.json.
    """
    unread: Mapping[str, str] = graph.get("unread", {})
    lines = [(f"every pair with {joint_label(joint)}", why) for joint, why in unread.items()]
    reasons: dict[str, list[str]] = {}
    for row in graph.get("undetermined", []):
        if row["parent"] not in unread and row["child"] not in unread:
            pair = f"{joint_label(row['parent'])} → {joint_label(row['child'])}"
            reasons.setdefault(row["why"], []).append(pair)
    return lines + [("; ".join(pairs), why) for why, pairs in reasons.items()]


def verdict(graph: Mapping[str, Any]) -> str:
    """The graph in one sentence."""
    count, true, open_ = len(graph["edges"]), graph["true"], len(graph.get("undetermined", []))
    found = f"{count or 'No'} {'edge' if count == 1 else 'edges'} found"
    if open_:
        d = len(graph["joints"])
        found += f", {open_} of {d * (d - 1)} ordered pairs undetermined"
    if true is None:
        return f"{found}; the data set does not tell its own graph."
    there = f"{len(true) or 'none'} {'is' if len(true) < 2 else 'are'} there"
    counted = " (undetermined pairs count as no edge)" if open_ else ""
    return f"{found}, {there}: structural Hamming distance {graph['distance']}{counted}."


def draw(graph: Mapping[str, Any]) -> Figure:
    """The joints on a circle, an arrow for each edge with its strength beside it.

    A joint that is not read stands in a dashed box with a question mark; a dotted line joins two others where a pair
    is undetermined.

    Args:
        graph: content of graph.json.
    """
    joints: Sequence[str] = graph["joints"]
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    panel = figure.add_subplot()
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(joints)) / len(joints)
    place = dict(zip(joints, np.stack([np.cos(angle), np.sin(angle)], axis=1), strict=True))
    rows = edges(graph)
    for row in rows:
        start, end = place[row["parent"]], place[row["child"]]
        colour, style = _KINDS[row["kind"]]
        width = 1.0 + 3.0 * min(1.0, row["effect"] or 0.0)
        arrow = FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=16,
            shrinkA=26,
            shrinkB=26,
            color=colour,
            linestyle=style,
            linewidth=width,
        )
        panel.add_patch(arrow)
        # Nearer to the parent than to the child: where arrows cross in the middle, their figures do not.
        x, y = start + 0.4 * (end - start)
        aside = np.array([start[1] - end[1], end[0] - start[0]]) / np.hypot(*(end - start)) * 0.075
        panel.text(x + aside[0], y + aside[1], _figure(row["effect"], 2), ha="center", va="center", color=INK)
    unread, lines = graph.get("unread", {}), _open_lines(graph)
    for first, second in lines:
        (x, y), (to_x, to_y) = (place[a] + 0.19 * (place[b] - place[a]) for a, b in ((first, second), (second, first)))
        panel.plot([x, to_x], [y, to_y], color=_OPEN, linestyle=":", linewidth=1.0, zorder=0)
    for joint, (x, y) in place.items():
        label = joint_label(joint).replace(" ", "\n")
        if joint in unread:
            box = {"boxstyle": "round", "facecolor": "none", "edgecolor": _OPEN, "linestyle": "--"}
            panel.text(x, y, f"{label} ?", ha="center", va="center", color=_OPEN, bbox=box)
        else:
            panel.text(x, y, label, ha="center", va="center", color=INK)
    panel.set(xlim=(-1.3, 1.3), ylim=(-1.2, 1.2), aspect="equal")
    panel.axis("off")
    kinds = [kind for kind in _KINDS if kind in {row["kind"] for row in rows}]
    handles = [Line2D([], [], color=_KINDS[kind][0], linestyle=_KINDS[kind][1]) for kind in kinds]
    words = [_WORDS[kind] for kind in kinds]
    if lines:
        handles.append(Line2D([], [], color=_OPEN, linestyle=":"))
        words.append("undetermined")
    if unread:
        handles.append(Line2D([], [], color=_OPEN, linestyle="--"))
        words.append("not read")
    if words:
        figure.legend(handles, words, loc="outside lower center", ncols=3)
    return figure


def _open_lines(graph: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Two joints each that are read, with a pair between them that is undetermined and no edge drawn already."""
    drawn = [{row["parent"], row["child"]} for row in edges(graph)]
    kept = [
        tuple(sorted((row["parent"], row["child"])))
        for row in graph.get("undetermined", [])
        if not {row["parent"], row["child"]} & set(graph.get("unread", {}))
    ]
    return [(first, second) for first, second in dict.fromkeys(kept) if {first, second} not in drawn]


def _figure(value: float | None, digits: int) -> str:
    return "?" if value is None else fixed(value, digits)


def section(graph: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What the page shows of a graph; None where none was recorded.  No picture without anything to draw."""
    if graph is None:
        return None
    if "absent" in graph:
        return {"verdict": f"No graph: {graph['absent']}.", "svg": None, "rows": [], "open": []}
    rows = edges(graph)
    text, left = verdict(graph), unanswered(graph)
    return {
        "verdict": text,
        "svg": Markup(to_svg(draw(graph), f"Causal graph. {text}")) if rows or left else None,
        "rows": rows,
        "open": [f"{what}: {why}" for what, why in left],
    }


def write_pictures(graph: Mapping[str, Any], out: Path) -> None:
    """Write `out`/graph.json, graph.png and graph.svg (on white)."""
    figure, drawn = draw(graph), io.BytesIO()
    figure.savefig(drawn, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    files.write_json(out / "graph.json", graph)
    for name, content in (("graph.png", to_png(figure)), ("graph.svg", drawn.getvalue())):
        with files.atomic_path(out / name) as temporary:
            temporary.write_bytes(content)


def print_graph(graph: Mapping[str, Any], console: Console | None = None) -> None:
    """Print the edges with their strengths, and the sentence.

    Args:
        graph: content of graph.json.
        console: where; standard output when left out.
    """
    console = console or Console()
    if rows := edges(graph):
        table = Table()
        for heading in ("cause", "effect on", "strength", "± error", ""):
            table.add_column(heading, justify="right" if heading in ("strength", "± error") else "left")
        for row in rows:
            figures = _figure(row["effect"], 3), _figure(row["error"], 3)
            told = "" if graph["true"] is None else _WORDS[row["kind"]].replace("found, but", "but")
            table.add_row(joint_label(row["parent"]), joint_label(row["child"]), *figures, told)
        console.print(table)
    for pairs, words in (
        ([] if "undetermined" in graph else graph["undecided"], "Perhaps more, but these poses cannot tell"),
        (graph["cyclic"], "Left out, for stronger edges lead the other way"),
    ):
        if pairs:
            named = "; ".join(f"{joint_label(parent)} → {joint_label(child)}" for parent, child in pairs)
            console.print(f"{words}: {named}.", highlight=False, markup=False)
    for what, why in unanswered(graph):
        console.print(f"Undetermined: {what} ({why}).", highlight=False, markup=False)
    console.print(verdict(graph), highlight=False, markup=False)
