"""Names, order, statistics and findings of methods that classify actions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import t

from ropes.common.arrays import Floats
from ropes.evaluation.rows.kinds import ActionRow
from ropes.methods.delta.variants import ABLATED, BASELINES, CROPPED, FROM_POSES, OF_A_RESNET, OPTIONS
from ropes.report.table import grouped
from ropes.report.words import capitalised, fixed
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC
from ropes.simulation.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    ARM_SETTING,
    OBJECT_SCENES,
    RANDOM_HOLD_OUTS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
)

#: Method → its rows, one a seed.
Methods = Mapping[str, Sequence[ActionRow]]
SHIFTS = {IID: "in distribution", COMPOSITIONAL: "compositional shift", SYSTEMATIC: "systematic shift"}
#: One setting for those that differ only in their held-out pairs.
DRAWN = f"{ACTION_PAIRS}-drawn"
SCENES = {
    ACTION_PAIRS: "single objects",
    DRAWN: "single objects, others held out",
    OBJECT_SCENES: "several objects in a scene",
    ARM_ACTIONS: "joints of an arm",
    f"{ARM_SETTING}-{ARM_ACTIONS.partition('-')[2]}": "joints of an arm",
    RECORDED_PAIRS: "Causal Triplet's own images, objects cut out",
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
COSINES = {
    "antonyms": "cosine of antonyms",
    "unrelated": "cosine of unrelated verbs",
    "unrelated size": "its absolute value",
}
#: Measures of an arm's deltas.
MOVES = {
    "direction": "one direction: cosine with mean delta",
    "opposite": "up and down: cosine of mean deltas",
    "length": "length: correlation with step",
}
EMBEDDINGS = ("cde-global", "cde-patch", OF_A_RESNET)
ABLATIONS = ("cde-global", *ABLATED)
WITH_CROPS = CROPPED["cde-global"]
#: Embedding of actions → baselines trained on the same images.
HELD_AGAINST = {**dict.fromkeys(EMBEDDINGS, BASELINES), WITH_CROPS: tuple(CROPPED[name] for name in BASELINES)}
#: Method → methods that it is compared with, seed by seed.
BESIDE = {
    "cde-global": (*ABLATED, WITH_CROPS, OF_A_RESNET, *BASELINES),
    "cde-patch": ("cde-global", OF_A_RESNET, *BASELINES),
    OF_A_RESNET: BASELINES,
    WITH_CROPS: HELD_AGAINST[WITH_CROPS],
    **{name: (CROPPED[name],) for name in BASELINES},
    **{label: (label.partition("@")[0],) for label in OPTIONS},
}
#: The paper's accuracies on ProcTHOR's single objects: in distribution, compositional, systematic; None where its
#: summary has no number.
PAPER: Mapping[str, tuple[float, float | None, float | None]] = {
    "plain-resnet": (0.96, 0.36, 0.48),
    "plain-vit": (0.95, 0.34, 0.47),
    "icm": (0.95, 0.41, 0.50),
    "sms": (0.96, 0.47, 0.54),
    "cde-global": (0.95, None, None),
}
#: The paper's gaps of its global embeddings and its plain ViT.
PAPER_GAPS = {"cde-global": 0.21, "plain-vit": 0.48}


def in_order(rows: Sequence[ActionRow]) -> dict[str, Methods]:
    """Setup → method → its rows, one a seed; in the order of `SCENES` and `METHODS`, others after them.

    Rows of `RANDOM_HOLD_OUTS` are one setup, `DRAWN`, with one row for each choice of held-out pairs: the mean over
    its training seeds.
    """
    setups = grouped(rows, lambda row: DRAWN if row.setup in RANDOM_HOLD_OUTS else row.setup)
    return {
        setup: {
            name: _by_choice(own) if setup == DRAWN else own
            for name, own in _sorted(grouped(setups[setup], lambda row: row.method), METHODS)
        }
        for setup, _ in _sorted(setups, SCENES)
    }


def _sorted(groups: Mapping[str, list[ActionRow]], order: Mapping[str, str]) -> list[tuple[str, list[ActionRow]]]:
    """The groups in a given order, others after them by name."""
    places = {name: place for place, name in enumerate(order)}
    return sorted(groups.items(), key=lambda item: (places.get(item[0], len(places)), item[0]))


def _by_choice(rows: Sequence[ActionRow]) -> list[ActionRow]:
    """The mean row over training seeds of each setting."""
    return [
        replace(
            own[0],
            seconds=known_mean([row.seconds for row in own]),
            recall={split: _mean_recall([row.recall.get(split, {}) for row in own]) for split in own[0].recall},
            accuracy={split: known_mean([row.accuracy.get(split) for row in own]) for split in own[0].accuracy},
            cosines={kind: known_mean([row.cosines.get(kind) for row in own]) for kind in own[0].cosines},
            active=known_mean([row.active for row in own]),
            variance=None if own[0].variance is None else known_mean([row.variance for row in own]),
        )
        for _, own in sorted(grouped(rows, lambda row: row.setup).items())
    ]


def _mean_recall(shares: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Verb → mean over training seeds of its recall."""
    return {verb: known_mean([each.get(verb) for each in shares]) for verb in shares[0]}


