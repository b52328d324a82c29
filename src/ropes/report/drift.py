"""The check of a recording as a terminal table, and as one HTML page with a plot for each joint and worst frames."""

from collections.abc import Sequence
from functools import partial
from itertools import chain

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rich.console import Console
from scipy import ndimage

from ropes import __version__
from ropes.common.arrays import Images
from ropes.common.units import percent
from ropes.evaluation.drift.camera import CameraDrift
from ropes.evaluation.drift.result import Check
from ropes.evaluation.drift.statistics import Drift, Estimate
from ropes.report import pictures
from ropes.report.figures import DASHED, FLOOR, OURS, PAPER, styled, titled_panels
from ropes.report.page import Section, absent, document, image, plot, tag
from ropes.report.table import Table, print_line
from ropes.report.words import fixed, joint_label

#: Frames of the running median in the plots, as a share of all.
_SMOOTH = 0.05
#: Degrees of an interval beyond which nothing can be found.
_HALF_TURN = 180
#: Ratio of the largest distance of a camera to the median one above which it creeps.
_CREEPS = 1.5


def print_check(found: Check, console: Console | None = None) -> None:
    """Print the answer, two tables of the joints, a line for each camera, and what limits the answer.

    Args:
        found: to print.
        console: defaults to standard output.
    """
    console = console or Console()
    say = partial(print_line, console)
    for sentence in findings(found):
        say(sentence, "bold")
    say()
    for table in (joint_table(found), error_table(found)):
        console.print(table.terminal())
    for camera in found.cameras:
        say(camera_sentence(found, camera))
    for note in found.notes:
        say(note)


def findings(found: Check) -> list[str]:
    """The answer in sentences: cameras that moved, joints that drifted, and what may have led to it."""
    joints = [
        f"{joint_label(joint)} {_drift_words(found, each)}"
        for joint, each in zip(found.joints, found.drifts, strict=True)
        if each.drifted
    ]
    moved = [f"camera {each.camera} {_moves(found, each)}" for each in found.cameras if each.moved]
    sentences = [f"Drifted: {'; '.join(joints)}." if joints else "No joint drifted."]
    if moved:
        sentences.insert(0, f"Moved: {'; '.join(moved)}.")
    elif not all(each.known for each in found.cameras):
        sentences.append("No camera is known to have moved.")
    elif found.since_beginning:
        sentences.append("No camera moved during the recording; whether one moved before needs --reference.")
    else:
        sentences.append("No camera moved.")
    if joints and found.unlike_training:
        sentences.append("Most images are unlike those of the training, which changes the angles that are read.")
    return sentences


def _drift_words(found: Check, each: Drift) -> str:
    if each.unexplained:
        spread, usual = (fixed(float(np.degrees(value)), 1) for value in (each.spread, each.usual_spread))
        causes = "a dead or mirrored encoder, exchanged joints, or an offset for a part of the time"
        if found.camera_moved or found.unlike_training:
            causes = "the images have changed"
        return f"does not follow its log: differences vary by {spread}°, errors explain {usual}° ({causes})"
    since = found.change_of(each)
    if since is not None and each.before is not None and each.after is not None:
        return f"reads {_degrees(each.after)} off since {since}, {_degrees(each.before)} before"
    if each.trend.significant:
        return f"reads {_degrees(each.offset.value)} off, and drifts by {_degrees(each.trend.value)} over the recording"
    return f"reads {_degrees(each.offset.value)} off"


def _moves(found: Check, camera: CameraDrift) -> str:
    stretches = [
        (f"up to {each.most:.1f}" if each.most > _CREEPS * each.pixels else f"{each.pixels:.1f}")
        + f" pixels since {found.place_of(each.first)}"
        + ("" if each.last == len(found.times) - 1 else f" until {found.place_of(each.last)}")
        for each in camera.stretches
    ]
    return ", ".join(stretches)


def camera_sentence(found: Check, camera: CameraDrift) -> str:
    """One camera in a sentence."""
    if not camera.known:
        return f"Camera {camera.camera}: not known."
    light = f"light {_signed(camera.light_change, 2)} stops"
    if camera.moved:
        return f"Camera {camera.camera}: moved by {_moves(found, camera)}, against {found.compared}; {light}."
    largest = fixed(float(np.nanmax(camera.shift)), 1)
    return f"Camera {camera.camera}: within {largest} pixels of {found.compared}; {light}."


