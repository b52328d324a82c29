"""A data set's inspection as a terminal table, and as a figure of regimes and of the pixels that they change."""

import math
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console

from ropes.causal.scm import Regime
from ropes.evaluation.inspection import Inspection
from ropes.evaluation.inspection.nuisances import Nuisances
from ropes.evaluation.inspection.resolution import Resolution
from ropes.evaluation.inspection.verdict import JointReport, ranked
from ropes.report.table import Table, print_line
from ropes.report.words import fixed, joint_label

#: Largest number of faulty anchors that are listed.
_FAULTY = 10
#: Sources of overlaps, in words.
_SOURCES = {
    "angles": "recorded angles",
    "distributions": "the described distributions",
    "images": "images alone, bounds from above",
}


def print_inspection(found: Inspection, console: Console | None = None) -> None:
    """Print the verdict, the contents of the data set, a line for each joint with the weakest first, and advice.

    Args:
        found: to print.
        console: defaults to standard output.
    """
    console = console or Console()
    say = partial(print_line, console)
    say(f"{found.path} {found.verdict}.", "bold")
    say()
    sizes = [f"{height}x{width}" for height, width in found.sizes]
    if len(set(sizes)) > 1:
        sizes = [f"{size} ({camera})" for size, camera in zip(sizes, found.cameras, strict=True)]
    say(f"cameras: {', '.join(found.cameras)}; images of {', '.join(dict.fromkeys(sizes))} pixels")
    counts = sorted(found.counts.values())
    each = f"{counts[0]:,}" if counts[0] == counts[-1] else f"{counts[0]:,} to {counts[-1]:,}"
    missing = "" if Regime() in found.counts else ", none of them observational"
    say(f"{len(found.counts)} regimes of {each} poses each{missing}")
    if found.chains:
        say(f"{found.anchors:,} chains of moves")
    else:
        say(f"{found.anchors:,} anchors, {found.complete:.0%} of them complete")
    if found.frames_per_move:
        say(f"frames on the way of each move: {found.frames_per_move}")
    for line in _recording(found):
        say(line)
    for camera, measured in found.nuisances.items():
        say(f"camera {camera}: {_nuisances(measured)}")
    if found.resolution is not None:
        say(_resolution(found.resolution))
    columns = ["weakest first", "moved, %", "contrast", "floor", "overlap", "reason"]
    console.print(Table(columns, [_line(report) for report in ranked(found.joints)], texts=(0, 5)).terminal())
    paired = all(report.motion is None or report.motion.paired for report in found.joints)
    average = "" if paired else " on average (the anchors have no observational pose to compare with)"
    say(f"moved: share of pixels that an intervention changes{average}, by camera")
    say(
        "contrast: cross-entropy of a linear policy classifier on 16x16 pixels, nats (guessing .69); floor: Bayes floor"
    )
    sources = dict.fromkeys(_SOURCES[report.overlap.source] for report in found.joints if report.overlap)
    origin = " and ".join(sources) or "nothing"
    say(f"overlap: of the two policies, and of both with the observational poses; from {origin}")
    if found.advice:
        say()
        say("Suggestions:", "bold")
        for line in found.advice:
            say(f"- {line}")


def _recording(found: Inspection) -> list[str]:
    """Whether a recording is finished, and its faulty anchors."""
    noun, count = "chains" if found.chains else "anchors", len(found.unmended)
    lines = [f"the recording is unfinished: these are the whole {noun} so far"] if found.unfinished else []
    if count:
        again = "to record one again, delete its file and run the same ropes record command"
        lines.append(f"{noun} that were recorded again, and were faulty again: {count:,}; {again}:")
        lines += [f"- {line}" for line in found.unmended[:_FAULTY]]
    return lines + ([f"- and {count - _FAULTY:,} more (--json lists all)"] if count > _FAULTY else [])


def _nuisances(found: Nuisances) -> str:
    """What was measured of a camera, in words."""
    parts = [f"exposure ±{fixed(found.light, 2)} stops", f"noise {fixed(found.noise, 1)} grey levels"]
    parts += [] if math.isnan(found.blur) else [f"edges blurred by σ = {fixed(found.blur, 1)} pixels"]
    parts += [f"{found.saturated:.0%} of the pixels saturated"]
    if not math.isnan(found.jitter):
        parts += [f"jitter {fixed(found.jitter, 1)} pixels", f"moved by {fixed(found.creep, 1)} pixels"]
    if not math.isnan(found.crowded):
        parts += [f"more than the arm moves in {found.crowded:.0%} of the images"]
    return ", ".join(parts)


def _resolution(found: Resolution) -> str:
    """What larger images would show, in words."""
    small, large = (f"{side}x{side}" for side in (found.image_size, found.window_image_size))
    return (
        f"resolution: interventions on {joint_label(found.joint)} change {found.pixels:,.0f} pixels of camera "
        f"{found.camera} at {small} and {found.window_pixels:,.0f} at {large}; {small} loses {found.lost:.0%} of the "
        f"change's energy; for a window at {large} fit with {found.option}"
    )


def _line(report: JointReport) -> list[str]:
    moved, contrast, overlap = report.motion, report.contrast, report.overlap
    return [
        joint_label(report.joint),
        " ".join(fixed(100 * part, 1) for part in moved.share) if moved else "–",
        f"{fixed(contrast.nats, 2)}±{fixed(contrast.uncertainty, 2)}" if contrast else "–",
        fixed(overlap.floor if overlap else None, 2),
        " ".join(fixed(part, 2) for part in (overlap.policies, overlap.observational)) if overlap else "–",
        "; ".join((*report.faults, *report.weaknesses)),
    ]


def picture(found: Inspection) -> Figure:
    """A row a joint; for each camera an example under each policy, and how often (or how far) each pixel changes."""
    views = len(found.cameras)
    figure = Figure(figsize=(1.55 * 3 * views + 0.8, 1.6 * (len(found.joints) + 1)), layout="constrained")
    panels = figure.subplots(len(found.joints) + 1, 3 * views, squeeze=False)
    for panel in panels.flat:
        panel.axis("off")
    for view, camera in enumerate(found.cameras):

        def example(row: int, column: int, regime: Regime, title: str, view: int = view) -> None:
            panel, images = panels[row, 3 * view + column], found.examples.get(regime)
            if images is not None:
                panel.imshow(images[view], cmap="gray", vmin=0, vmax=255)
            panel.set_title(title, fontsize=8)

        example(0, 0, Regime(), f"{camera}: observational")
        for row, report in enumerate(found.joints, start=1):
            for policy in (1, 2):
                label = f"{joint_label(report.joint)}, policy {policy}"
                example(row, policy - 1, Regime(report.joint, policy), label)
            if report.motion is not None:
                heat, panel = report.motion.heat[view], panels[row, 3 * view + 2]
                panel.imshow(heat, cmap="magma", vmin=0, vmax=max(float(np.max(heat)), 1e-9))
                panel.set_title(f"moved: {fixed(100 * report.motion.share[view], 1)}%", fontsize=8)
    return figure
