"""Measures the smallest drift of a joint and the smallest move of a camera that `ropes check` finds.

    python -m benchmarks.drift RUN --setting SETTING [--scene SCENE] [--frames 500] [--out FILE] [--page]

RUN is a calibrated run, or the name of a packaged estimator, of the cameras of SETTING.  Poses of its observational
distribution are rendered at each level of camera faults, as one recording.  The first 200 frames are the reference.
Recordings of 200 frames are drawn from the others, in the order of the recording.  A number of degrees is found if the
interval of `ropes check` excludes 0.  Offsets, trends and steps are added to the logged angles; moves of a camera are
shifts of its images.  --page writes the table of docs/drift.md.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage

from benchmarks.figures import described, keep, options, table
from ropes.common import png
from ropes.common.seeds import generator
from ropes.errors import UserError
from ropes.evaluation.drift.camera import camera_drift, own_registration
from ropes.evaluation.drift.check import joint_drifts
from ropes.evaluation.drift.seen import calibration_of, usual_zeros
from ropes.evaluation.drift.statistics import Array, Drift, Zero, drift
from ropes.inference.estimator import Estimator
from ropes.models.registry import find_run
from ropes.simulation.camera_scene import Recordings
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.workers import render_poses

PAGE = Path(__file__).parents[1] / "docs" / "drift.md"
LEVELS = ("clean", "webcam")
#: Frames of a recording and of the reference; recordings that are drawn, and those to which steps are added.
LENGTH, DRAWS, STEPPED = 200, 100, 10
#: A drift counts as found if it is found in this share of the recordings.
FOUND = 0.9
#: Degrees whose detection is counted.
DEGREES = (2, 5, 17)
#: Moves of a camera in pixels, directions in degrees, frames before and after the move.
MOVES, DIRECTIONS, BEFORE, AFTER = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0), (20, 110, 200, 290), 30, 10


def rendered(setting: Setting, frames: int, level: str, seed: int = 0) -> tuple[NDArray[np.uint8], Array]:
    """Images of one recording, uint8 (n, cameras, S, S), and the angles of the setting's joints, (n, d), radians."""
    model = setting.splits["train"]
    angles = model.sample_observational(generator(seed, "drift"), frames)
    faults, states = None, angles
    if level != "clean":
        faults = Recordings(level, (("recording", frames),), seed)
        states = np.column_stack([angles, np.zeros(frames), np.arange(frames)])
    size = setting.image_size
    images = render_poses(setting, model.joints, states, 1, recordings=faults)
    return np.stack([np.stack([png.decode(view, (size, size)) for view in views]) for views in images]), angles


def drawn(seen: tuple[Array, Array, Array], zeros: list[Zero], draw: int, change: Array | None = None) -> list[Drift]:
    """The drift of each joint in one recording, with a change (n, d) of the differences."""
    read, logged, stds = seen
    rows = np.sort(generator(draw, "drift", "recording").permutation(len(read))[:LENGTH])
    logged = logged[rows] - (0 if change is None else change)
    return list(joint_drifts(read[rows], logged, stds[rows], np.arange(len(rows), dtype=float), zeros))


def smallest(estimates: Array, halves: Array) -> Array:
    """Smallest change that is found in `FOUND` of the recordings, whatever its sign: estimates (draws, d) → (d,)."""
    needed = np.concatenate([halves - estimates, halves + estimates])
    return np.asarray(np.quantile(np.maximum(needed, 0), FOUND, axis=0))


