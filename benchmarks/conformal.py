"""Tests whether early stopping on held-out anchors makes intervals without labels too narrow.

    python -m benchmarks.conformal RUN --data DATA --fresh DATA [--level 0.9] [--out FILE]

A fit keeps the weights with the smallest error on its held-out anchors. The same anchors give the conformal quantiles
of |error| / σ. The selection may make errors on these anchors smaller than elsewhere. The fresh data set contains other
anchors (the same setting, another seed). If the selection does not matter, the share of their |error| / σ within the
quantiles is LEVEL; otherwise it is smaller. Errors are deviations within anchors, which need no label. Those of fresh
anchors are enlarged like those of held-out anchors, so that both have the same unit. The standard error is over fresh
anchors.
"""

from pathlib import Path

import numpy as np

from benchmarks.figures import options, publish
from ropes.common.arrays import Floats
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.context import Context
from ropes.methods.run import Run
from ropes.methods.training.validation_split import held_out_frames
from ropes.methods.uncertainty.conformal import intervals_from_held_out
from ropes.methods.uncertainty.fit import error_samples, features_of
from ropes.methods.uncertainty.model import ImageFeatures


def held_shares(folder: Path, learnt: Dataset, fresh: Dataset, level: float) -> dict[str, tuple[float, float]]:
    """Share of fresh |error| / σ within the run's quantiles, and its standard error, by joint.

    Args:
        folder: of the run.
        learnt: data set that the run was fitted on.
        fresh: whose training split the run has not learnt from.
        level: of the quantiles.

    Raises:
        UserError: the data sets are not such, or the run knows no errors of its own.
    """
    estimator = Estimator.load(folder, calibrated=False)
    run, trust = estimator.run, estimator.trust
    intervals = None if trust is None else intervals_from_held_out(trust, level)
    if trust is None or trust.variance is None or intervals is None:
        raise UserError(f"{folder} knows nothing of its errors without labels")
    if not held_out_frames(run, fresh).all():
        raise UserError(f"{folder} was fitted on {fresh.path}; give --fresh another data set")
    if run.data_checksum != learnt.checksum:
        raise UserError(f"{folder} was not fitted on {learnt.path}; give --data the data set that it was fitted on")
    _, enlarged, _, _ = _deviations(folder, run, learnt)
    samples, _, images, seen = _deviations(folder, run, fresh)
    within = np.abs(enlarged * samples) <= intervals.quantile * trust.variance(seen.variance_inputs)
    anchors, known = np.unique(images.anchor), np.isfinite(samples)
    found = {}
    for k, joint in enumerate(estimator.run.joints):
        shares = np.array([within[known[:, k] & (images.anchor == one), k].mean() for one in anchors])
        found[joint] = float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(shares)))
    return found


def _deviations(folder: Path, run: Run, dataset: Dataset) -> tuple[Floats, Floats, TrainingImages, ImageFeatures]:
    """Deviations within the anchors that the run has not learnt from, what enlarges them, and the images."""
    context = Context(run, folder, show=True)
    cache = ImageCache(dataset, "train", run.recipe.shape.image_size, progress=True)
    every = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    images = every.take(np.flatnonzero(held_out_frames(run, dataset)))
    seen = features_of(context, images)
    found = error_samples(context, dataset, images, seen)
    if found is None:
        raise UserError(f"{dataset.path} has no complete anchors")
    return *found, images, seen


def main() -> None:
    """Measure, print and keep the shares."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--data", type=Path, required=True, help="data set that it was fitted on")
    parser.add_argument("--fresh", type=Path, required=True, help="data set of the same setting and another seed")
    parser.add_argument("--level", type=float, default=0.9, help="nominal coverage of the quantiles")
    arguments = parser.parse_args()
    try:
        learnt, fresh = open_dataset(arguments.data), open_dataset(arguments.fresh)
        found = held_shares(arguments.run, learnt, fresh, arguments.level)
    except UserError as error:
        parser.error(str(error))
    figures = {"level": arguments.level}
    for joint, (share, spread) in found.items():
        figures |= {f"{joint}_share": share, f"{joint}_standard_error": spread}
    publish(figures, arguments.out)


if __name__ == "__main__":
    main()
