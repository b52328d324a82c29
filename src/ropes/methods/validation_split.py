"""Which training poses a fit holds out for label-free criteria."""

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data.batches import first_anchors, held_out_anchors
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.run import Run

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def not_learnt_from(run: Run, dataset: Dataset) -> Mask:
    """Frames of a data set's training split that no weight of the run was fitted on, (n,).

    All of them where the run was fitted on another data set; those of its held-out anchors, and of anchors that it
    was told to leave out, otherwise.
    """
    frames = dataset.frames("train")
    if run.data_checksum != dataset.checksum:
        return np.ones(len(frames), dtype=bool)
    recipe = run.recipe
    learnt = first_anchors(frames.anchor, recipe.anchors if isinstance(recipe, EncoderRecipe) else None)
    if len(np.unique(frames.anchor[learnt])) < 2:
        return ~learnt
    anchor, regime = frames.anchor[learnt], frames.regime[learnt]
    if run.method == "ldr":
        held = held_out_by_kind(anchor, regime, recipe.val_fraction, run.seed)
    else:
        held = np.isin(anchor, held_out_anchors(anchor, recipe.val_fraction, run.seed))
    out = ~learnt
    out[np.flatnonzero(learnt)[held]] = True
    return out


def rows_to_label(run: Run, dataset: Dataset, samples: int, seed: int) -> Ints:
    """Which training frames to label for a calibration: (samples,) positions in the training split, sorted.

    Drawn at random from the frames that no weight was fitted on: errors on the others would be too small.  Poses of
    one anchor share all angles but one, so that a pose of every such anchor is drawn before a second one of any.  Of
    each anchor a pose without intervention comes first, where it has any: the images that an estimator is to read later
    are mostly such, and under a policy angles are more extreme, and read worse.

    Args:
        run: that is to be calibrated.
        dataset: with labels; the run's own, or another one.
        samples: how many.
        seed: of the draw.

    Raises:
        UserError: fewer such frames than `samples`.
    """
    frames = dataset.frames("train")
    anchor = frames.anchor
    fresh = np.flatnonzero(not_learnt_from(run, dataset))
    if len(fresh) < samples:
        left = " that the run has not learnt from" if len(fresh) < len(anchor) else ""
        raise UserError(
            f"{dataset.path} has {len(fresh)} training poses{left}, fewer than the {samples} samples asked for; "
            "calibrate on fewer, or on another data set of the same arm and cameras"
        )
    drawn, usual = generator(seed, "calibration").permutation(fresh), without_intervention(dataset)
    drawn = drawn[np.argsort(~usual[drawn], kind="stable")]
    nth = np.empty(len(drawn), dtype=np.int64)  # how many poses of the same anchor were drawn before
    order = np.argsort(anchor[drawn], kind="stable")
    _, first, count = np.unique(anchor[drawn][order], return_index=True, return_counts=True)
    nth[order] = np.arange(len(drawn)) - np.repeat(first, count)
    return np.sort(drawn[np.argsort(nth, kind="stable")[:samples]])


def without_intervention(dataset: Dataset) -> Mask:
    """Frames of a data set's training split that are under no policy, (n,); none where no regime is such."""
    number = dataset.regimes.index(Regime()) if Regime() in dataset.regimes else -1
    return np.asarray(dataset.frames("train").regime == number)


def held_out_by_kind(anchor: Ints, regime: Ints, fraction: float, seed: int) -> Mask:
    """Hold out a share of the anchors that show the same regimes, of each such kind, with all their poses.

    With complete anchors that is a share of the anchors; where each regime was recorded by itself, a share of its own
    recordings.  Anchors unlike any other are shared out together.

    Args:
        anchor: of each pose, (n,).
        regime: of each pose, (n,).
        fraction: share to hold out, in (0, 1); of a kind with several anchors at least one, and at least one is kept.
        seed: which ones.

    Returns:
        (n,), true for what is held out.
    """
    anchors, number = np.unique(anchor, return_inverse=True)
    shown = np.zeros((len(anchors), int(regime.max()) + 1), dtype=bool)
    shown[number, regime] = True
    _, kind, count = np.unique(shown, axis=0, return_inverse=True, return_counts=True)
    kind = np.where(count[kind.ravel()] == 1, -1, kind.ravel())
    out = np.zeros(len(anchors), dtype=bool)
    for each in np.unique(kind):
        members = np.flatnonzero(kind == each)
        share = min(max(1, round(fraction * len(members))), len(members) - 1)
        out[generator(seed, "held-out anchors", int(each)).permutation(members)[:share]] = True
    return np.asarray(out[number])
