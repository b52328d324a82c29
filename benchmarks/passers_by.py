"""Measures what passers-by cost an estimator of recorded frames, and what its cleaner removes of them and of the arm.

    python -m benchmarks.passers_by RUN --data WEBCAM --clean CLEAN [--poses 1600] [--out FILE] [--page]

RUN is a run of WEBCAM, a data set simulated with the faults of cameras; CLEAN has the same poses without them, as
`ropes reproduce cameras` simulates both. The faults are laid over the clean renderings again, with the same noise and
light, but without passers-by. Errors are those of a line that is fitted on half of the test poses, on the other half.
--page writes the tables of docs/cameras.md.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.figures import described, keep, options, origin, table
from ropes.common.arrays import Floats, Images, evenly
from ropes.common.files import read_json
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.origin import camera_level_of
from ropes.data.views import by_camera, read_views
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.run import TRAINING_FILE
from ropes.methods.training.registration import read_registration
from ropes.metrics.calibration import linear_calibration
from ropes.models.frame_changes import levels_of
from ropes.models.registration import Registration
from ropes.models.registry import find_run
from ropes.report.words import rms
from ropes.simulation.camera_levels import require_level
from ropes.simulation.camera_model import CameraModel

PAGE = Path(__file__).parents[1] / "docs" / "cameras.md"
#: A view has a passer-by if more of its pixels than this share differ by more than so many levels from those without.
_SHARE, _LEVELS = 0.002, 16
#: Least share of views that nobody passes.
_SAME = 0.3
#: A registered pixel shows the arm or something else if it differs by more levels from the background.
_CHANGED = 8
#: Training poses for the table of the cleaner.
_TRAINING = 800


def alone(dataset: Dataset, clean: Dataset, split: str, numbers: NDArray[np.int64]) -> tuple[Images, Images]:
    """Frames of a recording as they are, and without passers-by: uint8 (n, cameras, H, W) each.

    Args:
        dataset: simulated with faults of cameras.
        clean: the same poses without them.
        split: name of the split, which is one recording.
        numbers: of its frames, (n,).

    Raises:
        UserError: the data sets are not of the same poses and seed, frames without passers-by differ, or images are in
            colour, of several sizes, or may show people before the arm.
    """
    provenance, level = dataset.provenance or {}, camera_level_of(dataset)
    if level in (None, "clean") or camera_level_of(clean) != "clean":
        raise UserError(f"{dataset.path} must have faults of cameras, and {clean.path} none")
    assert level is not None
    if require_level(level).occluders.in_front:
        raise UserError(f"level {level} has people before the arm, who cannot be left out; take webcam")
    if len(dataset.image_shape) > 2:
        raise UserError(f"{dataset.path} has images in colour; simulate grey ones")
    rows, same = dataset.frames(split).index, clean.frames(split).index
    if not np.array_equal(dataset.states(split), clean.states(split)):
        raise UserError(f"{clean.path} has other poses than {dataset.path}")
    recorded, rendered = (
        np.stack(by_camera(read_views(each, index[numbers], dataset.cameras)), axis=1)
        for each, index in ((dataset, rows), (clean, same))
    )
    without = np.empty_like(recorded)
    for view, camera in enumerate(dataset.cameras):
        model = CameraModel(
            level, recorded.shape[2:], len(rows), seed=provenance["seed"], camera=camera, recording=split
        )
        without[:, view] = [model(image, number) for image, number in zip(rendered[:, view], numbers, strict=True)]
    if (recorded == without).all((2, 3)).mean() < _SAME:
        raise UserError(f"most frames of {split} differ from {clean.path} with its faults; are the seeds the same?")
    return recorded, without


def visited(recorded: Images, without: Images) -> NDArray[np.bool_]:
    """Which views show a passer-by, bool (n, cameras); see `alone`."""
    differs = np.abs(recorded.astype(np.int16) - without) > _LEVELS
    return np.asarray(differs.mean((2, 3)) > _SHARE)


def errors(estimator: Estimator, recorded: Images, without: Images, truth: Floats) -> list[dict[str, Any]]:
    """Squared errors of frames with and without passers-by, for all poses, those with a passer-by, and the others."""
    half, passing = len(truth) // 2, np.logical_or.reduce(visited(recorded, without), axis=1)
    groups: dict[str, NDArray[np.bool_]] = {
        "all": np.ones(len(truth), dtype=bool),
        "a passer-by": passing,
        "nobody": ~passing,
    }
    rows = []
    for shown, images in (("as recorded", recorded), ("without passers-by", without)):
        coordinates = estimator.coordinates(images)
        slope, intercept = linear_calibration(coordinates[:half], truth[:half])
        error = (slope * coordinates[half:] + intercept - truth[half:]) ** 2
        for poses, chosen in groups.items():
            mse = error[chosen[half:]].mean(0).tolist()
            rows.append({"frames": shown, "poses": poses, "n": int(chosen[half:].sum()), "mse": mse})
    return rows


def cleaner_shares(registration: Registration, recorded: Images, without: Images) -> list[dict[str, Any]]:
    """What registration and cleaner leave, for views with a passer-by and others, as shares of the arm's area.

    `lost` of the arm's pixels show the background; `left` is the area of what is neither arm nor background.
    """
    background = levels_of(registration.background).numpy()
    ideal, registered = (in_parts(registration.composite, images) for images in (without, recorded))
    cleaned = in_parts(registration, recorded)
    arm, passing = np.abs(ideal.astype(np.int16) - background) > _CHANGED, visited(recorded, without)
    area = arm.sum((2, 3))
    rows = []
    for shown, frames in (("registered", registered), ("cleaned", cleaned)):
        lost = (arm & (frames == background)).sum((2, 3))
        left = (~arm & (np.abs(frames.astype(np.int16) - background) > _CHANGED)).sum((2, 3))
        for views, chosen in (("a passer-by", passing), ("nobody", ~passing)):
            shares = {
                name: float(what[chosen].sum() / area[chosen].sum()) for name, what in (("lost", lost), ("left", left))
            }
            rows.append({"frames": shown, "views": views, "n": int(chosen.sum()), **shares})
    return rows


def in_parts(change: Any, images: Images) -> Images:
    """Frames, uint8 (n, V, H, W), changed by a registration, a hundred at a time."""
    return np.asarray(torch.cat([change(part) for part in torch.from_numpy(images).split(100)]))


def written(found: dict[str, Any]) -> str:
    """The Markdown tables, and what they are of."""
    joints = [f"J{joint[-1]}" for joint in found["joints"]]
    first = table(
        ["test frames", "poses with", "number", *joints],
        [
            [row["frames"], row["poses"], f"{row['n']:,}", *(rms(value) for value in row["mse"])]
            for row in found["errors"]
        ],
    )
    second = table(
        ["training frames", "views with", "number", "arm lost", "passer-by left"],
        [
            [row["frames"], row["views"], f"{row['n']:,}", *(f"{row[name]:.1%}" for name in ("lost", "left"))]
            for row in found["cleaner"]
        ],
    )
    said = (
        f"Above: root mean square errors in degrees, {found['run']}, {found['anchors']:,} anchors. A line for each "
        "joint is fitted on half of the test poses; errors are of the other half. Below: arm lost is the part of the "
        "arm that shows the background; passer-by left is the area that is neither arm nor background. Both are shares "
        "of the arm's area in the same views, so a passer-by five times as large as the arm has 500%. A cleaned frame "
        "is a registered one after the cleaner."
    )
    return f"{first}\n{second}\n{said} {origin(found)}.\n"


def main() -> None:
    """Measure and print the tables."""
    parser = options(__doc__)
    parser.add_argument("run", help="folder of a run")
    parser.add_argument("--data", type=Path, required=True, help="data set with faults of cameras")
    parser.add_argument("--clean", type=Path, required=True, help="the same poses without faults")
    parser.add_argument("--poses", type=int, default=1600, help="test poses (default: 1600)")
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/cameras.md")
    arguments, began = parser.parse_args(), time.monotonic()
    folder = find_run(arguments.run)
    estimator, registration = Estimator.load(folder), read_registration(folder)
    if registration is None or registration.cleaner is None:
        raise SystemExit("benchmarks.passers_by: the run has no cleaner: its frames have no passers-by")
    dataset, clean = open_dataset(arguments.data), open_dataset(arguments.clean)
    tests = np.arange(min(arguments.poses, len(dataset.frames("test-id"))))
    trained = evenly(len(dataset.frames("train")), _TRAINING)
    found = {
        "run": f"method {estimator.run.method}",
        "anchors": read_json(folder / TRAINING_FILE)["provenance"]["anchors"],
        "joints": list(estimator.run.joints),
        "errors": errors(estimator, *alone(dataset, clean, "test-id", tests), dataset.states("test-id")[tests]),
        "cleaner": cleaner_shares(registration, *alone(dataset, clean, "train", trained)),
        **described(began),
    }
    keep(found, "passers-by", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
