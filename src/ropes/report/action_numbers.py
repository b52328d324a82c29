"""Names, order and summary sentences of methods that tell actions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from ropes.evaluation.rows.action import ActionRow
from ropes.methods.recipes.delta_variants import ABLATED, BASELINES, CROPPED, FROM_POSES, OF_A_RESNET, OPTIONS
from ropes.report.naming import capitalised
from ropes.report.numbers import fixed
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC
from ropes.simulation.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    ARM_SETTING,
    DRAWN_HOLD_OUTS,
    MANY_THINGS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
)

Floats = NDArray[np.float64]
SHIFTS = {IID: "in distribution", COMPOSITIONAL: "compositional shift", SYSTEMATIC: "systematic shift"}
#: Settings that differ in what is held out alone, shown as one.
DRAWN = f"{ACTION_PAIRS}-drawn"
SCENES = {
    ACTION_PAIRS: "single things",
    DRAWN: "single things, others held out",
    MANY_THINGS: "several things in a scene",
    ARM_ACTIONS: "joints of an arm",
    f"{ARM_SETTING}-{ARM_ACTIONS.partition('-')[2]}": "joints of an arm",
    RECORDED_PAIRS: "Causal Triplet's own images, things cut out",
    RECORDED_SCENES: "Causal Triplet's own images, whole scenes",
}
METHODS = {
    "cde-global": "deltas of whole images",
    "cde-patch": "deltas of patches",
    OF_A_RESNET: "deltas of a ResNet's whole images",
    FROM_POSES: "deltas from the packaged encoder",
    **dict(zip(ABLATED, ("without contrast", "without sparsity", "classification alone"), strict=True)),
    "plain-vit": "plain ViT",
    "plain-resnet": "plain ResNet",
    "icm": "ResNet, independence (ICM)",
    "sms": "ResNet, sparse blocks (SMS)",
}
METHODS |= {label: f"{METHODS[name]}, with crops" for name, label in CROPPED.items()} | OPTIONS
COSINES = {"antonyms": "cosine of antonyms", "unrelated": "of unrelated verbs", "unrelated size": "its absolute value"}
EMBEDDINGS = ("cde-global", "cde-patch", OF_A_RESNET)
ABLATIONS = ("cde-global", *ABLATED)
WITH_CROPS = CROPPED["cde-global"]
#: Embedding of actions → the baselines that learn from the same images.
HELD_AGAINST = {
    **dict.fromkeys(EMBEDDINGS, BASELINES),
    WITH_CROPS: tuple(CROPPED[name] for name in BASELINES),
}
#: Whose accuracies stand beside a method's, seed by seed.
BESIDE = {
    "cde-global": (*ABLATED, WITH_CROPS, OF_A_RESNET, *BASELINES),
    "cde-patch": ("cde-global", OF_A_RESNET, *BASELINES),
    OF_A_RESNET: BASELINES,
    WITH_CROPS: HELD_AGAINST[WITH_CROPS],
    **{name: (CROPPED[name],) for name in BASELINES},
    **{label: (label.partition("@")[0],) for label in OPTIONS},
}
#: Of ProcTHOR's single objects: in distribution, compositional, systematic; None where the summary of the paper does
#: not tell.
PAPER: Mapping[str, tuple[float, float | None, float | None]] = {
    "plain-resnet": (0.96, 0.36, 0.48),
    "plain-vit": (0.95, 0.34, 0.47),
    "icm": (0.95, 0.41, 0.50),
    "sms": (0.96, 0.47, 0.54),
    "cde-global": (0.95, None, None),
}
#: Gap of the paper's global embeddings, and of its plain ViT.
PAPER_GAPS = {"cde-global": 0.21, "plain-vit": 0.48}


def in_order(rows: Sequence[ActionRow]) -> dict[str, dict[str, list[ActionRow]]]:
    """Setup → method → its rows, one a seed; in the order of `SCENES` and `METHODS`, others after them.

    Rows of `DRAWN_HOLD_OUTS` are one setup, `DRAWN`, with one row for each choice of what is held out: the mean over
    its training seeds.
    """
    groups: dict[str, dict[str, list[ActionRow]]] = {}
    for row in rows:
        setup = DRAWN if row.setup in DRAWN_HOLD_OUTS else row.setup
        groups.setdefault(setup, {}).setdefault(row.method, []).append(row)
    return {
        setup: {
            name: _by_choice(groups[setup][name]) if setup == DRAWN else groups[setup][name]
            for name in sorted(groups[setup], key=lambda name: _place(name, METHODS))
        }
        for setup in sorted(groups, key=lambda name: _place(name, SCENES))
    }


def _by_choice(rows: Sequence[ActionRow]) -> list[ActionRow]:
    """Of each setting the mean row over training seeds, as its first one's."""
    settings: dict[str, list[ActionRow]] = {}
    for row in rows:
        settings.setdefault(row.setup, []).append(row)
    return [
        replace(
            own[0],
            accuracy={split: mean_of_known([row.accuracy.get(split) for row in own]) for split in own[0].accuracy},
            cosines={kind: mean_of_known([row.cosines.get(kind) for row in own]) for kind in own[0].cosines},
            active=mean_of_known([row.active for row in own]),
            variance=None if own[0].variance is None else mean_of_known([row.variance for row in own]),
        )
        for _, own in sorted(settings.items())
    ]


