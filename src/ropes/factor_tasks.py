"""What regressors from latents learn from and are tested on: finger-cube's scenarios, or an arm's test splits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.finger import HUE, NAMES, SCENARIOS, hues_of, scaled
from ropes.scm import Regime
from ropes.settings import FINGER_CUBE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Training images that regressors learn from at most.
LABELLED = 10_000
#: In the place of a split.
PHOTOGRAPHS = "photographs"
_ARM_TESTS = {"id": "test-id", "ood": "test-ood"}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Regressors learn from some rows of the training samples, and are tested on some rows of another split.

    Attributes:
        learnt: rows of the training samples.
        split, tested: of the others.
        left_out: the factor that shifts, whose error no transfer score counts; None where none does.
    """

    learnt: Ints
    split: str
    tested: Ints
    left_out: str | None = None


@dataclass(frozen=True, kw_only=True)
class FactorTask:
    """Factors of a data set, and what is asked of latents about them.

    Attributes:
        names: of the factors.
        frames: split → rows of the data set's split that are encoded, "train" with those that regressors learn from.
        factors: split → factors of these rows, (n, f).
        shares: the same in shares of their ranges, [0, 1].
        categorical: columns of factors that are classes without an order.
        complete: whether every combination of the factors' values exists.
        trials: name → trial.
    """

    names: tuple[str, ...]
    frames: Mapping[str, Ints]
    factors: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    categorical: tuple[int, ...]
    complete: bool
    trials: Mapping[str, Trial]


def factor_task(dataset: Dataset) -> FactorTask:
    """The task that a data set allows: finger-cube's where it has finger and cube's factors, else an arm's.

    Raises:
        UserError: no angles, no test split, no policy without intervention, or no sample of a hue.
    """
    named = (dataset.provenance or {}).get("setting", {}).get("name") == FINGER_CUBE
    return _finger_task(dataset) if named or dataset.state_names == NAMES else _arm_task(dataset)


def with_photographs(task: FactorTask, factors: Floats) -> FactorTask:
    """The task with real photographs as a further domain (OOD2-B), from their factors (n, 7).

    Raises:
        UserError: it is not finger and cube's.
    """
    if task.names != NAMES:
        raise UserError("photographs are of finger and cube; give data of finger-cube")
    every = Trial(learnt=np.arange(len(task.factors["train"])), split=PHOTOGRAPHS, tested=np.arange(len(factors)))
    return replace(
        task,
        factors={**task.factors, PHOTOGRAPHS: factors},
        shares={**task.shares, PHOTOGRAPHS: scaled(factors)},
        trials={**task.trials, "ood2_b_real": every},
    )


def _finger_task(dataset: Dataset) -> FactorTask:
    """Every scenario of the study (Section 5); its metrics are of test images like those of the training."""
    splits = ("train", *dict.fromkeys(scenario.split for scenario in SCENARIOS.values()))
    if missing := [split for split in splits if split not in dataset.splits]:
        raise UserError(f"{dataset.path} lacks the split {missing[0]}; simulate it with --test-anchors 2000")
    frames = {split: np.arange(len(dataset.frames(split))) for split in splits}
    anchor = dataset.frames("train").anchor
    frames["train"] = np.unique(anchor, return_index=True)[1][:LABELLED]  # of each pair one image
    factors = {split: dataset.factors(split)[rows] for split, rows in frames.items()}
    hues = {split: hues_of(values) for split, values in factors.items()}
    trials = {
        name: Trial(
            learnt=_of_hues(hues["train"], scenario.learnt),
            split=scenario.split,
            tested=_of_hues(hues[scenario.split], scenario.tested),
            left_out=None if scenario.learnt == scenario.tested else NAMES[HUE],
        )
        for name, scenario in SCENARIOS.items()
    }
    return FactorTask(
        names=NAMES,
        frames=frames,
        factors=factors,
        shares={split: scaled(values) for split, values in factors.items()},
        categorical=(HUE,),
        complete=False,
        trials=trials,
    )


def _of_hues(hues: Ints, wanted: tuple[int, ...]) -> Ints:
    """The rows with one of these hues.

    Raises:
        UserError: there are none.
    """
    rows = np.flatnonzero(np.isin(hues, wanted))
    if not len(rows):
        raise UserError(f"no sample has one of the hues {', '.join(map(str, wanted))}; simulate more")
    return rows


def _arm_task(dataset: Dataset) -> FactorTask:
    """Joint angles: regressors learn from poses without intervention, and are tested on those of the test splits.

    Shares are of the range of all these poses.
    """
    splits = {name: split for name, split in _ARM_TESTS.items() if split in dataset.splits}
    if "id" not in splits:
        raise UserError(f"{dataset.path} has no split test-id; simulate it with --test-anchors 2000")
    if Regime() not in dataset.regimes:
        raise UserError(f"{dataset.path} has no policy without intervention, whose poses regressors learn from")
    free = dataset.frames("train").regime == dataset.regimes.index(Regime())
    frames = {"train": np.flatnonzero(free)[:LABELLED]}
    frames |= {split: np.arange(len(dataset.frames(split))) for split in splits.values()}
    factors = {split: dataset.states(split)[rows] for split, rows in frames.items()}
    every = np.concatenate(list(factors.values()))
    low, span = every.min(axis=0), np.ptp(every, axis=0)
    return FactorTask(
        names=dataset.joints,
        frames=frames,
        factors=factors,
        shares={split: (values - low) / np.where(span > 0, span, 1.0) for split, values in factors.items()},
        categorical=(),
        complete=True,
        trials={
            name: Trial(learnt=np.arange(len(frames["train"])), split=split, tested=frames[split])
            for name, split in splits.items()
        },
    )
