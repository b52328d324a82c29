"""Reads a run's artefacts for the report; missing ones are None."""

import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation.rows.joint import SPLITS, Row
from ropes.evaluation.rows.schema import MeasuredRow
from ropes.report.graph import read_graph
from ropes.report.words import FITTED, capitalised

#: Arrays that belong together, with the number of axes of each.
_GROUPS: dict[str, dict[str, int]] = {
    "scatter": {"scatter_estimate": 2, "scatter_angle": 2, "scatter_mcc": 1, "scatter_mse": 1},
    "reconstructions": {"original": 4, "ae1": 4, "ae2": 4},
    "occluded": {"occluded_original": 4, "occluded_ae1": 4, "occluded_ae2": 4},
    "interventions": {"intervention_images": 5, "intervention_names": 1},
    "foreign": {"foreign_images": 4, "foreign_there": 4},
    "overlays": {"overlay_images": 4},
}
#: Of these the images, grey; in colour they have one axis more.
_IMAGES = {name: axes for group in _GROUPS.values() for name, axes in group.items() if axes > 3}


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The arrays of evaluation.npz; a group that was not recorded is None.

    Attributes:
        joints: (d,) URDF names.
        cameras: (c,) names.
        scatter: "scatter_estimate", "scatter_angle" (d, n), radians; "scatter_mcc", "scatter_mse" (d,), rad².
        reconstructions: "original", "ae1", "ae2": uint8 (k, cameras, H, W); all images in colour have a last axis of 3.
        occluded: the same with "occluded_" before each name, with white squares in the inputs.
        interventions: "intervention_images" uint8 (regimes, k, cameras, H, W), "intervention_names" beside.
        foreign: "foreign_images" with hidden parts, "foreign_there", 255 where the estimator detects a foreign object,
            both uint8 (k, cameras, H, W).
        overlays: "overlay_images" in colour, uint8 (k, cameras, H, W, 3): the arm at the estimated angles over images.
        scatter_split: split of the scatter's test poses, "id" or "ood"; None where it was not recorded.
        scatter_occlusion: side of the white squares in their images, pixels; None where it was not recorded.
    """

    joints: tuple[str, ...]
    cameras: tuple[str, ...]
    scatter: Mapping[str, NDArray[Any]] | None
    reconstructions: Mapping[str, NDArray[Any]] | None
    occluded: Mapping[str, NDArray[Any]] | None
    interventions: Mapping[str, NDArray[Any]] | None
    foreign: Mapping[str, NDArray[Any]] | None = None
    overlays: Mapping[str, NDArray[Any]] | None = None
    scatter_split: str | None = None
    scatter_occlusion: int | None = None


@dataclass(frozen=True, kw_only=True)
class Artefacts:
    """Artefacts of one method in one setup: evaluation.npz, training.json and graph.json, each None if it is absent."""

    setup: str
    method: str
    evaluation: Evaluation | None = None
    training: Mapping[str, Any] | None = None
    graph: Mapping[str, Any] | None = None


def load(folder: Path, wanted: Collection[tuple[str, str]] | None = None) -> tuple[Artefacts, ...]:
    """Read `folder`/artefacts/SETUP/METHOD/… of every setup and method, sorted by name.

    Args:
        folder: of the results.
        wanted: setups and methods to read; all for None.

    Raises:
        UserError: a file is damaged, or its arrays do not fit together.
    """
    return tuple(
        Artefacts(
            setup=place.parent.name,
            method=place.name,
            evaluation=_evaluation(place / "evaluation.npz"),
            training=_training(place / "training.json"),
            graph=read_graph(place / "graph.json"),
        )
        for place in sorted(folder.glob("artefacts/*/*"))
        if place.is_dir() and (wanted is None or (place.parent.name, place.name) in wanted)
    )


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """The arrays of an npz file; None without the file.

    Raises:
        UserError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        # numpy does not close a damaged archive that it opened itself.
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("one array instead of an archive of several")
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} cannot be read ({error}); run the evaluation again") from error


def arrays_of_seed(folder: Path, row: MeasuredRow, file: str) -> dict[str, NDArray[Any]] | None:
    """The arrays of `folder`/artefacts/SETUP/METHOD/seed-SEED/`file`; None without the file.

    Raises:
        UserError: the file is damaged.
    """
    return read_arrays(folder / "artefacts" / row.setup / row.method / f"seed-{row.seed}" / file)


