"""Figures of methods that classify actions, the plots of a setting in the order of the page, and their arrays."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.methods.delta.variants import ABLATED
from ropes.report.action_numbers import (
    ABLATIONS,
    HELD_AGAINST,
    METHODS,
    MOVES,
    PAPER,
    SHIFTS,
    Methods,
    accuracies,
    known_mean,
    of_an_arm,
)
from ropes.report.artefacts import arrays_of_seed
from ropes.report.figures import (
    INK,
    OURS,
    PALETTE,
    heat,
    make_panels,
    marks,
    shared_legend,
    styled,
)
from ropes.report.figures import PAPER as PAPER_COLOUR
from ropes.report.words import capitalised, joint_label
from ropes.simulation.actions import SYSTEMATIC
from ropes.simulation.settings import ACTION_PAIRS, RECORDED_PAIRS

Arrays = Mapping[str, NDArray[Any]]
_ORANGE = (213, 94, 0)


class Plot(NamedTuple):
    """A plot: its kind, for names of files; its label, for screen readers; its figure."""

    kind: str
    label: str
    figure: Figure


def plots(setup: str, methods: Methods, arrays_of: Mapping[str, Arrays]) -> Iterator[Plot]:
    """The plots of a setting.

    Args:
        setup: its name.
        methods: method → its rows, in order.
        arrays_of: method → its arrays, see `delta_arrays`.
    """
    if of_an_arm(methods):
        yield Plot("moves", "deltas of an arm's joints", joint_moves(methods))
        if stepped := {name: arrays for name, arrays in arrays_of.items() if "moved_by" in arrays}:
            yield Plot("lengths", "lengths of deltas against steps", lengths_against_steps(stepped))
        return
    plain = {name: own for name, own in methods.items() if name not in ABLATED}
    if plain:
        figure = shift_accuracies(plain, paper=setup in (ACTION_PAIRS, RECORDED_PAIRS))
        yield Plot("accuracy", f"accuracy, {setup}", figure)
    if ablated := {name: methods[name] for name in ABLATIONS if name in methods and len(methods) > len(plain)}:
        yield Plot("ablations", f"ablations, {setup}", shift_accuracies(ablated))
    if any(SYSTEMATIC in row.recall for own in plain.values() for row in own):
        yield Plot("verbs", f"recall of each verb, {SHIFTS[SYSTEMATIC]}, {setup}", recall_map(plain, SYSTEMATIC))
    for name, arrays in arrays_of.items():
        if name not in HELD_AGAINST:
            continue
        words, verbs = METHODS[name], arrays["verbs"].tolist()
        figure = verb_map(arrays["cosines"], verbs, verbs, title=f"Cosines between mean {words}", digits=1)
        yield Plot(f"{name}-cosines", f"cosines, {words}, {setup}", figure)
        figure = delta_plane(arrays["plane"], arrays["plane_verbs"].tolist(), title=capitalised(words))
        yield Plot(f"{name}-plane", f"deltas, {words}, {setup}", figure)
        if "near_images" in arrays:
            captions = [
                [f"{verb} {noun}".strip() for verb, noun in zip(*row, strict=True)]
                for row in zip(arrays["near_verbs"], arrays["near_nouns"], strict=True)
            ]
            figure = nearest_pairs(arrays["near_images"], captions, title=capitalised(words))
            yield Plot(f"{name}-nearest", f"nearest deltas, {words}, {setup}", figure)


def delta_arrays(methods: Methods, folder: Path) -> dict[str, Arrays]:
    """Method → arrays of artefacts/SETUP/METHOD/seed-K/deltas.npz of its first seed, where they were recorded.

    Raises:
        UserError: an artefact is damaged.
    """
    found = {name: arrays_of_seed(folder, own[0], "deltas.npz") for name, own in methods.items()}
    return {name: arrays for name, arrays in found.items() if arrays is not None}


def pairs_and_captions(arrays: Arrays, split: str, *, patchwise: bool) -> tuple[NDArray[np.uint8], list[str]]:
    """Pairs of a split, (n, 2, S, S[, 3]), and their true and predicted actions; selected patches are framed."""
    images = np.array(arrays[f"{split}_images"])
    if patchwise:
        images = framed(images, arrays[f"{split}_patches"], int(arrays["grid"]))
    predicted = f"{split}_predicted"
    answers = arrays[predicted if predicted in arrays else f"{split}_told"]  # the name in files of earlier versions
    captions = [
        f"{verb} {noun}".strip() + ("" if verb == answer else f" (predicted: {answer})")
        for verb, noun, answer in zip(arrays[f"{split}_verbs"], arrays[f"{split}_nouns"], answers, strict=True)
    ]
    return images, captions


def framed(images: NDArray[np.uint8], patches: NDArray[np.int64], cells: int) -> NDArray[np.uint8]:
    """Draw frames around the selected patches of pairs.

    Args:
        images: (n, 2, S, S) or in colour (n, 2, S, S, 3).
        patches: numbers of patches row by row, (n, K).
        cells: patches along a side.

    Returns:
        The images in colour.
    """
    drawn = np.array(images if images.ndim == 5 else np.repeat(images[..., None], 3, axis=-1))
    size = drawn.shape[2] // cells
    frame = np.ones((size, size), bool)
    frame[1:-1, 1:-1] = False
    for pair, chosen in zip(drawn, patches, strict=True):
        for number in chosen:
            top, left = size * (int(number) // cells), size * (int(number) % cells)
            pair[:, top : top + size, left : left + size][:, frame] = _ORANGE
    return drawn


@styled
def shift_accuracies(methods: Methods, *, paper: bool = False) -> Figure:
    """Accuracy of each method, a panel for each shift: seeds as dots, the mean as a line.

    `paper` shows the paper's numbers, measured on other images, as rings.
    """
    splits = [split for split in SHIFTS if any(split in row.accuracy for own in methods.values() for row in own)]
    figure, panels = make_panels(len(splits), height=0.9 + 0.32 * max(3, len(methods)), columns=3)
    names = list(methods)[::-1]
    for panel, split in zip(panels, splits, strict=True):
        for place, name in enumerate(names):
            values = accuracies(methods[name], split)
            colour = OURS if name.startswith("cde") else PALETTE[5]
            panel.scatter(values, np.full(len(values), place), s=22, color=colour, linewidths=0, zorder=3)
            panel.vlines(values.mean(), place - 0.3, place + 0.3, color=colour, linewidth=2)
            theirs = PAPER[name][list(SHIFTS).index(split)] if paper and name in PAPER else None
            if theirs is not None:
                panel.scatter(
                    theirs, place, s=34, facecolor="none", edgecolor=PAPER_COLOUR, label="the paper, ProcTHOR"
                )
        panel.set(title=SHIFTS[split], xlim=(0, 1.02), xlabel="accuracy", ylim=(-0.6, len(names) - 0.4))
        panel.set_yticks(range(len(names)), [METHODS.get(name, name) for name in names] if split == splits[0] else [])
    if paper and PAPER.keys() & set(names):
        shared_legend(figure, panels)
    return figure


def recall_map(methods: Methods, split: str) -> Figure:
    """Recall of each verb by each method in a split, mean over seeds; blank where the split has no pair of it."""
    verbs = sorted({verb for own in methods.values() for row in own for verb in row.recall.get(split, {})})
    shares = [
        [known_mean([row.recall.get(split, {}).get(verb) for row in own]) for verb in verbs] for own in methods.values()
    ]
    title = f"Recall of each verb, {SHIFTS[split]}"
    names = [METHODS.get(name, name) for name in methods]
    return verb_map(np.array(shares), names, verbs, title=title, low=0.0, colours="Blues")


@styled
def verb_map(values: Floats, rows: Sequence[str], columns: Sequence[str], *, title: str, **given: Any) -> Figure:
    """A figure of one heat map, see `heat`."""
    height, width = 0.9 + 0.36 * len(rows), 1.6 + 0.055 * max(map(len, rows)) + min(0.55 * len(columns), 14)
    figure, (panel,) = make_panels(1, height=height, columns=1, width=width)
    heat(panel, values, rows, columns, **given)
    panel.set_title(title)
    return figure


@styled
def delta_plane(plane: Floats, verbs: Sequence[str], *, title: str) -> Figure:
    """Deltas along their two directions of greatest length, a colour for each verb; the cross marks no change."""
    figure, (panel,) = make_panels(1, height=4.4, columns=1, width=6.4)
    markers = "osD^v<>PX*h"
    for number, verb in enumerate(sorted(set(verbs))):
        chosen = np.array([each == verb for each in verbs])
        style: Any = {"color": PALETTE[number % len(PALETTE)], "marker": markers[number % len(markers)]}
        x, y = plane[chosen].T
        panel.scatter(x, y, s=14, alpha=0.7, linewidths=0, label=verb, rasterized=True, **style)
    panel.plot(0, 0, marker="+", color=INK, markersize=9)
    panel.set(xlabel="first direction", ylabel="second direction", title=title)
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


@styled
def lengths_against_steps(systems: Mapping[str, Mapping[str, NDArray[Any]]]) -> Figure:
    """Length of deltas over its median, against the joint's step in degrees; a panel for each system."""
    figure, panels = make_panels(len(systems), height=2.9, columns=3)
    for panel, (name, arrays) in zip(panels, systems.items(), strict=True):
        joints = sorted(set(arrays["moved_joints"].tolist()))
        lengths = arrays["lengths"] / max(float(np.median(arrays["lengths"])), 1e-12)
        for mark, joint in zip(marks(len(joints)), joints, strict=True):
            chosen = arrays["moved_joints"] == joint
            style: Any = {"s": 7, "alpha": 0.6, "linewidths": 0, "color": mark.colour, "marker": mark.marker}
            steps = np.degrees(np.abs(arrays["moved_by"][chosen]))
            panel.scatter(steps, lengths[chosen], label=joint_label(joint), rasterized=True, **style)
        panel.set(title=METHODS.get(name, name), xlabel="joint's step, °", ylabel="length of the delta / median")
        panel.set_ylim(bottom=0)
    return shared_legend(figure, panels)


