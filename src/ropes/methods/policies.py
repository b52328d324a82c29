"""The policies on each joint of a data set: their images, distributions and Bayes floors."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ropes.causal.scm import CausalModel, Regime
from ropes.common.arrays import Ints
from ropes.data.dataset import Dataset
from ropes.data.interventions import single_interventions
from ropes.errors import UserError

if TYPE_CHECKING:  # torch
    from ropes.data.batches import TrainingImages

#: Fewest images under a policy from which its joint can be learnt.
FEWEST_IMAGES = 50


def require_both_policies(dataset: Dataset) -> None:
    """Check that every joint has images under both of its policies.

    Raises:
        UserError: no interventions at all, or a joint with only one.
    """
    if not dataset.joints:
        raise UserError(f"{dataset.path} has no interventions; fitting needs both policies on every joint")
    for joint in dataset.joints:
        for policy in (1, 2):
            if Regime(joint, policy) not in dataset.regimes:
                raise UserError(
                    f"{dataset.path}: joint {joint} has no images under policy {policy}; "
                    "fitting needs both of its interventions"
                )


def require_contrast(dataset: Dataset, *, show: bool = False) -> None:
    """Check that every joint has images under two regimes to contrast, see `second_regime`.

    Args:
        dataset: to fit on.
        show: say on standard error if joints have one intervention each.

    Raises:
        UserError: no interventions at all, or only some joints have two policies.
    """
    if not single_interventions(dataset.regimes):
        require_both_policies(dataset)
    elif show:
        print(
            "ropes: each joint has one intervention, which is contrasted with the images without intervention; "
            "docs/tables.md says what this identifies",
            file=sys.stderr,
        )


def require_policies_in_both(dataset: Dataset, kept: "TrainingImages", held: "TrainingImages") -> None:
    """Check that the training poses and the held-out ones have images under both contrasted regimes of every joint.

    Args:
        dataset: of the images.
        kept: training poses.
        held: held-out poses.

    Raises:
        UserError: one part lacks such a regime, for example because each regime is a recording of its own.
    """
    anchors, out = (len(np.unique(np.concatenate(each))) for each in ((kept.anchor, held.anchor), (held.anchor,)))
    for joint in dataset.joints:
        for regime in (Regime(joint, 1), second_regime(kept.regimes, joint)):
            for part, name in ((kept, "the others"), (held, "the held-out ones")):
                if not (part.trusted_rows().regime == part.regimes.index(regime)).any():
                    raise UserError(
                        f"{dataset.path}: of {anchors} anchors (episodes) {out} are held out, and {name} have no "
                        f"image under {regime.name}; record it in more anchors or episodes, change --val-fraction, or "
                        "fit with --method ldr, which holds out episodes of each regime"
                    )


def warn_of_few_images(poses: Ints, regimes: Sequence[Regime]) -> None:
    """Name the policy with the fewest training poses on standard error if these are fewer than `FEWEST_IMAGES`.

    Args:
        poses: index of each training pose's regime, (n,).
        regimes: the regimes.
    """
    counts = np.bincount(poses, minlength=len(regimes))
    images = {regime: int(n) for regime, n in zip(regimes, counts, strict=True) if regime.joint is not None}
    regime = min(images, key=images.__getitem__)
    if images[regime] < FEWEST_IMAGES:
        few = f"{images[regime]} image{'s' * (images[regime] != 1)} to train on under {regime.name}"
        least = f"from fewer than {FEWEST_IMAGES} under each policy nothing is learnt"
        print(f"ropes: warning: {few}; {least} (ropes inspect)", file=sys.stderr)


def warn_of_bent_moves(dataset: Dataset) -> None:
    """Name on standard error the joints whose coordinate is no straight line along a move.

    The log density ratio of two policies is affine in the angle only if they have one variance and one range.
    """
    model = described_model(dataset)
    known = {} if model is None else model.interventions
    shapes = {
        joint: {(each.variance, each.low, each.high) for each in known.get(joint, ())} for joint in dataset.joints
    }
    if bent := [joint for joint, found in shapes.items() if len(found) > 1]:
        print(
            f"ropes: warning: the two policies on {', '.join(bent)} differ in variance or range, so the coordinate is "
            "no straight line along a move, as the fit assumes; simulate with --frames-per-move 0 (docs/chains.md)",
            file=sys.stderr,
        )


def second_regime(regimes: Sequence[Regime], joint: str) -> Regime:
    """The regime that policy 1 of a joint is contrasted with: its policy 2, or none where joints have one policy each.

    Deviation: data sets with one intervention on each joint are contrasted with the observational regime.  Why: the
    light tunnel's benchmark has no second intervention.  Effect: Theorem 1 holds for joints without parents alone; the
    coordinate of another joint depends on its parents too (docs/tables.md).
    """
    return Regime() if single_interventions(regimes) else Regime(joint, 2)


def described_model(dataset: Dataset) -> CausalModel | None:
    """The causal model of the training split; None if the data set does not describe it.

    Raises:
        UserError: its description is no causal model.
    """
    described = (dataset.provenance or {}).get("setting", {}).get("splits", {}).get("train")
    if not described:
        return None
    try:
        return CausalModel.from_dict(described)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{dataset.path}: meta/ropes.json describes no causal model of the training split ({error}); "
            "correct it, or remove it"
        ) from error


def bayes_floors(dataset: Dataset) -> dict[str, float | None]:
    """The exact Bayes floor of each joint's contrast, nats; None if the data set does not describe its policies.

    Raises:
        UserError: see `described_model`.
    """
    model = described_model(dataset)
    known = {} if model is None or single_interventions(dataset.regimes) else model.interventions
    return {joint: model.bayes_floor(joint) if model and joint in known else None for joint in dataset.joints}