def of_an_arm(methods: Methods) -> bool:
    """Whether the actions move joints."""
    return any(row.moves for own in methods.values() for row in own)


def _pairing(row: ActionRow) -> object:
    """The property by which rows of two methods are paired: the setting where it was drawn, else the seed."""
    return row.setup if row.setup in RANDOM_HOLD_OUTS else row.seed


def accuracies(rows: Sequence[ActionRow], split: str) -> Floats:
    """Accuracy of each seed, (n,); NaN where the split was not measured."""
    return np.array([row.accuracy.get(split, np.nan) for row in rows])


def best_of(methods: Methods, split: str) -> str | None:
    """The method with the largest mean accuracy on a split; None if none was measured on it."""
    means = {name: known_mean([row.accuracy.get(split) for row in rows]) for name, rows in methods.items()}
    measured = {name: mean for name, mean in means.items() if np.isfinite(mean)}
    return max(measured, key=measured.__getitem__, default=None)


def gaps(rows: Sequence[ActionRow]) -> Floats:
    """Accuracy in distribution less that under systematic shift, of each seed (the paper's gap)."""
    return accuracies(rows, IID) - accuracies(rows, SYSTEMATIC)


def cosines(rows: Sequence[ActionRow], kind: str) -> Floats:
    """Mean cosine of the mean deltas of two verbs of a kind (see `ropes.evaluation.rows.kinds`), of each seed."""
    return np.array([row.cosines.get(kind, np.nan) for row in rows])


def spread(values: Floats, digits: int = 3) -> str:
    """Mean ± standard deviation over seeds; empty where undefined."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return ""
    return fixed(kept.mean(), digits) + (f" ± {fixed(kept.std(ddof=1), digits)}" if len(kept) > 1 else "")


def scores(rows: Sequence[ActionRow]) -> list[str]:
    """A method's entries of a table: accuracy under each shift, gap, `COSINES`, active share, variance of deltas."""
    varying = np.array([np.nan if row.variance is None else row.variance for row in rows])
    return [
        *(spread(accuracies(rows, split)) for split in SHIFTS),
        spread(gaps(rows)),
        *(spread(cosines(rows, kind)) for kind in COSINES),
        spread(np.array([row.active for row in rows]), 2),
        spread(varying, 2),
    ]


def paper_scores(name: str) -> list[str]:
    """The paper's entries of the same table; empty where its summary has no number."""
    published = PAPER[name]
    gap = PAPER_GAPS.get(name) if published[2] is None else published[0] - published[2]
    return [*("" if one is None else fixed(one, 2) for one in (*published, gap)), *("" for _ in COSINES), "", ""]


