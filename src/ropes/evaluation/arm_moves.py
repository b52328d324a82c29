"""Compares deltas with joint displacements on an arm, for action embeddings and for estimator coordinates.

Is the delta of a joint one direction, is its length how far it went, do up and down point opposite ways?
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.files import write_arrays
from ropes.common.hardware import AskedPrecision
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, numbers_of
from ropes.errors import UserError
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.evaluation.results import Results, write_measured
from ropes.evaluation.rows.action import ActionRow
from ropes.inference.estimator import Estimator
from ropes.methods.run import read_training, training_seconds, warn_of_scene
from ropes.metrics.deltas import action_variance, active_share, mean_cosines, moves, nearest_direction
from ropes.simulation.actions import IID, TRAIN

Floats = NDArray[np.float64]
DELTAS_FILE = "deltas.npz"
_CHUNK = 256


def steps_of(dataset: Dataset, split: str, verbs: NDArray[np.str_]) -> tuple[NDArray[np.str_], Floats] | None:
    """The joint that moved in each pair, and how far, signed radians, (n,) each; None where verbs are none of joints.

    Args:
        dataset: of actions.
        split: name of the split.
        verbs: of its pairs, (n,), as "panda_joint1 up".
    """
    names = dataset.state_names
    if names is None or not all(str(verb).rpartition(" ")[0] in names for verb in verbs):
        return None
    joints = np.array([str(verb).rpartition(" ")[0] for verb in verbs], dtype=np.str_)
    angles = dataset.factors(split)
    places = [names.index(str(joint)) for joint in joints]
    return joints, (angles[1::2] - angles[::2])[np.arange(len(places)), places]


def moves_of(deltas: Floats, joints: NDArray[np.str_], steps: Floats) -> dict[str, dict[str, float | None]]:
    """Joint → what its deltas say, None where it is not defined; joints that went one way alone are left out."""
    found = {}
    for joint in sorted(set(joints.tolist())):
        chosen = joints == joint
        if len(np.unique(np.sign(steps[chosen]))) < 2:
            continue
        told = moves(deltas[chosen], steps[chosen])
        found[joint] = {name: None if np.isnan(value) else value for name, value in told.items()}
    return found


def evaluate_estimator(
    run: Path,
    data: Path,
    out: Path,
    *,
    name: str = "evaluation",
    label: str | None = None,
    precision: AskedPrecision = "auto",
) -> Results:
    """The same questions to an estimator of joint angles: its delta is the difference of its coordinates.

    What was done is told by the nearest mean direction of training pairs.

    Args:
        run: folder of a run of joint angles.
        data: data set of an arm's actions, filmed by the run's cameras.
        out: folder for `results.json`.
        name: of the results.
        label: what the row calls the method; its own name where None.
        precision: that pairs are read in, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: other cameras, no actions of joints, or a folder with something else.
    """
    began = time.monotonic()
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    found = estimator.run
    if dataset.cameras != found.cameras or dataset.image_size[0] != found.image_size:
        raise UserError(f"{data} has other images; the run reads {found.image_size} px of {', '.join(found.cameras)}")
    warn_of_scene(found, dataset)
    precisions = precision, estimator.precision
    fitted = claim_evaluation(out, run, found, dataset, label or found.method, precisions, measures="moves")
    pairs = {split: ActionPairs(dataset, split, found.image_size, progress=False) for split in (TRAIN, IID)}
    deltas = {split: _differences(own, estimator.coordinates) for split, own in pairs.items()}
    scale = deltas[TRAIN].std(axis=0)
    deltas = {split: own / np.where(scale > 0, scale, 1.0) for split, own in deltas.items()}
    asked = steps_of(dataset, IID, pairs[IID].verbs)
    if asked is None:
        raise UserError(f"{data} has no actions of joints; see ropes simulate --setting arm-actions")
    row = moves_row(
        deltas,
        {split: own.verbs for split, own in pairs.items()},
        asked,
        dataset.antonyms,
        setup=str((dataset.provenance or {}).get("setting", {}).get("name", data.resolve().name)),
        method=label or found.method,
        seed=found.seed,
        seconds=training_seconds(read_training(run)),
    )
    path = out / ARTEFACTS / row.setup / row.method / f"seed-{row.seed}" / DELTAS_FILE
    write_arrays(path, lengths_of(deltas[IID], *asked))
    return write_measured(out / RESULTS_FILE, name, found.recipe.preset, began, action_rows=(row,), fit_rows=(fitted,))


def lengths_of(deltas: Floats, joints: NDArray[np.str_], steps: Floats) -> dict[str, NDArray[Any]]:
    """What the figure of lengths against distances needs: the joint, its step (radians), and the delta's length."""
    return {"moved_joints": joints, "moved_by": steps, "lengths": np.linalg.norm(deltas, axis=1)}


def moves_row(
    deltas: Mapping[str, Floats],
    verbs: Mapping[str, NDArray[np.str_]],
    asked: tuple[NDArray[np.str_], Floats],
    antonyms: Mapping[str, str],
    *,
    setup: str,
    method: str,
    seed: int,
    seconds: float,
) -> ActionRow:
    """The row of deltas that no classifier was trained on: split → deltas (n, l), and verbs (n,)."""
    known = tuple(sorted(set(verbs[TRAIN].tolist())))
    told = nearest_direction(deltas[TRAIN], numbers_of(verbs[TRAIN], known), deltas[IID])
    right = told == numbers_of(verbs[IID], known)
    recall = {verb: float(right[verbs[IID] == verb].mean()) for verb in sorted(set(verbs[IID].tolist()))}
    return ActionRow(
        setup=setup,
        method=method,
        seed=seed,
        seconds=seconds,
        accuracy={IID: float(right.mean())},
        pairs={IID: len(right)},
        recall={IID: recall},
        cosines=mean_cosines(deltas[IID], verbs[IID], antonyms)[1],
        moves=moves_of(deltas[IID], *asked),
        active=active_share(deltas[IID]),
        variance=action_variance(deltas[IID], verbs[IID]),
    )


def _differences(pairs: ActionPairs, coordinates: Callable[[NDArray[np.uint8]], Floats]) -> Floats:
    """Coordinates after minus before, (n, d)."""
    parts = []
    for first in range(0, len(pairs), _CHUNK):
        images = pairs.pixels(np.arange(first, min(first + _CHUNK, len(pairs))))
        parts.append(coordinates(images[:, 1]) - coordinates(images[:, 0]))
    return np.concatenate(parts)
