"""Pictures of an evaluation: occluded test images, reconstructions, interventions."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.common.files import write_arrays
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of
from ropes.methods.uncertainty.coverage import Condition
from ropes.metrics import Evaluation
from ropes.simulation.corruption import Hiding, occlude

#: Test splits in rows → their names in data sets.
SPLITS = {"id": "test-id", "ood": "test-ood"}
_SHOWN_OCCLUSION, _SHOWN = 32, 4
#: Sides of the occlusions in the images of foreign-object detection, pixels.
_FOREIGN_SIZES = (0, 4, 16, 32)
Images = NDArray[np.uint8]


def occluded(images: Images, occlusion: int, seed: int, split: str, hide: Hiding) -> Images:
    """Images (n, cameras, S, S) with an occlusion of this side in each, by the evaluation's seed; unchanged for 0."""
    if not occlusion:
        return images
    return occlude(images, occlusion, generator(seed, "occlusion", split, occlusion), hide)


def write_pictures(
    path: Path, estimator: Estimator, dataset: Dataset, condition: Condition, best: Evaluation, seed: int, hide: Hiding
) -> None:
    """Write the report's pictures: angles of the best repeat, reconstructions, interventions.

    Args:
        path: the .npz file.
        estimator: the evaluated estimator.
        dataset: the data set that it is evaluated on.
        condition: condition of `best`.
        best: the protocol's measurement.
        seed: seed of the evaluation.
        hide: kind of occlusion.
    """
    run = estimator.run
    test = dataset.frames(next(name for name in SPLITS.values() if name in dataset.splits)).index[:_SHOWN]
    original = images_of(run, dataset, test)
    covered = occluded(original, min(_SHOWN_OCCLUSION, run.image_size // 2), seed, "pictures", hide)
    arrays = {
        "joints": np.array(run.joints),
        "cameras": np.array(run.cameras),
        "scatter_estimate": best.best_estimate,
        "scatter_angle": best.best_angle,
        "scatter_mcc": best.best_mcc,
        "scatter_mse": best.best_mse,
        "scatter_split": np.array(condition[0]),
        "scatter_occlusion": np.array(condition[1]),
        **_reconstructions(estimator, "", original),
        **_reconstructions(estimator, "occluded_", covered),
        **_interventions(estimator, dataset),
        **_foreign(estimator, original, seed, hide),
    }
    write_arrays(path, arrays)


def _reconstructions(estimator: Estimator, prefix: str, images: Images) -> dict[str, Any]:
    """Images and their reconstructions by the two autoencoders; empty for a method without them."""
    pair = estimator.reconstructions(images)
    return {} if pair is None else {f"{prefix}original": images, f"{prefix}ae1": pair[0], f"{prefix}ae2": pair[1]}


def _foreign(estimator: Estimator, images: Images, seed: int, hide: Hiding) -> dict[str, Any]:
    """Images with growing occlusions, and where the run detects a foreign object; empty if it detects none.

    "foreign_images" and "foreign_there" (255 at a foreign object), uint8 (k, cameras, S, S) both.
    """
    side = estimator.run.image_size
    sizes = [size for size in _FOREIGN_SIZES if size <= side][: len(images)]
    covered = np.concatenate([occluded(images[k : k + 1], size, seed, "foreign", hide) for k, size in enumerate(sizes)])
    mask = estimator.read(covered).foreign
    if mask is None:
        return {}
    cells = np.arange(side) * mask.shape[-1] // side
    return {"foreign_images": covered, "foreign_there": mask[..., cells[:, None], cells].astype(np.uint8) * 255}


def _interventions(estimator: Estimator, dataset: Dataset) -> dict[str, Any]:
    """Sample images of every regime (Figs. 6 and 7); empty for a data set with test poses only."""
    if "train" not in dataset.splits:
        return {}
    run, frames = estimator.run, dataset.frames("train")
    regimes = [regime for regime in dataset.regimes if regime == Regime() or regime.joint in run.joints]
    samples = [frames.index[frames.regime == dataset.regimes.index(regime)][:_SHOWN] for regime in regimes]
    count = min(len(rows) for rows in samples)
    return {
        "intervention_images": np.stack([images_of(run, dataset, rows[:count]) for rows in samples]),
        "intervention_names": np.array([regime.name for regime in regimes]),
    }