def _pairing(row: ActionRow) -> object:
    """What rows of two methods have in common that are compared one by one."""
    return row.setup if row.setup in DRAWN_HOLD_OUTS else row.seed


def accuracies(rows: Sequence[ActionRow], split: str) -> Floats:
    """Of each seed, (n,); NaN where the split was not measured."""
    return np.array([row.accuracy.get(split, np.nan) for row in rows])


def gaps(rows: Sequence[ActionRow]) -> Floats:
    """Accuracy in distribution less that under systematic shift, of each seed (the paper's gap)."""
    return accuracies(rows, IID) - accuracies(rows, SYSTEMATIC)


def cosines(rows: Sequence[ActionRow], kind: str) -> Floats:
    """Mean cosine of the mean deltas of two verbs of a kind (see `ropes.evaluation.rows.action`), of each seed."""
    return np.array([row.cosines.get(kind, np.nan) for row in rows])


def spread(values: Floats, digits: int = 3) -> str:
    """Mean ± deviation over seeds; empty where undefined."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return ""
    return fixed(kept.mean(), digits) + (f" ± {fixed(kept.std(ddof=1), digits)}" if len(kept) > 1 else "")


def scores(rows: Sequence[ActionRow]) -> list[str]:
    """A method's entries of a table: accuracy under each shift, the gap, each of `COSINES`, the active share, how much
    deltas of a verb vary.
    """
    varying = np.array([np.nan if row.variance is None else row.variance for row in rows])
    return [
        *(spread(accuracies(rows, split)) for split in SHIFTS),
        spread(gaps(rows)),
        *(spread(cosines(rows, kind)) for kind in COSINES),
        spread(np.array([row.active for row in rows]), 2),
        spread(varying, 2),
    ]


def paper_scores(name: str) -> list[str]:
    """The paper's entries of the same table, as far as its summary tells."""
    told = PAPER[name]
    gap = PAPER_GAPS.get(name) if told[2] is None else told[0] - told[2]
    return [*("" if one is None else fixed(one, 2) for one in (*told, gap)), *("" for _ in COSINES), "", ""]