@styled
def joint_moves(systems: Methods) -> Figure:
    """Deltas of an arm by system: direction of each joint, up against down, length against distance."""
    joints = sorted({joint for own in systems.values() for row in own for joint in row.moves})
    figure, panels = make_panels(3, height=2.9, columns=3)
    for panel, (kind, title) in zip(panels, MOVES.items(), strict=True):
        marked = zip(marks(len(systems)), systems.items(), strict=True)
        for number, (mark, (name, own)) in enumerate(marked):
            apart = 0.16 * (number - (len(systems) - 1) / 2)
            for place, joint in enumerate(joints):
                values = [row.moves[joint][kind] for row in own if joint in row.moves]
                kept = np.array([value for value in values if value is not None])
                across = np.full(len(kept), place + apart)
                style: Any = {"s": 20, "color": mark.colour, "marker": mark.marker, "linewidths": 0}
                panel.scatter(across, kept, label=METHODS.get(name, name), **style)
        panel.set_title(title, fontsize=8.5)
        panel.set_xticks(range(len(joints)), [joint_label(joint) for joint in joints], rotation=30, ha="right")
        panel.set_ylim(-1.05, 1.05)
    return shared_legend(figure, panels)


@styled
def nearest_pairs(images: NDArray[np.uint8], captions: Sequence[Sequence[str]], *, title: str) -> Figure:
    """Pairs of unseen objects, a row each, beside the pairs in distribution with the nearest deltas.

    Args:
        images: (n, 1 + k, 2, S, S[, 3]), the query pair first.
        captions: of the pairs, (n, 1 + k).
        title: of the figure.
    """
    count, columns = images.shape[:2]
    figure, panels = make_panels(count * columns, height=1.25, columns=columns, width=2.3 * columns)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        _show_pair(panel, images[row, column], captions[row][column])
        if row == 0 and column < 2:
            panel.text(0, 1.3, ("query", "nearest in distribution")[column], transform=panel.transAxes, fontsize=8.5)
    figure.suptitle(title, fontsize=9)
    return figure


@styled
def pair_grid(images: NDArray[np.uint8], captions: Sequence[str]) -> Figure:
    """Pairs side by side, titled with their actions.

    Args:
        images: (n, 2, S, S, 3).
        captions: of the pairs, (n,).
    """
    figure, panels = make_panels(len(images), height=1.75, columns=3)
    for panel, pair, caption in zip(panels, images, captions, strict=True):
        _show_pair(panel, pair, caption)
    return figure


def _show_pair(panel: Axes, pair: NDArray[np.uint8], caption: str) -> None:
    """Both images of a pair (2, S, S[, 3]) side by side, titled with the action."""
    before, after = pair if pair.ndim == 4 else np.repeat(pair[..., None], 3, axis=-1)
    gap = np.full((before.shape[0], max(1, before.shape[1] // 32), 3), 255, np.uint8)
    panel.imshow(np.concatenate([before, gap, after], axis=1), interpolation="nearest")
    panel.set_title(caption, fontsize=8.5)
    panel.axis("off")
