"""Markdown tables of methods that tell actions."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ropes.evaluation.results import Results
from ropes.evaluation.rows.action import ActionRow
from ropes.report.action_numbers import (
    BESIDE,
    COSINES,
    DRAWN,
    METHODS,
    PAPER,
    SCENES,
    SHIFTS,
    advantage,
    findings,
    in_order,
    moved,
    paper_scores,
    scores,
)
from ropes.report.action_plots import of_an_arm
from ropes.report.markdown_tables import table
from ropes.report.numbers import fixed
from ropes.simulation.actions import COMPOSITIONAL, SYSTEMATIC

Methods = Mapping[str, Sequence[ActionRow]]
_MOVES = {
    "direction": "deltas of one way: cosine with their mean",
    "opposite": "mean deltas up and down: cosine",
    "length": "length and distance gone: correlation",
}


def action_markdown(found: Results) -> str:
    """Tables of accuracies, of advantages over other methods, and of an arm's deltas; what they show; their origin.

    Args:
        found: with `action_rows`.
    """
    every = in_order(found.action_rows)
    heads = ["seeds", *SHIFTS.values(), "gap", *COSINES.values(), "active", "variance"]
    parts = [
        table(["images", "method"], heads, _accuracies(every)),
        *_advantages(every),
        *_arms(every),
        "\n".join(f"- {sentence}" for sentence in findings(found.action_rows)),
        "Share of the pairs whose verb was told, mean ± deviation over training seeds. Gap: in distribution less "
        "systematic shift. Active: share of a delta's dimensions that reach a tenth of its largest. Variance: of "
        "deltas of one verb over pairs, in shares of their mean squared length (the paper: Var[δ] ≈ 0). "
        f"{_drawn(every)}The paper's are of ProcTHOR's single objects. Preset {found.preset}, {found.device}, "
        f"{found.seconds / 60:.0f} minutes.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _drawn(every: Mapping[str, Methods]) -> str:
    """What ± is over, where what is held out was drawn."""
    return "Of others held out, ± is over choices of what is held out. " if DRAWN in every else ""


def _accuracies(every: Mapping[str, Methods]) -> Iterator[list[str]]:
    for setup, methods in every.items():
        for name, own in methods.items():
            yield [
                SCENES.get(setup, setup) if name == next(iter(methods)) else "",
                METHODS.get(name, name),
                str(len(own)),
                *scores(own),
            ]
    for name in PAPER:
        first = "the paper, ProcTHOR" if name == next(iter(PAPER)) else ""
        yield [first, METHODS[name], "", *paper_scores(name)]


def _advantages(every: Mapping[str, Methods]) -> Iterator[str]:
    """How much more often methods are right than what stands beside them, seed by seed."""
    lines = []
    for setup, methods in every.items():
        if of_an_arm(methods):
            continue
        for ours in (name for name in BESIDE if name in methods):
            for other in (name for name in BESIDE[ours] if name in methods):
                better = [advantage(methods[ours], methods[other], split) for split in (COMPOSITIONAL, SYSTEMATIC)]
                if any(better):
                    lines.append([SCENES.get(setup, setup), METHODS[ours], METHODS[other], *better])
    if lines:
        yield "How much more often right, seed by seed: mean difference (95% interval by Student's t):"
        yield table(["images", "method", "beside"], [SHIFTS[COMPOSITIONAL], SHIFTS[SYSTEMATIC]], lines)


def _arms(every: Mapping[str, Methods]) -> Iterator[str]:
    """How the deltas of an arm's joints lie."""
    for methods in every.values():
        if of_an_arm(methods):
            lines = [
                [METHODS.get(name, name), *(_range(own, kind) for kind in _MOVES)]
                for name, own in methods.items()
                if any(row.moves for row in own)
            ]
            yield "Deltas of the arm, median over its joints (least to greatest):"
            yield table(["method"], list(_MOVES.values()), lines)


def _range(rows: Sequence[ActionRow], kind: str) -> str:
    values = moved(rows, kind)
    kept = values[np.isfinite(values)]
    if not len(kept):
        return ""
    middle, least, greatest = (fixed(float(one), 2) for one in (np.median(kept), kept.min(), kept.max()))
    return f"{middle} ({least} to {greatest})"
