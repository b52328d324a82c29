"""Does it matter that early stopping looked at the anchors whose errors set the width of intervals without a label?

    python benchmarks/conformal.py RUN --fresh DATA [--level 0.9] [--out FILE]

The weights of a fit are those of the training step with the least error on held-out anchors, and half of these anchors
then give the conformal quantiles of |error| / σ.  Chosen on them, the weights may err less there than elsewhere.  DATA
has anchors that the fit never saw (the same setting, another seed): the share of their |error| / σ within the quantiles
is LEVEL if the choice does not matter, and below it if it does.  Errors are the deviations within anchors that the fit
uses itself, so no label is read.  ± is the standard error over fresh anchors.
"""

from pathlib import Path

import numpy as np

from figures import options, publish
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.methods.context import Context
from ropes.methods.held_out import not_learnt_from
from ropes.trust.intervals import intervals_from_held_out
from ropes.trust.stage import error_samples, look_at


def held_shares(folder: Path, dataset: Dataset, level: float) -> dict[str, tuple[float, float]]:
    """Share of fresh |error| / σ within the run's quantiles, and its standard error, by joint.

    Args:
        folder: of the run.
        dataset: whose training split the run has not learnt from.
        level: of the quantiles.

    Raises:
        UserError: the run has learnt from the data set, or knows no errors of its own.
    """
    estimator = Estimator.load(folder, calibrated=False)
    trust = estimator.trust
    intervals = None if trust is None else intervals_from_held_out(trust, level)
    if trust is None or trust.spread is None or intervals is None:
        raise UserError(f"{folder} knows nothing of its errors without labels")
    if not not_learnt_from(estimator.run, dataset).all():
        raise UserError(f"{folder} was fitted on {dataset.path}; give --fresh another data set")
    context = Context(estimator.run, folder, show=True)
    frames = dataset.frames("train")
    cache = ImageCache(dataset, "train", estimator.run.recipe.shape.image_size, progress=True)
    images = TrainingImages(cache, frames, dataset.regimes)
    seen = look_at(context, images)
    samples = error_samples(context, dataset, images, seen)
    if samples is None:
        raise UserError(f"{dataset.path} has no complete anchors")
    within = np.abs(samples) <= intervals.quantile * trust.spread(seen.describing)
    anchors, known = np.unique(images.anchor), np.isfinite(samples)
    found = {}
    for k, joint in enumerate(estimator.run.joints):
        shares = np.array([within[known[:, k] & (images.anchor == one), k].mean() for one in anchors])
        found[joint] = float(shares.mean()), float(shares.std(ddof=1) / np.sqrt(len(shares)))
    return found


def main() -> None:
    """Measure, print and keep the shares."""
    parser = options(__doc__)
    parser.add_argument("run", type=Path, help="folder of a run")
    parser.add_argument("--fresh", type=Path, required=True, help="data set of the same setting and another seed")
    parser.add_argument("--level", type=float, default=0.9, help="of the quantiles")
    arguments = parser.parse_args()
    try:
        found = held_shares(arguments.run, open_dataset(arguments.fresh), arguments.level)
    except UserError as error:
        parser.error(str(error))
    figures = {"level": arguments.level}
    for joint, (share, spread) in found.items():
        figures |= {f"{joint}_share": share, f"{joint}_standard_error": spread}
    publish(figures, arguments.out)


if __name__ == "__main__":
    main()