def advantage(own: Sequence[ActionRow], other: Sequence[ActionRow], split: str) -> str:
    """Mean difference of accuracy to another method over seeds, with its 95% interval (Student's t) from two seeds on.

    Where the held-out pairs were drawn, it is over these choices.
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
    """A measure of each joint of an arm (see `ropes.metrics.deltas.moves`), its mean over seeds, (joints,)."""
    joints = sorted({joint for row in rows for joint in row.moves})
    return np.array([known_mean([row.moves.get(joint, {}).get(kind) for row in rows]) for joint in joints])


def recalled(rows: Sequence[ActionRow], joint: str) -> str:
    """Accuracy on the moves of a joint of an arm in distribution, mean over its directions and over seeds."""
    shares = [row.recall.get(IID, {}) for row in rows]
    known = [share for each in shares for action, share in each.items() if action.partition(" ")[0] == joint]
    return fixed(known_mean(known), 2) if known else ""


def known_mean(values: Sequence[float | None]) -> float:
    """Mean of the values that are not None; NaN without any."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else np.nan


def findings(rows: Sequence[ActionRow]) -> list[str]:
    """Sentences on the methods."""
    every = in_order(rows)
    sentences = []
    for setup in (ACTION_PAIRS, DRAWN, RECORDED_PAIRS):
        if setup in every:
            sentences += _against_baselines(every[setup])
    for scenes in (every.get(OBJECT_SCENES, {}), every.get(RECORDED_SCENES, {})):
        if {"cde-global", "cde-patch"} <= scenes.keys():
            parts = [
                f"{words} {spread(accuracies(scenes['cde-patch'], split), 2)} by patches, "
                f"{spread(accuracies(scenes['cde-global'], split), 2)} by whole images"
                for split, words in SHIFTS.items()
            ]
            sentences.append(f"Several objects in a scene: {'; '.join(parts)}.")
    for methods in filter(of_an_arm, every.values()):
        parts = [f"{METHODS.get(name, name)} {spread(accuracies(own, IID), 2)}" for name, own in methods.items()]
        sentences.append(f"Accuracy of joint and direction in unseen poses of an arm: {', '.join(parts)}.")
        break
    return sentences


def _against_baselines(methods: Methods) -> list[str]:
    """Sentences on the embeddings of one setting beside their baselines."""
    sentences, directions = [], []
    for name in (name for name in HELD_AGAINST if name in methods):
        others = {other: methods[other] for other in HELD_AGAINST[name] if other in methods}
        parts = []
        for split, words in SHIFTS.items():
            if not np.isfinite(accuracies(methods[name], split)).any():
                continue
            part = f"{words} {spread(accuracies(methods[name], split), 2)}"
            if best := best_of(others, split):
                part += f" (best baseline: {METHODS[best]} {spread(accuracies(others[best], split), 2)})"
            parts.append(part)
        sentences.append(f"{capitalised(METHODS[name])}: {'; '.join(parts)}.")
        if np.isfinite(opposite := cosines(methods[name], "antonyms")).any():
            unrelated, size = cosines(methods[name], "unrelated"), cosines(methods[name], "unrelated size")
            directions.append(f"{METHODS[name]} {spread(opposite, 2)}, {spread(unrelated, 2)} ({spread(size, 2)})")
    if directions:
        sentences.append(
            f"Cosine of mean deltas of antonyms, then of unrelated verbs (its absolute value): {'; '.join(directions)}."
        )
    apart = [
        f"{METHODS[name]} {spread(gaps(methods[name]), 2)}"
        for name in ("cde-global", "plain-vit", WITH_CROPS, CROPPED["plain-vit"])
        if name in methods
    ]
    if apart:
        sentences.append(f"Gap, in distribution minus systematic shift: {', '.join(apart)}.")
    return sentences
