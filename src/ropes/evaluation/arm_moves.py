"""Compares deltas with joint displacements on an arm, for action embeddings and for estimator coordinates.

The deltas of a joint should have one direction, a length proportional to the displacement, and opposite signs for
opposite motions.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.common.files import nan_to_none, write_arrays
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.errors import UserError
from ropes.evaluation.record import claim_evaluation
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow
from ropes.inference.estimator import Estimator
from ropes.methods.run import read_training, training_seconds, warn_if_other_scene
from ropes.metrics.deltas import action_variance, active_share, mean_cosines, moves, nearest_direction
from ropes.simulation.actions import IID, TRAIN

Displacements = tuple[NDArray[np.str_], Floats]
DELTAS_FILE = "deltas.npz"
_CHUNK = 256


def displacements_of(dataset: Dataset, split: str, verbs: NDArray[np.str_]) -> Displacements | None:
    """The moved joint of each pair and its displacement, signed radians, (n,) each; None if verbs name no joints.

    Args:
        dataset: data set of actions.
        split: name of the split.
        verbs: verbs of its pairs, (n,), as "panda_joint1 up".
    """
    names = dataset.state_names
    if names is None or not all(str(verb).rpartition(" ")[0] in names for verb in verbs):
        return None
    joints = np.array([str(verb).rpartition(" ")[0] for verb in verbs], dtype=np.str_)
    angles = dataset.factors(split)
    places = [names.index(str(joint)) for joint in joints]
    return joints, (angles[1::2] - angles[::2])[np.arange(len(places)), places]


def delta_figures(
    deltas: Floats, verbs: NDArray[np.str_], antonyms: Mapping[str, str], displacements: Displacements | None
) -> dict[str, Any]:
    """The fields of an `ActionRow` that describe the geometry of deltas."""
    return {
        "cosines": mean_cosines(deltas, verbs, antonyms)[1],
        "moves": {} if displacements is None else _moves_by_joint(deltas, *displacements),
        "active": active_share(deltas),
        "variance": action_variance(deltas, verbs),
    }


def _moves_by_joint(
    deltas: Floats, joints: NDArray[np.str_], displacements: Floats
) -> dict[str, dict[str, float | None]]:
    """Joint → figures of `moves`, None where undefined; joints that move in one direction only are left out.

    Pairs in which the joint stands still have no direction and do not count.
    """
    by_joint = {}
    for joint in sorted(set(joints.tolist())):
        rows = (joints == joint) & (displacements != 0)
        if len(np.unique(np.sign(displacements[rows]))) < 2:
            continue
        by_joint[joint] = nan_to_none(moves(deltas[rows], displacements[rows]))
    return by_joint


def delta_norms(deltas: Floats, joints: NDArray[np.str_], displacements: Floats) -> dict[str, NDArray[Any]]:
    """Arrays of the figure of delta norms against displacements (radians)."""
    return {"moved_joints": joints, "moved_by": displacements, "lengths": np.linalg.norm(deltas, axis=1)}


def evaluate_estimator(
    run: Path,
    data: Location,
    out: Path,
    *,
    name: str = "evaluation",
    label: str | None = None,
    precision: RequestedPrecision = "auto",
) -> Results:
    """Evaluate the deltas of a joint-angle estimator: differences of its coordinates.

    Each coordinate's differences are divided by their standard deviation over the training pairs.  The predicted verb
    is that of the nearest mean direction of the training pairs.

    Args:
        run: folder of a run of joint angles.
        data: data set of an arm's actions, rendered from the run's cameras.
        out: folder for `results.json`.
        name: name of the results.
        label: name of the method in the row; the run's method if None.
        precision: precision of inference, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: other cameras, no actions of joints, or a folder with something else.
    """
    began = time.monotonic()
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    cameras, size = estimator.run.cameras, estimator.run.image_size
    if dataset.cameras != cameras or {*dataset.image_shapes, *estimator.run.shapes} != {(size, size)}:
        raise UserError(f"{data} has other images; the run reads {size} px of {', '.join(cameras)}")
    warn_if_other_scene(estimator.run, dataset)
    precisions = precision, estimator.precision
    folder = claim_evaluation(out, run, estimator.run, dataset, label, precisions, began=began, measures="moves")
    pairs = {split: ActionPairs(dataset, split, size, progress=False) for split in (TRAIN, IID)}
    deltas = {split: _differences(each, estimator.coordinates) for split, each in pairs.items()}
    scale = deltas[TRAIN].std(axis=0)
    deltas = {split: each / np.where(scale > 0, scale, 1.0) for split, each in deltas.items()}
    displacements = displacements_of(dataset, IID, pairs[IID].verbs)
    if displacements is None:
        raise UserError(f"{data} has no actions of joints; see ropes simulate --setting arm-actions")
    verbs = {split: each.verbs for split, each in pairs.items()}
    names = tuple(sorted(set(verbs[TRAIN].tolist())))
    predicted = nearest_direction(deltas[TRAIN], encode_labels(verbs[TRAIN], names), deltas[IID])
    correct = predicted == encode_labels(verbs[IID], names)
    row = ActionRow(
        setup=str((dataset.provenance or {}).get("setting", {}).get("name", data.resolve().name)),
        method=folder.fit_row.method,
        seed=estimator.run.seed,
        seconds=training_seconds(read_training(run)),
        accuracy={IID: float(correct.mean())},
        pairs={IID: len(correct)},
        recall={IID: recall_of(correct, verbs[IID])},
        **delta_figures(deltas[IID], verbs[IID], dataset.antonyms, displacements),
    )
    write_arrays(folder.artefacts(row) / DELTAS_FILE, delta_norms(deltas[IID], *displacements))
    return folder.write(name, action_rows=(row,))


def recall_of(correct: NDArray[np.bool_], verbs: NDArray[np.str_]) -> dict[str, float]:
    """Verb → share of its pairs whose prediction is correct."""
    return {verb: float(correct[verbs == verb].mean()) for verb in sorted(set(verbs.tolist()))}


def _differences(pairs: ActionPairs, coordinates: Callable[[NDArray[np.uint8]], Floats]) -> Floats:
    """Coordinates after minus before, (n, d)."""
    images = (pairs.pixels(rows.numpy()) for rows in torch.arange(len(pairs)).split(_CHUNK))
    return np.concatenate([coordinates(chunk[:, 1]) - coordinates(chunk[:, 0]) for chunk in images])
