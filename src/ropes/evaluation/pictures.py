"""Pictures of an evaluation: hidden test images, reconstructions, interventions."""

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

#: Splits that are tested, and what data sets call them.
SPLITS = {"id": "test-id", "ood": "test-ood"}
_SHOWN_OCCLUSION, _SHOWN = 32, 4
#: Sides of what hides a part of the images that show where something foreign was found, in pixels.
_FOREIGN_SIZES = (0, 4, 16, 32)
Images = NDArray[np.uint8]


def occluded(images: Images, occlusion: int, seed: int, split: str, hide: Hiding) -> Images:
    """Images (n, cameras, S, S) with a part of each hidden, by the evaluation's seed; as they are for 0 pixels."""
    if not occlusion:
        return images
    return occlude(images, occlusion, generator(seed, "occlusion", split, occlusion), hide)


def write_pictures(
    path: Path, estimator: Estimator, dataset: Dataset, condition: Condition, best: Evaluation, seed: int, hide: Hiding
) -> None:
    """Write what the report shows besides figures: the best repeat's angles, reconstructions, interventions.

    Args:
        path: of the file, .npz.
        estimator: that was measured.
        dataset: that it was measured on.
        condition: that `best` was measured under.
        best: draws of the protocol.
        seed: of the evaluation.
        hide: what hides parts of the pictures that are reconstructed.
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
    """Images and what the two autoencoders make of them, by name; nothing for a method that has none."""
    made = estimator.reconstructions(images)
    if made is None:
        return {}
    return {f"{prefix}original": images, f"{prefix}ae1": made[0], f"{prefix}ae2": made[1]}


def _foreign(estimator: Estimator, images: Images, seed: int, hide: Hiding) -> dict[str, Any]:
    """Images with hidden parts of growing size, and where a run that tells says so; nothing for one that does not.

    "foreign_images" and "foreign_there" (255 where), uint8 (k, cameras, S, S) both.
    """
    side = estimator.run.image_size
    sizes = [size for size in _FOREIGN_SIZES if size <= side][: len(images)]
    shown = [occluded(images[k : k + 1], size, seed, "foreign", hide) for k, size in enumerate(sizes)]
    covered = np.concatenate(shown)
    there = estimator.read(covered).foreign
    if there is None:
        return {}
    cells = np.arange(side) * there.shape[-1] // side
    return {"foreign_images": covered, "foreign_there": there[..., cells[:, None], cells].astype(np.uint8) * 255}


def _interventions(estimator: Estimator, dataset: Dataset) -> dict[str, Any]:
    """Samples of every regime (Figs. 6 and 7); nothing where the data set has only test poses."""
    if "train" not in dataset.splits:
        return {}
    run, frames = estimator.run, dataset.frames("train")
    shown = [regime for regime in dataset.regimes if regime == Regime() or regime.joint in run.joints]
    numbers = [frames.index[frames.regime == dataset.regimes.index(regime)][:_SHOWN] for regime in shown]
    few = min(len(rows) for rows in numbers)
    return {
        "intervention_images": np.stack([images_of(run, dataset, rows[:few]) for rows in numbers]),
        "intervention_names": np.array([regime.name for regime in shown]),
    }
