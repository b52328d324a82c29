"""The validation split: which training poses a fit holds out, and which of them to label for a calibration."""

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Bools, Ints
from ropes.common.seeds import generator
from ropes.data.batches import first_anchors, held_out_anchors
from ropes.data.dataset import Dataset
from ropes.data.held_out import held_out_count
from ropes.errors import UserError
from ropes.methods.recipe import anchors_of
from ropes.methods.run import Run, read_moved_anchors


def held_out_frames(run: Run, dataset: Dataset) -> Bools:
    """Mask of the training frames of a data set that the run was not trained on, (n,).

    These are its held-out anchors and the anchors that its recipe excludes, or all frames of another data set.  Anchors
    that the fit left out because a camera was at another place are none of them: the run cannot read their images.
    """
    frames = dataset.frames("train")
    if run.data_checksum != dataset.checksum:
        return np.ones(len(frames), dtype=bool)
    recipe = run.recipe
    mask, used = ~first_anchors(frames.anchor, anchors_of(recipe)), fitted_frames(run, dataset)
    if len(np.unique(frames.anchor[used])) < 2:
        return mask
    anchor, regime = frames.anchor[used], frames.regime[used]
    if run.method == "ldr":
        held = stratified_held_out(anchor, regime, recipe.val_fraction, run.seed)
    else:
        held = np.isin(anchor, held_out_anchors(anchor, recipe.val_fraction, run.seed))
    mask[np.flatnonzero(used)[held]] = True
    return mask


def fitted_frames(run: Run, dataset: Dataset) -> Bools:
    """Mask of the training frames of the run's own data set that it was fitted on or held out, (n,)."""
    anchor = dataset.frames("train").anchor
    moved = read_moved_anchors(run.folder) if run.folder is not None else []
    return first_anchors(anchor, anchors_of(run.recipe)) & ~np.isin(anchor, moved)


def rows_to_label(run: Run, dataset: Dataset, samples: int, seed: int) -> Ints:
    """Sorted rows of the training frames to label for a calibration, (samples,).

    They are random frames of `held_out_frames`: errors on training poses are too small.  Poses of one anchor share all
    angles but one, so every anchor contributes one pose before any contributes a second.  Poses without intervention
    come first: most images at inference are such, and angles under policies are more extreme, with larger errors.

    Args:
        run: the run to calibrate.
        dataset: with labels; the run's own, or another one.
        samples: number of frames.
        seed: of the draw.

    Raises:
        UserError: fewer such frames than `samples`.
    """
    frames = dataset.frames("train")
    anchor = frames.anchor
    rows = np.flatnonzero(held_out_frames(run, dataset))
    if len(rows) < samples:
        which = " that the run has not learnt from" if len(rows) < len(anchor) else ""
        raise UserError(
            f"{dataset.path} has {len(rows)} training poses{which}, fewer than the {samples} requested samples; "
            "calibrate on fewer, or on another data set of the same arm and cameras"
        )
    rows = generator(seed, "calibration").permutation(rows)
    rows = rows[np.argsort(~without_intervention(dataset)[rows], kind="stable")]
    rank = np.empty(len(rows), dtype=np.int64)  # number of earlier rows of the same anchor
    order = np.argsort(anchor[rows], kind="stable")
    _, first, count = np.unique(anchor[rows][order], return_index=True, return_counts=True)
    rank[order] = np.arange(len(rows)) - np.repeat(first, count)
    return np.sort(rows[np.argsort(rank, kind="stable")[:samples]])


def without_intervention(dataset: Dataset) -> Bools:
    """Mask of the training frames of a data set under the observational regime, (n,)."""
    number = dataset.regimes.index(Regime()) if Regime() in dataset.regimes else -1
    return np.asarray(dataset.frames("train").regime == number)


def stratified_held_out(anchor: Ints, regime: Ints, fraction: float, seed: int) -> Bools:
    """Hold out a share of the anchors, stratified by the set of regimes that they contain.

    With complete anchors this is a share of all anchors; with separate recordings of each regime, a share of each
    regime's recordings.  Anchors whose set of regimes is unique form one stratum.

    Args:
        anchor: of each pose, (n,).
        regime: of each pose, (n,).
        fraction: share to hold out, in (0, 1); of a stratum of several anchors at least one is held out, and one kept.
        seed: of the draw.

    Returns:
        (n,), true for held-out poses.
    """
    anchors, number = np.unique(anchor, return_inverse=True)
    contains = np.zeros((len(anchors), int(regime.max()) + 1), dtype=bool)
    contains[number, regime] = True
    _, kind, count = np.unique(contains, axis=0, return_inverse=True, return_counts=True)
    kind = np.where(count[kind.ravel()] == 1, -1, kind.ravel())
    out = np.zeros(len(anchors), dtype=bool)
    for stratum in np.unique(kind):
        members = np.flatnonzero(kind == stratum)
        size = held_out_count(len(members), fraction)
        out[generator(seed, "held-out anchors", int(stratum)).permutation(members)[:size]] = True
    return np.asarray(out[number])
