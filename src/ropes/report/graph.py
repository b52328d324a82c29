"""The causal graph as a figure, as elements of the page, and for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from rich.console import Console

from ropes.common import files
from ropes.errors import UserError
from ropes.report.figures import DASHED, INK, OURS, PAPER, to_png
from ropes.report.page import plot, tag
from ropes.report.table import Table, grouped
from ropes.report.words import counted, fixed, joint_label

#: Content of graph.json.
Graph = Mapping[str, Any]
#: Colour of edges that were not found, of joints that are not read and of undetermined pairs.
_OPEN = "#8c8c8c"
#: Words and style of an edge: found, and true where the truth is known; found but not true; true but not found.
_KINDS: dict[str, tuple[str, str, Any]] = {
    "found": ("found", OURS, "-"),
    "extra": ("found, not true", PAPER, "-"),
    "missing": ("true, not found", _OPEN, DASHED),
}


def read_graph(path: Path) -> Graph | None:
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


def edges(graph: Graph) -> list[dict[str, Any]]:
    """The edges that were found, then the true ones that were not: "parent", "child", "effect", "error" and "kind".

    "effect" and "error" are None where a joint is not read.
    """
    joints, true, found = list(graph["joints"]), graph["true"], graph["edges"]
    rows = []
    for pair in [*found, *(pair for pair in true or [] if pair not in found)]:
        i, j = map(joints.index, pair)
        kind = "missing" if pair not in found else "extra" if true is not None and pair not in true else "found"
        effect, error = graph["effects"][i][j], graph["errors"][i][j]
        strength = None if effect is None else abs(effect)
        rows.append({"parent": pair[0], "child": pair[1], "effect": strength, "error": error, "kind": kind})
    return rows


def unanswered(graph: Graph) -> list[tuple[str, str]]:
    """Undetermined ordered pairs and the reason, in words.

    A joint that is not read comes first, with all its pairs.  Files of older versions record neither.
    """
    unread: Mapping[str, str] = graph.get("unread", {})
    pairs = [row for row in graph.get("undetermined", []) if row["parent"] not in unread and row["child"] not in unread]
    lines = [(f"every pair with {joint_label(joint)}", why) for joint, why in unread.items()]
    for why, rows in grouped(pairs, lambda row: row["why"]).items():
        named = [f"{joint_label(row['parent'])} → {joint_label(row['child'])}" for row in rows]
        lines.append(("; ".join(named), why))
    return lines


def verdict(graph: Graph) -> str:
    """A sentence on the graph and its distance from the true one."""
    count, true, open_ = len(graph["edges"]), graph["true"], len(graph.get("undetermined", []))
    found = f"{counted(count, 'edge') if count else 'No edges'} found"
    if open_:
        d = len(graph["joints"])
        found += f", {open_} of {d * (d - 1)} ordered pairs undetermined"
    if true is None:
        return f"{found}; the data set has no true graph to compare with."
    there = f"{counted(len(true), 'true edge') if true else 'no true edges'}"
    note = " (undetermined pairs count as no edge)" if open_ else ""
    return f"{found}, {there}: structural Hamming distance {graph['distance']}{note}."


def draw(graph: Graph) -> Figure:
    """The joints on a circle, with an arrow and its strength for each edge.

    A joint that is not read has a dashed box and a question mark; dotted lines join pairs that are undetermined.
    """
    joints: Sequence[str] = graph["joints"]
    figure = Figure(figsize=(5.6, 5.2), layout="constrained")
    panel = figure.add_subplot()
    angle = np.pi / 2 - 2 * np.pi * np.arange(len(joints)) / len(joints)
    place = dict(zip(joints, np.stack([np.cos(angle), np.sin(angle)], axis=1), strict=True))
    rows = edges(graph)
    for row in rows:
        start, end = place[row["parent"]], place[row["child"]]
        _, colour, style = _KINDS[row["kind"]]
        line = {"color": colour, "linestyle": style, "linewidth": 1.0 + 3.0 * min(1.0, row["effect"] or 0.0)}
        ends: dict[str, Any] = {"arrowstyle": "-|>", "mutation_scale": 16, "shrinkA": 26, "shrinkB": 26}
        panel.add_patch(FancyArrowPatch(start, end, **ends, **line))
        # Nearer to the parent than to the child: where arrows cross in the middle, their numbers do not.
        x, y = start + 0.4 * (end - start)
        aside = np.array([start[1] - end[1], end[0] - start[0]]) / np.hypot(*(end - start)) * 0.075
        effect = "?" if row["effect"] is None else fixed(row["effect"], 2)
        panel.text(x + aside[0], y + aside[1], effect, ha="center", va="center", color=INK)
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
    legend = [look for kind, look in _KINDS.items() if kind in {row["kind"] for row in rows}]
    legend += [("undetermined", _OPEN, ":")] if lines else []
    legend += [("not read", _OPEN, "--")] if unread else []
    if legend:
        handles = [Line2D([], [], color=colour, linestyle=style, label=words) for words, colour, style in legend]
        figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _open_lines(graph: Graph) -> list[tuple[str, str]]:
    """Undetermined pairs of joints that are read, without an edge between them."""
    drawn = [{row["parent"], row["child"]} for row in edges(graph)]
    kept = [
        tuple(sorted((row["parent"], row["child"])))
        for row in graph.get("undetermined", [])
        if not {row["parent"], row["child"]} & set(graph.get("unread", {}))
    ]
    return [(first, second) for first, second in dict.fromkeys(kept) if {first, second} not in drawn]


def elements(graph: Graph | None) -> Iterator[Markup]:
    """The elements of the page on a graph; none without one."""
    if graph is None:
        return
    yield tag("h3", "Causal graph")
    if "absent" in graph:
        yield tag("p", f"No graph: {graph['absent']}.")
        return
    text, rows, undetermined = verdict(graph), edges(graph), unanswered(graph)
    strengths = " Strengths are relative to the effect of the policies on the joint at the arrow's head itself."
    yield tag("p", text, strengths if rows else "")
    if rows or undetermined:
        yield plot(draw(graph), f"Causal graph. {text}")
    if undetermined:
        yield tag("p", "Undetermined:")
        yield tag("ul", *(tag("li", f"{pairs}: {why}") for pairs, why in undetermined))


def write_pictures(graph: Graph, out: Path) -> None:
    """Write `out`/graph.json, graph.png and graph.svg (on white)."""
    figure = draw(graph)
    files.write_json(out / "graph.json", graph)
    with files.atomic_path(out / "graph.svg") as temporary:
        figure.savefig(temporary, format="svg", facecolor="white", metadata={"Date": None, "Creator": None})
    with files.atomic_path(out / "graph.png") as temporary:
        temporary.write_bytes(to_png(figure))


def print_graph(graph: Graph, console: Console | None = None) -> None:
    """Print the edges with their strengths, the open pairs and the verdict.

    Args:
        graph: of an evaluation.
        console: defaults to standard output.
    """
    console = console or Console()
    if rows := edges(graph):
        lines = []
        for row in rows:
            strengths = ["?" if row[name] is None else fixed(row[name]) for name in ("effect", "error")]
            kind = "" if graph["true"] is None else _KINDS[row["kind"]][0]
            lines.append([joint_label(row["parent"]), joint_label(row["child"]), *strengths, kind])
        console.print(Table(["cause", "effect on", "strength", "± error", ""], lines, texts=(0, 1, 4)).terminal())
    said = []
    for pairs, words in (
        ([] if "undetermined" in graph else graph["undecided"], "Possible edges, undecided by these poses"),
        (graph["cyclic"], "Removed, because stronger edges lead the other way"),
    ):
        if pairs:
            named = "; ".join(f"{joint_label(parent)} → {joint_label(child)}" for parent, child in pairs)
            said.append(f"{words}: {named}.")
    said += [f"Undetermined: {pairs} ({why})." for pairs, why in unanswered(graph)]
    for line in (*said, verdict(graph)):
        console.print(line, highlight=False, markup=False)