def _evaluation(path: Path) -> Evaluation | None:
    arrays = read_arrays(path)
    if arrays is None:
        return None
    groups = {name: _group(path, arrays, wanted) for name, wanted in _GROUPS.items()}
    for needed in ("joints", "cameras"):
        if needed not in arrays:
            raise UserError(f"{path} has no array {needed}; run the evaluation again")
    joints, cameras = (tuple(map(str, arrays[key])) for key in ("joints", "cameras"))
    for name in _GROUPS["scatter"]:
        if groups["scatter"] and len(arrays[name]) != len(joints):
            raise UserError(f"{path}: {name} has {len(arrays[name])} rows for {len(joints)} joints")
    for name, axes in _IMAGES.items():
        if name in arrays and (arrays[name].dtype != np.uint8 or arrays[name].shape[axes - 3] != len(cameras)):
            raise UserError(f"{path}: {name} must be uint8 images of {len(cameras)} cameras, got {arrays[name].shape}")
    split, occlusion = (_one(path, arrays, name) for name in ("scatter_split", "scatter_occlusion"))
    if split not in (None, *SPLITS):
        raise UserError(f"{path}: scatter_split must be one of {', '.join(SPLITS)}, got {split!r}")
    if occlusion is not None and (not isinstance(occlusion, int) or occlusion < 0):
        raise UserError(f"{path}: scatter_occlusion must be a whole number of at least 0, got {occlusion!r}")
    return Evaluation(joints=joints, cameras=cameras, scatter_split=split, scatter_occlusion=occlusion, **groups)


def _one(path: Path, arrays: Mapping[str, NDArray[Any]], name: str) -> Any:
    """The only value of an array; None without the array."""
    if name not in arrays:
        return None
    if arrays[name].size != 1:
        raise UserError(f"{path}: {name} must be one value, got shape {arrays[name].shape}")
    return arrays[name].item()


def scatter_condition(evaluation: Evaluation, rows: Sequence[Row]) -> str:
    """Split and white squares of a scatter's images, and its map to radians, in words.

    Evaluations of older versions recorded neither; they took the split in distribution if there was one.

    Args:
        evaluation: with the scatter.
        rows: of the same setup and method.
    """
    split, occlusion = evaluation.scatter_split, evaluation.scatter_occlusion
    if split is None and any((row.split, row.occlusion) == ("id", 0) for row in rows):
        split = "id"
    parts = [{"id": "in distribution", "ood": "shifted poses"}[split]] if split else []
    if occlusion is not None:
        parts.append(f"{occlusion} px squares" if occlusion else "without squares")
    if rows and all(row.label_share is None for row in rows):
        parts.append(FITTED)
    return capitalised(", ".join(parts)) if parts else ""


def _group(path: Path, arrays: Mapping[str, NDArray[Any]], wanted: Mapping[str, int]) -> dict[str, NDArray[Any]] | None:
    found = {name: arrays[name] for name in wanted if name in arrays}
    if not found:
        return None
    for name, axes in wanted.items():
        if name not in found:
            raise UserError(f"{path} has {next(iter(found))} but no {name}; run the evaluation again")
        in_colour = name in _IMAGES and found[name].ndim == axes + 1 and found[name].shape[-1] == 3
        if found[name].ndim != axes and not in_colour:
            raise UserError(f"{path}: {name} must have {axes} axes, got shape {found[name].shape}")
    lengths = {found[name].shape[0] for name in wanted}
    if len(lengths) > 1:
        raise UserError(f"{path}: {', '.join(wanted)} differ in length: {sorted(lengths)}")
    return found


def _training(path: Path) -> Mapping[str, Any] | None:
    if not path.exists():
        return None
    content = files.read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("stages"), dict):
        raise UserError(f'{path} has no "stages"; run the training again')
    for stage, curves in content["stages"].items():
        if not isinstance(curves, dict):
            raise UserError(f"{path}: stages.{stage} must be curves by name, got {curves!r}")
        networks = curves if all(isinstance(curve, dict) for curve in curves.values()) else {"": curves}
        for label, curve in networks.items():
            steps = len(curve["steps"]) if isinstance(curve.get("steps"), list) else 0
            for name, values in curve.items():
                # A curve may be empty, but not of another length.
                if isinstance(values, list) and len(values) not in (0, steps):
                    where = ".".join(filter(None, ("stages", stage, label, name)))
                    raise UserError(f"{path}: {where} has {len(values)} values for {steps} steps")
    return content