def advantage(own: Sequence[ActionRow], other: Sequence[ActionRow], split: str) -> str:
    """Accuracy less that of another method, seed by seed, with its 95% interval (Student's t) from two seeds on; choice
    by choice where what is held out was drawn.
    """
    theirs = {_pairing(row): row.accuracy[split] for row in other if split in row.accuracy}
    shared = [row for row in own if _pairing(row) in theirs and split in row.accuracy]
    if not shared:
        return ""
    apart = np.array([row.accuracy[split] - theirs[_pairing(row)] for row in shared])
    if len(apart) == 1:
        return fixed(apart[0], signed=True)
    half = t.ppf(0.975, len(apart) - 1) * apart.std(ddof=1) / np.sqrt(len(apart))
    mean, low, high = (fixed(apart.mean() + way * half, signed=True) for way in (0, -1, 1))
    return f"{mean} ({low} to {high})"


def moved(rows: Sequence[ActionRow], kind: str) -> Floats:
    """What is said of each joint of an arm (see `ropes.metrics.deltas.moves`), its mean over the seeds, (joints,)."""
    joints = sorted({joint for row in rows for joint in row.moves})
    return np.array([mean_of_known([row.moves.get(joint, {}).get(kind) for row in rows]) for joint in joints])


def mean_of_known(values: Sequence[float | None]) -> float:
    """Over the seeds that have a figure; NaN where none has."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else np.nan


def findings(rows: Sequence[ActionRow]) -> list[str]:
    """What the methods show, a sentence each."""
    every = in_order(rows)
    said = []
    for setup in (ACTION_PAIRS, DRAWN, RECORDED_PAIRS):
        if setup in every:
            said += _against_baselines(every[setup])
    for scenes in (every.get(MANY_THINGS, {}), every.get(RECORDED_SCENES, {})):
        if not {"cde-global", "cde-patch"} <= scenes.keys():
            continue
        told = [
            f"{words} {spread(accuracies(scenes['cde-patch'], split), 2)} by patches, "
            f"{spread(accuracies(scenes['cde-global'], split), 2)} by whole images"
            for split, words in SHIFTS.items()
        ]
        said.append(f"Several things in a scene: {'; '.join(told)}.")
    for methods in every.values():
        if any(row.moves for own in methods.values() for row in own):
            told = [f"{METHODS.get(name, name)} {spread(accuracies(own, IID), 2)}" for name, own in methods.items()]
            said.append(f"Joint and direction of an arm's move are told in poses never seen: {', '.join(told)}.")
            break
    return said


def _against_baselines(methods: Mapping[str, Sequence[ActionRow]]) -> list[str]:
    said, directions = [], []
    for name in (name for name in HELD_AGAINST if name in methods):
        others = {other: methods[other] for other in HELD_AGAINST[name] if other in methods}
        parts = []
        for split, words in SHIFTS.items():
            if not np.isfinite(accuracies(methods[name], split)).any():
                continue
            part = f"{words} {spread(accuracies(methods[name], split), 2)}"
            if others:
                best = max(others, key=lambda other: np.nanmean(accuracies(others[other], split)))
                part += f" (best baseline: {METHODS[best]} {spread(accuracies(others[best], split), 2)})"
            parts.append(part)
        said.append(f"{capitalised(METHODS[name])}: {'; '.join(parts)}.")
        if np.isfinite(opposite := cosines(methods[name], "antonyms")).any():
            unrelated, size = cosines(methods[name], "unrelated"), cosines(methods[name], "unrelated size")
            directions.append(f"{METHODS[name]} {spread(opposite, 2)}, {spread(unrelated, 2)} ({spread(size, 2)})")
    if directions:
        said.append(
            f"Cosine of mean deltas of antonyms, of unrelated verbs (its absolute value): {'; '.join(directions)}."
        )
    apart = [
        f"{METHODS[name]} {spread(gaps(methods[name]), 2)}"
        for name in ("cde-global", "plain-vit", WITH_CROPS, CROPPED["plain-vit"])
        if name in methods
    ]
    if apart:
        said.append(f"Gap between in distribution and systematic shift: {', '.join(apart)}.")
    return said


def _place(name: str, known: Mapping[str, str]) -> tuple[int, str]:
    return (list(known).index(name) if name in known else len(known)), name
