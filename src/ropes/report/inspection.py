"""Shows an inspection: a terminal table, and a figure of each regime and of the pixels that it moves."""

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from ropes.causal.scm import Regime
from ropes.evaluation.inspection import Inspection
from ropes.evaluation.inspection.verdict import JointReport, ranked
from ropes.report.naming import joint_label
from ropes.report.numbers import fixed

#: Where the overlaps come from, in words.
_SOURCES = {
    "angles": "recorded angles",
    "distributions": "the described distributions",
    "images": "images alone, bounds from above",
}


def print_inspection(found: Inspection, console: Console | None = None) -> None:
    """Print the verdict, what the data set holds, a line for each joint with the weakest first, and advice.

    Args:
        found: what to show.
        console: where; standard output when left out.
    """
    console = console or Console()

    def say(line: str = "", style: str | None = None) -> None:
        console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)

    say(f"{found.path} {found.verdict}.", "bold")
    say()
    height, width = found.size
    say(f"cameras: {', '.join(found.cameras)}; images of {height}x{width} pixels")
    counts = sorted(found.counts.values())
    each = f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,} to {counts[-1]:,}"
    usual = "" if Regime() in found.counts else ", none of them observational"
    say(f"{len(found.counts)} regimes of {each} poses each{usual}")
    say(f"{found.anchors:,} anchors, {found.complete:.0%} of them complete")
    console.print(_table(found))
    sources = dict.fromkeys(_SOURCES[report.overlap.source] for report in found.joints if report.overlap)
    say(f"moved: share of the pixels that an intervention changes{_compared(found)}, by camera")
    say("contrast: policy 1 against 2 by a linear classifier of 16x16 pixels, nats (guessing .69), and its Bayes floor")
    told = " and ".join(sources) or "nothing"
    say(f"overlap: of the two policies, and of them with the observational poses; from {told}")
    if found.advice:
        say()
        say("What would help:", "bold")
        for line in found.advice:
            say(f"- {line}")


def _compared(found: Inspection) -> str:
    if any(report.motion is not None and not report.motion.paired for report in found.joints):
        return " on average (no observational pose of the same anchor to compare with)"
    return ""


def _table(found: Inspection) -> Table:
    table = Table()
    for heading in ("weakest first", "moved, %", "contrast", "floor", "overlap", "because"):
        words = heading in ("weakest first", "because")
        table.add_column(heading, justify="left" if words else "right", no_wrap=not words)
    for report in ranked(found.joints):
        table.add_row(*_row(report))
    return table


def _row(report: JointReport) -> tuple[str, ...]:
    moved, told, shared = report.motion, report.contrast, report.overlap
    return (
        joint_label(report.joint),
        " ".join(fixed(100 * part, 1) for part in moved.share) if moved else "–",
        f"{fixed(told.nats, 2)}±{fixed(told.uncertainty, 2)}" if told else "–",
        fixed(shared.floor if shared else None, 2),
        " ".join(fixed(part, 2) for part in (shared.policies, shared.observational)) if shared else "–",
        "; ".join((*report.faults, *report.weaknesses)),
    )


def picture(found: Inspection) -> Figure:
    """A row a joint; for each camera an example under each policy, and how often (or how far) each pixel moves.

    Args:
        found: what to show.
    """
    views = len(found.cameras)
    figure = Figure(figsize=(1.55 * 3 * views + 0.8, 1.6 * (len(found.joints) + 1)), layout="constrained")
    panels = figure.subplots(len(found.joints) + 1, 3 * views, squeeze=False)
    for panel in panels.flat:
        panel.axis("off")
    for view, camera in enumerate(found.cameras):
        usual = found.examples.get(Regime())
        if usual is not None:
            panels[0, 3 * view].imshow(usual[view], cmap="gray", vmin=0, vmax=255)
        panels[0, 3 * view].set_title(f"{camera}: observational", fontsize=8)
        for row, report in enumerate(found.joints, start=1):
            for policy in (1, 2):
                panel, shown = panels[row, 3 * view + policy - 1], found.examples.get(Regime(report.joint, policy))
                if shown is not None:
                    panel.imshow(shown[view], cmap="gray", vmin=0, vmax=255)
                panel.set_title(f"{joint_label(report.joint)}, policy {policy}", fontsize=8)
            if report.motion is not None:
                heat = report.motion.heat[view]
                panels[row, 3 * view + 2].imshow(heat, cmap="magma", vmin=0, vmax=max(float(np.max(heat)), 1e-9))
                title = f"moved: {fixed(100 * report.motion.share[view], 1)}%"
                panels[row, 3 * view + 2].set_title(title, fontsize=8)
    return figure