def _degrees(radians: float) -> str:
    return f"{_signed(np.degrees(radians))}°"


def _signed(value: float, digits: int = 1) -> str:
    """A difference with its sign: "+0.2", or "0.0" where it rounds to zero."""
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else shown[1:]


def _half(each: Estimate) -> str:
    """Half the interval, degrees."""
    half = float(np.degrees(each.half))
    return fixed(half, 1) if half <= _HALF_TURN else f"> {_HALF_TURN}"


def joint_table(found: Check) -> Table:
    """A line for each joint: median of read minus logged angle, trend, half intervals, independent frames.

    Its lines fit into 80 columns of a terminal, with names of up to 16 letters.
    """
    lines = [
        [
            ("joint", joint_label(joint)),
            ("drifted", "yes" if each.drifted else "no"),
            ("off, °", _signed(np.degrees(each.offset.value))),
            ("±", _half(each.offset)),
            ("trend, °", _signed(np.degrees(each.trend.value))),
            ("±", _half(each.trend)),
            ("frames", f"{each.effective:.0f}{', too few' if each.few else ''}"),
        ]
        for joint, each in zip(found.joints, found.drifts, strict=True)
    ]
    return Table.of(lines, texts=(0, 1))


def error_table(found: Check) -> Table:
    """A line for each joint: RMS error, share inside the intervals, and share of poses outside the learnt range."""
    outside = found.outside.mean(0)
    lines = [
        [
            ("joint", joint_label(joint)),
            ("RMS, °", fixed(float(np.degrees(found.rms[k])), 1)),
            (f"in {percent(found.coverage)} interval", f"{found.covered[k]:.0%}"),
            ("outside range", f"{outside[k]:.1%}" if outside[k] else "0"),
        ]
        for k, joint in enumerate(found.joints)
    ]
    return Table.of(lines)


@styled
def joint_figure(found: Check) -> Figure:
    """A panel for each joint: read minus logged angle of each frame over time, and the interval of the median."""
    drifted = [": drifted" if each.drifted else "" for each in found.drifts]
    titles = [joint_label(joint) + word for joint, word in zip(found.joints, drifted, strict=True)]
    figure, panels = titled_panels(titles, height=2.3, ylabel="read − logged, °", columns=2)
    differences = np.degrees(found.beyond_usual)
    for k, (panel, each) in enumerate(zip(panels, found.drifts, strict=True)):
        _draw_joint(panel, found, k, differences[:, k], each)
    for panel in panels[-2:]:
        panel.set_xlabel("time, s")
    return figure


def _draw_joint(panel: Axes, found: Check, k: int, differences: np.ndarray, each: Drift) -> None:
    times, tested = found.times, found.counted[:, k]
    colour = PAPER if each.drifted else OURS
    panel.plot(times[tested], differences[tested], ".", color=colour, alpha=0.35, markersize=3, rasterized=True)
    panel.plot(times[~tested], differences[~tested], "x", color="#8c8c8c", alpha=0.5, markersize=3, rasterized=True)
    width = 2 * int(_SMOOTH * tested.sum() / 2) + 1
    panel.plot(times[tested], ndimage.median_filter(differences[tested], max(3, width), mode="mirror"), color=colour)
    panel.axhline(0, color=FLOOR, linestyle=DASHED, linewidth=1)
    low, high = np.degrees([each.offset.low, each.offset.high])
    since = found.change_of(each)
    if since is None or each.before is None or each.after is None:
        panel.axhspan(low, high, color=colour, alpha=0.15, linewidth=0)
    else:
        panel.axvline(since.seconds, color=PAPER, linestyle=DASHED, linewidth=1)
        panel.hlines(np.degrees(each.before), times[0], since.seconds, color=FLOOR, linewidth=2)
        panel.hlines(np.degrees(each.after), since.seconds, times[-1], color=FLOOR, linewidth=2)
    # Single wrong readings would hide the drift.
    span = max(float(np.quantile(np.abs(differences[tested]), 0.99)), abs(low), abs(high), 0.5)
    panel.set_ylim(-1.15 * span, 1.15 * span)


