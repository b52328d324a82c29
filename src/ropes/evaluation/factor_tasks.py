"""Train and test samples of factor regressors: the scenarios of finger-cube, or an arm's test splits."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.metrics.transfer import REGRESSORS, Regressor
from ropes.simulation.finger_setting import HUE, LABELLED_SPLIT, NAMES, SCENARIOS, hues_of, scaled
from ropes.simulation.settings import FINGER_CUBE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
#: Images that regressors learn from at most, and training images by whose latents all are standardised.
LABELLED = 10_000
#: Images of which ELBO and reconstruction loss are measured, the same ones for every model.
JUDGED = 5_000
#: Of an arm, which is no study of regressors.
_REPRESENTATIVE: tuple[Regressor, ...] = ("trees", "mlp")
#: In the place of a split.
PHOTOGRAPHS = "photographs"
_ARM_TESTS = {"id": "test-id", "ood": "test-ood"}


class Samples(NamedTuple):
    """Some rows of what is encoded of a split."""

    split: str
    rows: Ints


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Regressors learn from some samples, and are tested on others.

    Attributes:
        learnt, tested: these.
        left_out: the factor that shifts, whose error no transfer score counts; None where none does.
    """

    learnt: Samples
    tested: Samples
    left_out: str | None = None


@dataclass(frozen=True, kw_only=True)
class FactorTask:
    """Factors of a data set, and what is asked of latents about them.

    Attributes:
        names: of the factors.
        frames: split → rows of the data set's split that are encoded; of "train" those by whose latents the latents of
            all are standardised.
        factors: split → factors of these rows, (n, f).
        shares: the same in shares of their ranges, [0, 1].
        categorical: columns of factors that are classes without an order.
        complete: whether every combination of the factors' values exists.
        trials: name → trial.
        judged: images that no training has seen, of which the ELBO is measured.
        regressors: to fit.
        graded: whether every factor takes few values, which a classifier can tell.
    """

    names: tuple[str, ...]
    frames: Mapping[str, Ints]
    factors: Mapping[str, Floats]
    shares: Mapping[str, Floats]
    categorical: tuple[int, ...]
    complete: bool
    trials: Mapping[str, Trial]
    judged: Samples
    regressors: tuple[Regressor, ...]
    graded: bool


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
    every = Trial(learnt=task.trials["id"].learnt, tested=Samples(PHOTOGRAPHS, np.arange(len(factors))))
    return replace(
        task,
        factors={**task.factors, PHOTOGRAPHS: factors},
        shares={**task.shares, PHOTOGRAPHS: scaled(factors)},
        trials={**task.trials, "ood2_b_real": every},
    )


def _finger_task(dataset: Dataset) -> FactorTask:
    """Every scenario of the study (Section 5); its metrics are of test images like those of the training."""
    labelled = tuple(dict.fromkeys(scenario.labelled for scenario in SCENARIOS.values()))
    tested = tuple(dict.fromkeys(scenario.split for scenario in SCENARIOS.values()))
    if missing := [split for split in (*tested, *labelled) if split not in dataset.splits]:
        raise UserError(
            f"{dataset.path} lacks the split {missing[0]}; simulate it anew, with --test-anchors 2000 --labelled 10000"
        )
    frames = {split: np.arange(len(dataset.frames(split))) for split in tested}
    frames |= {split: np.arange(len(dataset.frames(split)))[:LABELLED] for split in labelled}
    anchor = dataset.frames("train").anchor
    frames["train"] = np.unique(anchor, return_index=True)[1][:LABELLED]  # of each pair one image
    factors = {split: dataset.factors(split)[rows] for split, rows in frames.items()}
    hues = {split: hues_of(values) for split, values in factors.items()}
    trials = {
        name: Trial(
            learnt=Samples(scenario.labelled, _of_hues(hues[scenario.labelled], scenario.learnt)),
            tested=Samples(scenario.split, _of_hues(hues[scenario.split], scenario.tested)),
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
        judged=Samples(LABELLED_SPLIT, frames[LABELLED_SPLIT][:JUDGED]),
        regressors=REGRESSORS,
        graded=True,
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
            name: Trial(
                learnt=Samples("train", np.arange(len(frames["train"]))),
                tested=Samples(split, frames[split]),
            )
            for name, split in splits.items()
        },
        judged=Samples("test-id", frames["test-id"][:JUDGED]),
        regressors=_REPRESENTATIVE,
        graded=False,
    )
