"""The page's part on methods that tell actions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ropes.evaluation.results import Results
from ropes.evaluation.rows.action import ActionRow
from ropes.report import pictures
from ropes.report.action_numbers import (
    EMBEDDINGS,
    METHODS,
    PAPER,
    PAPER_GAPS,
    SCENES,
    SHIFTS,
    findings,
    in_order,
    paper_scores,
    scores,
)
from ropes.report.action_plots import Arrays, of_an_arm, plots, recorded, told
from ropes.report.naming import capitalised
from ropes.report.numbers import fixed
from ropes.report.page import Part, render
from ropes.report.sections import inline
from ropes.simulation.actions import IID

_OF_THE_ARM = (
    "One joint goes up or down. Is its delta one direction, do up and down point opposite ways, is the delta's length "
    "how far the joint went? Asked of embeddings of actions, and of the coordinates of ROPES (the packaged estimator, "
    "which no action was shown to), whose delta is their difference; what was done it tells by the nearest mean "
    "direction of training pairs."
)
_OF_THINGS = (
    "Accuracy of each method, a dot for each training seed, and which verbs are told on things never seen; then "
    "cosines between the mean deltas of verbs, and deltas along their two directions of greatest length, where a cross "
    "is no change."
)


def action_part(found: Results, folder: Path) -> Part:
    """The part of results with `action_rows`.

    Args:
        found: the results.
        folder: with artefacts/SETUP/METHOD/seed-K/deltas.npz, where recorded.

    Raises:
        UserError: an artefact is damaged.
    """
    every = in_order(found.action_rows)
    sections = list(_sections(every, folder))
    body = render(
        "actions.html.j2",
        parts=sections,
        splits=list(SHIFTS.values()),
        table=[_line(setup, name, own) for setup, methods in every.items() for name, own in methods.items()]
        + [["the paper, ProcTHOR", METHODS[name], "", *paper_scores(name), "", ""] for name in PAPER],
        paper_gaps=", ".join(f"{METHODS[name]} {fixed(gap, 2)}" for name, gap in PAPER_GAPS.items()),
    )
    return Part(
        title=f"What was done: {found.name}",
        findings=findings(found.action_rows),
        links={f"actions-{number}": section["heading"] for number, section in enumerate(sections, 1)}
        | {"all-actions": "All numbers"},
        body=body,
    )


def _sections(every: Mapping[str, Mapping[str, Sequence[ActionRow]]], folder: Path) -> Iterator[dict[str, Any]]:
    """Heading, text, plots and pictures of each setting."""
    for setup, methods in every.items():
        arm = of_an_arm(methods)
        words = SCENES.get(setup, setup)
        shown: list[dict[str, Any]] = []
        arrays_of = recorded(setup, methods, folder)
        for name, arrays in arrays_of.items():
            if not arm and name in EMBEDDINGS:
                shown += _pictures(METHODS[name], arrays, patchwise=name == "cde-patch")
        yield {
            "heading": "Towards the arm" if arm else capitalised(words),
            "text": _OF_THE_ARM if arm else _OF_THINGS,
            "plots": [inline(plot.figure, plot.label) for plot in plots(setup, methods, arrays_of)],
            "pictures": shown,
        }


def _pictures(label: str, arrays: Arrays, *, patchwise: bool) -> Iterator[dict[str, Any]]:
    """Pairs of each test split with what was done and what was told; chosen patches are framed."""
    for split, words in SHIFTS.items():
        if f"{split}_images" in arrays:
            images, captions = told(arrays, split, patchwise=patchwise)
            uris = [pictures.data_uri(pictures.strip(pair)) for pair in images]
            yield {"heading": f"{label}, {words}", "pairs": list(zip(uris, captions, strict=True))}


def _line(setup: str, name: str, own: Sequence[ActionRow]) -> list[str]:
    """A method's line of the table of all numbers."""
    return [
        SCENES.get(setup, setup),
        METHODS.get(name, name),
        str(len(own)),
        *scores(own),
        f"{own[0].pairs.get(IID, 0):,}",
        f"{np.mean([row.seconds for row in own]):,.0f}",
    ]
