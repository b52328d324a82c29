"""The plots of methods that classify actions, in the order of the page, and the arrays behind them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.methods.delta.variants import ABLATED
from ropes.report import action_figures
from ropes.report.action_numbers import ABLATIONS, HELD_AGAINST, METHODS, SHIFTS, Methods, of_an_arm
from ropes.report.artefacts import read_arrays
from ropes.report.words import capitalised
from ropes.simulation.actions import SYSTEMATIC
from ropes.simulation.settings import ACTION_PAIRS, RECORDED_PAIRS

Arrays = Mapping[str, NDArray[Any]]
_FRAME = np.array([213, 94, 0], np.uint8)
#: Settings that are plotted with the paper's accuracies on ProcTHOR's single objects.
_LIKE_THE_PAPER = (ACTION_PAIRS, RECORDED_PAIRS)


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
        yield Plot("moves", "deltas of an arm's joints", action_figures.joint_moves(methods))
        if stepped := {name: arrays for name, arrays in arrays_of.items() if "moved_by" in arrays}:
            figure = action_figures.lengths_against_steps(stepped)
            yield Plot("lengths", "lengths of deltas against steps", figure)
        return
    plain = {name: own for name, own in methods.items() if name not in ABLATED}
    if plain:
        figure = action_figures.shift_accuracies(plain, paper=setup in _LIKE_THE_PAPER)
        yield Plot("accuracy", f"accuracy, {setup}", figure)
    if ablated := {name: methods[name] for name in ABLATIONS if name in methods and len(methods) > len(plain)}:
        yield Plot("ablations", f"ablations, {setup}", action_figures.shift_accuracies(ablated))
    if any(SYSTEMATIC in row.recall for own in plain.values() for row in own):
        figure = action_figures.recall_map(plain, SYSTEMATIC)
        yield Plot("verbs", f"recall of each verb, {SHIFTS[SYSTEMATIC]}, {setup}", figure)
    for name, arrays in arrays_of.items():
        if name not in HELD_AGAINST:
            continue
        words = METHODS.get(name, name)
        verbs = [str(verb) for verb in arrays["verbs"]]
        figure = action_figures.cosine_map(arrays["cosines"], verbs, title=f"Cosines between mean {words}")
        yield Plot(f"{name}-cosines", f"cosines, {words}, {setup}", figure)
        of = [str(verb) for verb in arrays["plane_verbs"]]
        figure = action_figures.delta_plane(arrays["plane"], of, title=capitalised(words))
        yield Plot(f"{name}-plane", f"deltas, {words}, {setup}", figure)
        if "near_images" in arrays:
            figure = action_figures.nearest_pairs(arrays["near_images"], _captions(arrays), title=capitalised(words))
            yield Plot(f"{name}-nearest", f"nearest deltas, {words}, {setup}", figure)


def _captions(arrays: Arrays) -> list[list[str]]:
    """The actions in the pairs of `near_images`."""
    return [
        [f"{verb} {noun}".strip() for verb, noun in zip(*row, strict=True)]
        for row in zip(arrays["near_verbs"], arrays["near_nouns"], strict=True)
    ]


def delta_arrays(setup: str, methods: Methods, folder: Path) -> dict[str, Arrays]:
    """Method → arrays of artefacts/SETUP/METHOD/seed-K/deltas.npz of its first seed, where they were recorded.

    Raises:
        UserError: an artefact is damaged.
    """
    runs = {name: Path(own[0].setup, name, f"seed-{own[0].seed}") for name, own in methods.items()}
    found = {name: read_arrays(folder / "artefacts" / run / "deltas.npz") for name, run in runs.items()}
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
    for pair, chosen in zip(drawn, patches, strict=True):
        for number in chosen:
            top, left = size * (int(number) // cells), size * (int(number) % cells)
            for edge in (
                np.s_[:, top, left : left + size],
                np.s_[:, top + size - 1, left : left + size],
                np.s_[:, top : top + size, left],
                np.s_[:, top : top + size, left + size - 1],
            ):
                pair[edge] = _FRAME
    return drawn