def joint_rows(seen: tuple[Array, Array, Array], zeros: list[Zero], level: str, compared: str) -> dict[str, Any]:
    """What is found on the joints, degrees.  A constant or a line on top shifts offset and trend by just as much."""
    found = [drawn(seen, zeros, draw) for draw in range(DRAWS)]

    def of(kind: str, value: str) -> Array:
        return np.degrees([[getattr(getattr(each, kind), value) for each in one] for one in found])

    row: dict[str, Any] = {"level": level, "compared_with": compared}
    row["false_alarms"] = float(np.mean([any(each.drifted for each in one) for one in found]))
    for kind in ("offset", "trend"):
        values, halves = of(kind, "value"), (of(kind, "high") - of(kind, "low")) / 2
        row[kind] = smallest(values, halves).round(3).tolist()
        for degrees in DEGREES:
            both = [np.abs(values + sign * degrees) > halves for sign in (-1, 1)]
            row[f"{kind}_{degrees}_found"] = np.mean(both, axis=(0, 1)).round(3).tolist()
    late, joints = np.arange(LENGTH) >= LENGTH // 2, len(zeros)
    for degrees in DEGREES:
        shares, places = [], []
        for k in range(joints):
            change = np.radians(degrees) * np.outer(late, np.eye(joints)[k])
            steps = [drawn(seen, zeros, draw, change)[k] for draw in range(STEPPED)]
            shares.append(float(np.mean([each.drifted for each in steps])))
            places += [abs(each.change - LENGTH // 2) for each in steps if each.change is not None]
        row[f"step_{degrees}_found"] = shares
        row[f"step_{degrees}_frames_off"] = float(np.median(places)) if places else None
    return row


def camera_rows(images: NDArray[np.uint8], level: str, cameras: tuple[str, ...]) -> list[dict[str, Any]]:
    """Share of moves of each size that are found within `AFTER` frames, over directions and parts of the recording."""
    rows = []
    for k, camera in enumerate(cameras):
        frames = images[:, k]
        registration = own_registration(torch.from_numpy(frames[:LENGTH, None]))
        found: dict[float, list[bool]] = {move: [] for move in MOVES}
        for part, angle in enumerate(DIRECTIONS):
            start = LENGTH + part * (BEFORE + AFTER)
            still, after = frames[start : start + BEFORE], frames[start + BEFORE : start + BEFORE + AFTER]
            for move in MOVES:
                shift = (0, move * np.sin(np.radians(angle)), move * np.cos(np.radians(angle)))
                moved = ndimage.shift(after.astype(float), shift, order=3, mode="nearest").round().clip(0, 255)
                whole = torch.from_numpy(np.concatenate([still, moved.astype(np.uint8)])[:, None])
                found[move].append(camera_drift(camera, whole, registration).moved)
        for move, alarms in found.items():
            rows.append({"level": level, "camera": camera, "pixels": move, "found": float(np.mean(alarms))})
    return rows


def measured(estimator: Estimator, setting: Setting, frames: int) -> dict[str, Any]:
    """All rows.

    Raises:
        UserError: too few frames, or the run is not calibrated or of other joints.
    """
    calibration, intervals = calibration_of(estimator)
    if estimator.run.joints != setting.splits["train"].joints:
        raise UserError("the run estimates other joints than those of the setting")
    if frames < LENGTH + max(LENGTH + 20, len(DIRECTIONS) * (BEFORE + AFTER)):
        raise UserError(f"{frames} frames are too few")
    joints, cameras, flagged = [], [], {}
    for level in LEVELS:
        images, logged = rendered(setting, frames, level)
        reading = estimator.read(images)
        read = calibration.angles(reading.coordinates)
        low, high = intervals.around(reading.coordinates, reading.deviation, calibration.angles)
        stds = intervals.ratio * (high - low) / 2
        first, later = slice(None, LENGTH), slice(LENGTH, None)
        zeros, times = [], np.arange(LENGTH, dtype=np.float64)
        for k in range(read.shape[1]):
            offset = drift((read - logged)[first, k], stds[first, k], logged[first], times, tests=1).offset
            zeros.append(Zero(value=offset.value, error=offset.error))
        seen = read[later], logged[later], stds[later]
        joints.append(joint_rows(seen, zeros, level, "a reference"))
        joints.append(joint_rows(seen, usual_zeros(estimator, stds), level, "nothing"))
        cameras += camera_rows(images, level, estimator.run.cameras)
        flagged[level] = None if reading.distance is None else float((reading.distance > 1).mean())
    return {"joint_rows": joints, "camera_rows": cameras, "flagged": flagged}


def written(found: dict[str, Any]) -> str:
    """The Markdown tables."""
    heads = ["smallest drift found, °", *(f"J{joint[-1]}" for joint in found["joints"]), "false alarms"]
    lines = []
    for row in found["joint_rows"]:
        beside = f"{row['level']}, compared with {row['compared_with']}"
        for kind, words in (("offset", "offset"), ("trend", "trend over the recording")):
            alarms = f"{row['false_alarms']:.0%}" if kind == "offset" else ""
            lines.append([f"{words}; {beside}", *(f"{value:.1f}" for value in row[kind]), alarms])
    pixels = sorted({row["pixels"] for row in found["camera_rows"]})
    moves = []
    for level in dict.fromkeys(row["level"] for row in found["camera_rows"]):
        shares = [
            np.mean([row["found"] for row in found["camera_rows"] if (row["level"], row["pixels"]) == (level, each)])
            for each in pixels
        ]
        moves.append([f"{level}: found within {found['after']} frames", *(f"{share:.0%}" for share in shares)])
    said = (
        f"{found['run']}, {found['setting']}, scene {found['scene']}: {found['draws']} recordings of {found['length']} "
        f"frames, drawn from {found['frames'] - found['length']} frames of one rendering a level; {found['device']}, "
        f"{found['seconds']} s."
    )
    of_moves = table(["camera moved by, pixels", *(f"{each:g}" for each in pixels)], moves)
    return f"{table(heads, lines)}\n{of_moves}\n{said}\n"


def main() -> None:
    """Measure and print the tables."""
    parser = options(__doc__)
    parser.add_argument("run", help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--setting", default="panda-2c-independent")
    parser.add_argument("--scene", default="panda-gym")
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/drift.md")
    arguments, began = parser.parse_args(), time.monotonic()
    estimator = Estimator.load(find_run(arguments.run))
    setting = replace(setting_named(arguments.setting), scene=arguments.scene)
    rows = measured(estimator, setting, arguments.frames)
    of = {"run": Path(arguments.run).name, "setting": arguments.setting, "scene": arguments.scene}
    command = f"python -m benchmarks.drift {arguments.run} --setting {arguments.setting} --scene {arguments.scene}"
    sizes = {"frames": arguments.frames, "length": LENGTH, "draws": DRAWS, "after": AFTER, "share_found": FOUND}
    of |= {"joints": estimator.run.joints, "command": f"{command} --frames {arguments.frames}", **sizes}
    found = {**described(began), **of, **rows}
    keep(found, written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
