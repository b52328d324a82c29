"""Train and test samples of factor regressors: the scenarios of finger-cube, MPI3D's splits, or an arm's."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats, Ints
from ropes.data.dataset import Dataset
from ropes.data.mpi3d import CATEGORIES
from ropes.errors import UserError
from ropes.evaluation.pictures import SPLITS
from ropes.methods.policies import described_model
from ropes.metrics.disentanglement.samples import BINS
from ropes.metrics.transfer import REGRESSORS, Regressor
from ropes.simulation.finger_setting import HUE, LABELLED_SPLIT, NAMES, SCENARIOS, hues_of, scaled
from ropes.simulation.settings import FINGER_CUBE, MPI3D_FACTORS

#: Largest number of training samples of a regressor, and of training images whose latents standardise all latents.
LABELLED = 10_000
#: Number of held-out images whose ELBO and reconstruction loss are measured, the same ones for every model.
JUDGED = 5_000
#: Regressors of an arm.
_ARM_REGRESSORS: tuple[Regressor, ...] = ("trees", "mlp")
#: Takes the place of a split.
PHOTOGRAPHS = "photographs"


class Samples(NamedTuple):
    """Some rows among the encoded images of a split."""

    split: str
    rows: Ints


@dataclass(frozen=True, kw_only=True)
class TransferScenario:
    """The samples on which regressors are fitted, and those on which they are tested.

    Attributes:
        train, test: the samples.
        shifted: the factor that shifts, whose error no transfer score counts; None if none does.
    """

    train: Samples
    test: Samples
    shifted: str | None = None


@dataclass(frozen=True, kw_only=True)
class FactorTask:
    """The factors of a data set, and the samples on which latents are evaluated.

    Attributes:
        names: names of the factors.
        frames: split → rows of the data set's split that are encoded; the latents of "train" standardise all latents.
        factors: split → factors of these rows, (n, f).
        scaled: split → the same, scaled to [0, 1] by their ranges.
        categorical: columns of the categorical factors.
        unordered: those of them whose numbers say nothing.  MCC matches latents to them as to classes and leaves them
            out of its mean; T-MEX matches in the same way.
        factor_bins: bins of factors with more values, in MIG, modularity and InfoMEC; None if each value is a class.
        complete: whether every combination of the factors' values exists.
        scenarios: name → scenario.
        held_out: images outside of the training set, on which the ELBO is measured.
        regressors: kinds of regressors to fit.
        discrete: whether every factor takes few values, so that a classifier can predict it.
    """

    names: tuple[str, ...]
    frames: Mapping[str, Ints]
    factors: Mapping[str, Floats]
    scaled: Mapping[str, Floats]
    categorical: tuple[int, ...]
    unordered: tuple[int, ...]
    factor_bins: int | None
    complete: bool
    scenarios: Mapping[str, TransferScenario]
    held_out: Samples
    regressors: tuple[Regressor, ...]
    discrete: bool


def factor_task(dataset: Dataset) -> FactorTask:
    """The task of a data set: finger-cube's if it has its factors, MPI3D's for its pairs, otherwise an arm's.

    Raises:
        UserError: no angles, a missing split, no policy without intervention, or no sample of a hue.
    """
    name = (dataset.provenance or {}).get("setting", {}).get("name")
    if name == MPI3D_FACTORS:
        return _grid_task(dataset)
    return _finger_task(dataset) if name == FINGER_CUBE or dataset.state_names == NAMES else _arm_task(dataset)


def with_photographs(task: FactorTask, factors: Floats) -> FactorTask:
    """The task with real photographs as a further domain (OOD2-B), from their factors (n, 7).

    Raises:
        UserError: the task is not finger-cube's.
    """
    if task.names != NAMES:
        raise UserError("photographs are of finger and cube; give data of finger-cube")
    photographs = Samples(PHOTOGRAPHS, np.arange(len(factors)))
    return replace(
        task,
        factors={**task.factors, PHOTOGRAPHS: factors},
        scaled={**task.scaled, PHOTOGRAPHS: scaled(factors)},
        scenarios={
            **task.scenarios,
            "ood2_b_real": TransferScenario(train=task.scenarios["id"].train, test=photographs),
        },
    )


def _finger_task(dataset: Dataset) -> FactorTask:
    """All scenarios of the study (Section 5); metrics are measured on test images in distribution."""
    labelled = tuple(dict.fromkeys(scenario.labelled for scenario in SCENARIOS.values()))
    tested = tuple(dict.fromkeys(scenario.split for scenario in SCENARIOS.values()))
    if missing := [split for split in (*tested, *labelled) if split not in dataset.splits]:
        raise UserError(
            f"{dataset.path} lacks the split {missing[0]}; simulate the data set again with --test-anchors 2000 "
            "--labelled 10000"
        )
    frames = {split: np.arange(len(dataset.frames(split))) for split in tested}
    frames |= {split: np.arange(len(dataset.frames(split)))[:LABELLED] for split in labelled}
    anchor = dataset.frames("train").anchor
    frames["train"] = np.unique(anchor, return_index=True)[1][:LABELLED]  # one image of each pair
    factors = {split: dataset.factors(split)[rows] for split, rows in frames.items()}
    hues = {split: hues_of(values) for split, values in factors.items()}
    scenarios = {
        name: TransferScenario(
            train=Samples(scenario.labelled, _of_hues(hues[scenario.labelled], scenario.learnt)),
            test=Samples(scenario.split, _of_hues(hues[scenario.split], scenario.tested)),
            shifted=None if scenario.learnt == scenario.tested else NAMES[HUE],
        )
        for name, scenario in SCENARIOS.items()
    }
    return FactorTask(
        names=NAMES,
        frames=frames,
        factors=factors,
        scaled={split: scaled(values) for split, values in factors.items()},
        categorical=(HUE,),
        unordered=(),  # hues are angles; so were the published figures measured
        factor_bins=BINS,  # likewise
        complete=False,
        scenarios=scenarios,
        held_out=Samples(LABELLED_SPLIT, frames[LABELLED_SPLIT][:JUDGED]),
        regressors=REGRESSORS,
        discrete=True,
    )


def _of_hues(hues: Ints, allowed: tuple[int, ...]) -> Ints:
    """The rows with one of these hues; there must be some."""
    rows = np.flatnonzero(np.isin(hues, allowed))
    if not len(rows):
        raise UserError(f"no sample has one of the hues {', '.join(map(str, allowed))}; simulate more")
    return rows


def _grid_task(dataset: Dataset) -> FactorTask:
    """MPI3D's factors: regressors are fitted on the split labelled and tested on the split test-id.

    Colours, shapes and backgrounds are categories; sizes, camera heights and positions of the axes have an order.
    """
    splits = ("test-id", LABELLED_SPLIT)
    if missing := [split for split in splits if split not in dataset.splits]:
        raise UserError(f"{dataset.path} lacks the split {missing[0]}; import it with --test-anchors and --labelled")
    frames = {split: np.arange(len(dataset.frames(split)))[:LABELLED] for split in splits}
    frames["train"] = np.unique(dataset.frames("train").anchor, return_index=True)[1][:LABELLED]  # one of each pair
    factors = {split: dataset.factors(split)[rows] for split, rows in frames.items()}
    names = dataset.state_names or ()
    categories = tuple(k for k, name in enumerate(names) if name in CATEGORIES)
    return FactorTask(
        names=names,
        frames=frames,
        factors=factors,
        scaled=_scaled(factors),
        categorical=categories,
        unordered=categories,
        factor_bins=None,
        complete=True,
        scenarios={
            "id": TransferScenario(
                train=Samples(LABELLED_SPLIT, frames[LABELLED_SPLIT]), test=Samples("test-id", frames["test-id"])
            )
        },
        held_out=Samples(LABELLED_SPLIT, frames[LABELLED_SPLIT][:JUDGED]),
        regressors=_ARM_REGRESSORS,
        discrete=True,
    )


def _scaled(factors: Mapping[str, Floats]) -> dict[str, Floats]:
    """Factors scaled to [0, 1] by the range of all splits."""
    values = np.concatenate(list(factors.values()))
    low, span = values.min(axis=0), np.ptp(values, axis=0)
    return {split: (each - low) / np.where(span > 0, span, 1.0) for split, each in factors.items()}


def _arm_task(dataset: Dataset) -> FactorTask:
    """Joint angles: regressors are fitted on observational poses and tested on those of the test splits.

    Factors are scaled by the range of all these poses.  Where joints cause one another, not every combination of angles
    exists.
    """
    splits = {name: split for name, split in SPLITS.items() if split in dataset.splits}
    if "id" not in splits:
        raise UserError(f"{dataset.path} has no split test-id; simulate it with --test-anchors 2000")
    if Regime() not in dataset.regimes:
        raise UserError(f"{dataset.path} has no policy without intervention, whose poses regressors learn from")
    observational = dataset.frames("train").regime == dataset.regimes.index(Regime())
    frames = {"train": np.flatnonzero(observational)[:LABELLED]}
    frames |= {split: np.arange(len(dataset.frames(split))) for split in splits.values()}
    factors = {split: dataset.states(split)[rows] for split, rows in frames.items()}
    model = described_model(dataset)
    train = Samples("train", np.arange(len(frames["train"])))
    return FactorTask(
        names=dataset.labelled_joints,
        frames=frames,
        factors=factors,
        scaled=_scaled(factors),
        categorical=(),
        unordered=(),
        factor_bins=BINS,
        complete=model is None or not model.weights,
        scenarios={
            name: TransferScenario(train=train, test=Samples(split, frames[split])) for name, split in splits.items()
        },
        held_out=Samples("test-id", frames["test-id"][:JUDGED]),
        regressors=_ARM_REGRESSORS,
        discrete=False,
    )