@styled
def camera_figure(found: Check) -> Figure:
    """A panel for each camera: distance from its usual place over time."""
    figure, panels = titled_panels(
        [f"camera {each.camera}" for each in found.cameras], height=2.1, ylabel="moved by, pixels", columns=2
    )
    for panel, each in zip(panels, found.cameras, strict=True):
        panel.plot(found.times, each.shift, color=PAPER if each.moved else OURS)
        panel.axhline(each.tolerated, color=FLOOR, linestyle=DASHED, linewidth=1)
        for stretch in each.stretches:
            panel.axvspan(found.times[stretch.first], found.times[stretch.last], color=PAPER, alpha=0.15, linewidth=0)
        panel.set(xlabel="time, s", ylim=(0, max(1.3 * each.tolerated, 1.1 * float(np.nan_to_num(each.shift).max()))))
    return figure


def page(found: Check, worst: Sequence[tuple[int, Sequence[Images]]], drawn: str) -> str:
    """The page as HTML, without network or scripts.

    Args:
        found: to show.
        worst: row of a frame, and a picture of each camera, uint8 (h, w, 3), of the frames to show.
        drawn: what is drawn over the pictures, in words.
    """
    joints = [
        tag(
            "p",
            "Each point is a frame; the line is their running median. The band is the interval "
            "of the median. Where a joint changed at once, horizontal lines are the medians before and after. Grey "
            "crosses do not count: their images are out of distribution, or the run did not learn this angle.",
        ),
        plot(joint_figure(found), "Read minus logged angle of each joint over time"),
        joint_table(found).html(),
        tag(
            "p",
            f"Intervals hold for all joints together with {1 - found.level:.0%}: each of the {2 * len(found.joints)} "
            "tests, of an offset and a trend of each joint, has its share of the rest (Bonferroni). They allow for "
            "similar errors of neighbouring frames and of similar poses.",
        ),
        error_table(found).html(),
        tag(
            "p",
            "Root mean square of read minus logged angle, and share of the logged angles inside the intervals, over "
            "the frames that test the joint: those marked by crosses are left out.",
        ),
    ]
    known = [each for each in found.cameras if each.known]
    cameras = [plot(camera_figure(found), "Distance of each camera from its usual place over time")] if known else []
    cameras += [tag("p", camera_sentence(found, each)) for each in found.cameras]
    frames = list(chain.from_iterable(_worst(found, row, views) for row, views in worst))
    sections = [
        Section("joints", "Joints", joints),
        Section("cameras", "Cameras", cameras),
        Section("frames", "Worst frames", [tag("p", drawn), *frames] if frames else [absent("No frame was drawn.")]),
    ]
    title = "Something drifted" if found.drifted else "Nothing drifted"
    part = {"title": title, "findings": [*findings(found), *found.notes], "opening": [], "sections": sections}
    provenance = [
        ("recording", found.recording),
        ("run", found.run),
        ("frames", f"{len(found.times):,} of {found.frames.total:,}, {found.times[-1]:,.1f} s"),
        ("joints compared with", found.joints_compared),
        ("cameras compared with", found.compared),
        ("out of distribution", f"{found.flagged.mean():.1%} of the frames"),
        ("version", __version__),
    ]
    return document(f"ropes {__version__} · check of a recording", [part], provenance)


def _worst(found: Check, row: int, views: Sequence[Images]) -> list[Markup]:
    """The pictures of one frame, with the differences of its joints."""
    differences = np.degrees(found.beyond_usual)[row]
    each = (f"{joint_label(joint)} {_signed(value)}°" for joint, value in zip(found.joints, differences, strict=True))
    caption = f"At {found.times[row]:.1f} s, read minus logged: {', '.join(each)}."
    names = found.frames.run.cameras
    shown = [
        image(pictures.strip(view[None]), f"camera {camera} at {found.times[row]:.1f} s")
        for camera, view in zip(names, views, strict=True)
    ]
    return [tag("figure", tag("div", *shown, class_="pairs"), tag("figcaption", caption))]
