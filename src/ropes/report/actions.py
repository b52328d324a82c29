"""The page of methods that tell actions: accuracy under shift, how deltas lie, pictures, the arm."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray

from ropes.action_rows import ActionRow
from ropes.actions import IID
from ropes.report import action_figures, pictures
from ropes.report.action_numbers import (
    ABLATIONS,
    METHODS,
    PAPER,
    PAPER_GAPS,
    SCENES,
    SHIFTS,
    accuracies,
    cosines,
    findings,
    gaps,
    in_order,
    spread,
)
from ropes.report.artefacts import read_arrays
from ropes.report.sections import inline, provenance
from ropes.results import Results
from ropes.settings import ACTION_PAIRS, RECORDED_PAIRS

Arrays = Mapping[str, NDArray[Any]]
#: Settings beside whose accuracies the paper's stand, of ProcTHOR's single objects.
_LIKE_THE_PAPER = (ACTION_PAIRS, RECORDED_PAIRS)
_OF_THE_ARM = (
    "One joint goes up or down. Is its delta one direction, do up and down point opposite ways, is the delta's length "
    "how far the joint went? Asked of embeddings of actions, and of the coordinates of ROPES (the packaged estimator, "
    "which no action was shown to), whose delta is their difference; what was done it tells by the nearest mean "
    "direction of training pairs."
)
_FRAME = np.array([213, 94, 0], np.uint8)


def action_page(found: Results, folder: Path) -> str:
    """The page of results with `action_rows`.

    Args:
        found: the results.
        folder: with artefacts/SETUP/METHOD/seed-K/deltas.npz, where recorded.

    Raises:
        UserError: an artefact is damaged.
    """
    every = in_order(found.action_rows)
    environment = Environment(
        loader=PackageLoader("ropes", "report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    page: str = environment.get_template("actions.html.j2").render(
        title=f"What was done: {found.name}",
        css=Markup(resources("ropes.report").joinpath("page.css").read_text(encoding="utf-8")),
        results=found,
        findings=findings(found.action_rows),
        parts=list(_parts(every, folder)),
        splits=list(SHIFTS.values()),
        table=[_line(setup, name, own) for setup, methods in every.items() for name, own in methods.items()]
        + [["the paper, ProcTHOR", METHODS[name], "", *(f"{one:.2f}" for one in told)] for name, told in PAPER.items()],
        paper_gaps=", ".join(f"{METHODS[name]} {gap:.2f}" for name, gap in PAPER_GAPS.items()),
        provenance=provenance(found, found.action_rows),
    )
    return page


def _parts(every: Mapping[str, Mapping[str, Sequence[ActionRow]]], folder: Path) -> Iterator[dict[str, Any]]:
    """Heading, text, plots and pictures of each setting."""
    for setup, methods in every.items():
        if any(row.moves for own in methods.values() for row in own):
            arrays_of = {name: _arrays(folder, setup, name, own) for name, own in methods.items()}
            known = {name: arrays for name, arrays in arrays_of.items() if arrays and "moved_by" in arrays}
            lengths = [action_figures.lengths_against_steps(known)] if known else []
            yield {
                "heading": "Towards the arm",
                "text": _OF_THE_ARM,
                "plots": [
                    inline(action_figures.joint_moves(methods), "deltas of an arm's joints"),
                    *(inline(figure, "lengths of deltas against steps") for figure in lengths),
                ],
                "pictures": [],
            }
            continue
        plain = {name: own for name, own in methods.items() if "@" not in name}
        plots = [inline(action_figures.shift_accuracies(plain, paper=setup in _LIKE_THE_PAPER), f"accuracy, {setup}")]
        if ablated := {name: methods[name] for name in ABLATIONS if name in methods and len(methods) > len(plain)}:
            plots.append(inline(action_figures.shift_accuracies(ablated), f"ablations, {setup}"))
        shown: list[dict[str, Any]] = []
        for name, own in plain.items():
            arrays = _arrays(folder, setup, name, own)
            if arrays is None or not name.startswith("cde"):
                continue
            label = METHODS.get(name, name)
            verbs = [str(verb) for verb in arrays["verbs"]]
            plots.append(inline(action_figures.cosine_map(arrays["cosines"], verbs), f"cosines, {label}, {setup}"))
            of = [str(verb) for verb in arrays["plane_verbs"]]
            plots.append(inline(action_figures.delta_plane(arrays["plane"], of), f"deltas, {label}, {setup}"))
            shown += _pictures(label, arrays, patchwise=name == "cde-patch")
        yield {
            "heading": SCENES.get(setup, setup)[0].upper() + SCENES.get(setup, setup)[1:],
            "text": "Accuracy of each method, a dot for each training seed; then cosines between the mean deltas of "
            "verbs, and deltas along their two directions of greatest length, where a cross is no change.",
            "plots": plots,
            "pictures": shown,
        }


def _arrays(folder: Path, setup: str, name: str, own: Sequence[ActionRow]) -> Arrays | None:
    """What was recorded of a method's first seed."""
    return read_arrays(folder / "artefacts" / setup / name / f"seed-{own[0].seed}" / "deltas.npz")


def _pictures(label: str, arrays: Arrays, *, patchwise: bool) -> Iterator[dict[str, Any]]:
    """Pairs of each test split with what was done and what was told; chosen patches are framed."""
    for split, words in SHIFTS.items():
        if f"{split}_images" not in arrays:
            continue
        images = np.array(arrays[f"{split}_images"])
        if patchwise:
            images = framed(images, arrays[f"{split}_patches"], int(arrays["grid"]))
        captions = [
            f"{verb} {noun}".strip() + ("" if verb == told else f" (told: {told})")
            for verb, noun, told in zip(*(arrays[f"{split}_{k}"] for k in ("verbs", "nouns", "told")), strict=True)
        ]
        uris = [pictures.data_uri(pictures.strip(pair)) for pair in images]
        yield {"heading": f"{label}, {words}", "pairs": list(zip(uris, captions, strict=True))}


def framed(images: NDArray[np.uint8], patches: NDArray[np.int64], cells: int) -> NDArray[np.uint8]:
    """Frames around the chosen patches of pairs.

    Args:
        images: (n, 2, S, S) or in colour (n, 2, S, S, 3).
        patches: numbers of patches row by row, (n, K).
        cells: patches along a side.

    Returns:
        The same in colour.
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


def _line(setup: str, name: str, own: Sequence[ActionRow]) -> list[str]:
    """A method's line of the table of all numbers."""
    return [
        SCENES.get(setup, setup),
        METHODS.get(name, name),
        str(len(own)),
        *(spread(accuracies(own, split)) for split in SHIFTS),
        spread(gaps(own)),
        *(spread(cosines(own, kind)) for kind in ("antonyms", "unrelated")),
        spread(np.array([row.active for row in own]), 2),
        f"{own[0].pairs.get(IID, 0):,}",
        f"{np.mean([row.seconds for row in own]):,.0f}",
    ]
