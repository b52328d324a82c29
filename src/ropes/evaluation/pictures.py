"""Pictures of an evaluation: occluded test images, reconstructions, interventions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.files import write_arrays
from ropes.data.dataset import Dataset
from ropes.data.views import Views, by_camera, count, joined, squares, take
from ropes.errors import UserError
from ropes.evaluation.flags import occluded
from ropes.inference.estimator import Estimator
from ropes.inference.overlay import Overlay, known_cameras
from ropes.inference.poses import Arm, chosen_arm
from ropes.inference.prediction import images_of
from ropes.methods.run import Run
from ropes.methods.uncertainty.coverage import Condition, ToAngles
from ropes.metrics import Evaluation
from ropes.simulation.corruption import Hiding

#: Test splits in rows → their names in data sets.
SPLITS = {"id": "test-id", "ood": "test-ood"}
_SHOWN_OCCLUSION, _SHOWN = 32, 4
#: Sides of the occlusions in the images of foreign-object detection, pixels.
_FOREIGN_SIZES = (0, 4, 16, 32)
#: Poses of the overlays, and the side of their pictures, pixels.
_OVERLAID, _OVERLAY_SIDE = 2, 256


def write_pictures(
    path: Path,
    estimator: Estimator,
    dataset: Dataset,
    condition: Condition,
    best: Evaluation,
    seed: int,
    hide: Hiding,
    to_angles: Callable[[], ToAngles],
) -> None:
    """Write the report's pictures: angles of the best repeat, overlays, reconstructions, interventions.

    Args:
        path: the .npz file.
        estimator: the evaluated estimator.
        dataset: the data set that it is evaluated on.
        condition: condition of `best`.
        best: the protocol's measurement.
        seed: seed of the evaluation.
        hide: kind of occlusion.
        to_angles: gives the map from coordinates to radians; called only where the arm is drawn.
    """
    run = estimator.run
    test = dataset.frames(next(name for name in SPLITS.values() if name in dataset.splits)).index[:_SHOWN]
    original = images_of(run, dataset, test)
    covered = occluded(original, min(_SHOWN_OCCLUSION, _shortest(run) // 2), seed, "pictures", hide)
    arrays = {
        "joints": np.array(run.joints),
        "cameras": np.array(run.cameras),
        "scatter_estimate": best.best_estimate,
        "scatter_angle": best.best_angle,
        "scatter_mcc": best.best_mcc,
        "scatter_mse": best.best_mse,
        "scatter_split": np.array(condition[0]),
        "scatter_occlusion": np.array(condition[1]),
        **_overlays(estimator, dataset, take(original, slice(_OVERLAID)), to_angles),
        **_reconstructions(estimator, "", original),
        **_reconstructions(estimator, "occluded_", covered),
        **_interventions(estimator, dataset),
        **_foreign(estimator, original, seed, hide),
    }
    write_arrays(path, arrays)


def _shortest(run: Run) -> int:
    """The shortest side of the run's images, pixels."""
    return min(side for shape in run.shapes for side in shape[:2])


def _overlays(
    estimator: Estimator, dataset: Dataset, images: Views, to_angles: Callable[[], ToAngles]
) -> dict[str, Any]:
    """The arm at the estimated angles over images, "overlay_images"; empty if arm or cameras are unknown.

    uint8 (k, cameras, side, side, 3); images that are no squares are letterboxed with black.
    """
    arm, known = _drawable_arm(estimator.run, dataset), known_cameras(estimator.run, dataset)
    if arm is None or set(known) != set(estimator.run.cameras):
        return {}
    overlay = Overlay(arm, estimator.run.cameras, known, _OVERLAY_SIDE)
    angles = to_angles()(estimator.coordinates(images))
    poses = [overlay.draw([camera[k] for camera in by_camera(images)], angles[k]) for k in range(count(images))]
    views = [np.stack(pictures) for pictures in zip(*poses, strict=True)]
    side = min(max(picture.shape[1:3]) for picture in views)
    return {"overlay_images": squares(tuple(views), side)}


def _drawable_arm(run: Run, dataset: Dataset) -> Arm | None:
    """The arm in a data set's images, with its shapes where its URDF file is found; None if it is unknown."""
    try:
        return chosen_arm(run, dataset=dataset)
    except UserError:
        return None


def _reconstructions(estimator: Estimator, prefix: str, images: Views) -> dict[str, Any]:
    """Images and their reconstructions by the two autoencoders; empty for a method without them."""
    pair = estimator.reconstructions(images)
    if pair is None:
        return {}
    return {f"{prefix}original": estimator.shown(images), f"{prefix}ae1": pair[0], f"{prefix}ae2": pair[1]}


def _foreign(estimator: Estimator, images: Views, seed: int, hide: Hiding) -> dict[str, Any]:
    """Images with growing occlusions, and where the run detects a foreign object; empty if it detects none.

    "foreign_images" and "foreign_there" (255 at a foreign object), uint8 (k, cameras, S, S) both; in colour
    "foreign_images" are (k, cameras, S, S, 3).
    """
    sizes = [size for size in _FOREIGN_SIZES if size <= _shortest(estimator.run)][: count(images)]
    poses = [occluded(take(images, slice(k, k + 1)), size, seed, "foreign", hide) for k, size in enumerate(sizes)]
    covered = joined([np.concatenate(parts) for parts in zip(*map(by_camera, poses), strict=True)])
    mask = estimator.read(covered).foreign
    if mask is None:
        return {}
    shown = estimator.shown(covered)
    side = shown.shape[2]
    cells = np.arange(side) * mask.shape[-1] // side
    return {"foreign_images": shown, "foreign_there": mask[..., cells[:, None], cells].astype(np.uint8) * 255}


def _interventions(estimator: Estimator, dataset: Dataset) -> dict[str, Any]:
    """Sample images of every regime (Figs. 6 and 7); empty for a data set with test poses only."""
    if "train" not in dataset.splits:
        return {}
    run, frames = estimator.run, dataset.frames("train")
    regimes = [regime for regime in dataset.regimes if regime == Regime() or regime.joint in run.joints]
    samples = [frames.index[frames.regime == dataset.regimes.index(regime)][:_SHOWN] for regime in regimes]
    least = min(len(rows) for rows in samples)
    return {
        "intervention_images": np.stack([estimator.shown(images_of(run, dataset, rows[:least])) for rows in samples]),
        "intervention_names": np.array([regime.name for regime in regimes]),
    }
