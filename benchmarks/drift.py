"""Measures the smallest drift of a joint and the smallest move of a camera that `ropes check` finds.

    python -m benchmarks.drift RUN --setting SETTING [--scene SCENE] [--frames 500] [--camera-seed 0] [--out FILE]
        [--page]

RUN is a calibrated run, or the name of a packaged estimator, of the cameras of SETTING.  In each recording the arm
travels between random poses of its observational distribution, at 10 frames a second.  Eight recordings of --frames
frames are rendered at each level of camera faults; their first 200 frames are tested too.  They are of the same cameras
as the data set of the fit, with its lens, dust and cables, if --camera-seed is its --seed.  Each one is compared with
each other one as its reference, and with nothing, by the functions of `ropes check`.  A number of degrees is found if
the interval excludes 0.  Offsets, trends and steps are added to the logged angles; moves of a camera are shifts of its
images.  The last table has simulated errors of first order, by their correlation from frame to frame.
"""

import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.drift_alarms import alarm_rows, alarm_table
from benchmarks.drift_cameras import AFTER, BEFORE, camera_rows, camera_tables
from benchmarks.figures import described, keep, options, table
from ropes.common.arrays import Floats, Ints
from ropes.common.seeds import generator
from ropes.data.recorder.travel import progress_at, travel_time
from ropes.data.recordings.plan import ImportOptions
from ropes.errors import UserError
from ropes.evaluation.drift.frames import LoggedFrames, read_frames
from ropes.evaluation.drift.seen import Seen, calibrated_offsets, calibration_of, reference_offsets, see
from ropes.evaluation.drift.statistics import FEWEST_FRAMES, Drift, ReferenceOffset, drifts
from ropes.inference.estimator import Estimator
from ropes.models.registry import find_run
from ropes.simulation.camera_scene import Recordings
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.workers import render_poses

PAGE = Path(__file__).parents[1] / "docs" / "drift.md"
LEVELS = ("clean", "webcam")
#: Recordings of a level, frames a second, and speed of the fastest joint, rad/s.
RECORDINGS, RATE, SPEED = 8, 10.0, 1.0
#: Frames of a short recording.
SHORT = 200
#: A drift counts as found if it is found in this share of the recordings.
FOUND = 0.9
#: Degrees whose detection is counted.
DEGREES = (2, 5, 17)


@dataclass(frozen=True)
class Recorded:
    """One recording: its frames, and what the run sees in them."""

    frames: LoggedFrames
    seen: Seen
    length: int

    @property
    def tested(self) -> Ints:
        """Rows of the frames that test the joints, among the first `length`."""
        return np.flatnonzero(self.seen.tested[: self.length])

    def drifts(self, usual: Sequence[ReferenceOffset], change: Floats | float = 0.0) -> tuple[Drift, ...]:
        """The drift of each joint by the tested frames, with a change (n, d) of the differences, radians."""
        rows, logged = self.tested, self.frames.angles - change
        differences = self.seen.read[rows] - logged[rows]
        return drifts(differences, self.seen.stds[rows], logged[rows], self.frames.times[rows], usual=usual)


def trajectory(goals: Floats, frames: int) -> Floats:
    """Angles (frames, d) of an arm that travels from goal to goal (n, d), `RATE` times a second, radians."""
    path, speed = [], np.full(goals.shape[1], SPEED)
    for start, goal in pairwise(goals):
        total = float(travel_time(start, goal, speed))
        path += [start + progress_at(at, total) * (goal - start) for at in np.arange(0, total, 1 / RATE)]
        if len(path) >= frames:
            return np.array(path[:frames])
    raise ValueError(f"{len(goals)} goals are too few for {frames} frames")


def faults_of(level: str, frames: int, number: int, camera_seed: int) -> Recordings | None:
    """The faults of the cameras in one recording: cameras of one seed are the same ones in all recordings."""
    return None if level == "clean" else Recordings(level, ((f"drift {number}", frames),), camera_seed)


def recorded(
    folder: Path, estimator: Estimator, setting: Setting, frames: int, number: int, faults: Recordings | None
) -> Recorded:
    """Render one recording into a folder of frames with a log, and read it as `ropes check` does."""
    model = setting.splits["train"]
    angles = states = trajectory(model.sample_observational(generator(number, "drift"), frames), frames)
    if faults is not None:
        states = np.column_stack([angles, np.zeros(frames), np.arange(frames)])
    for camera in setting.cameras:
        (folder / camera.name).mkdir(parents=True)
    images = render_poses(setting, model.joints, states, recordings=faults)
    for number, views in enumerate(images):
        for camera, content in zip(setting.cameras, views, strict=True):
            (folder / camera.name / f"{number:05d}.png").write_bytes(content)
    lines = [f"{k},{k / RATE:.3f},{','.join(f'{angle:.6f}' for angle in row)}" for k, row in enumerate(angles)]
    (folder / "log.csv").write_text("\n".join([",".join(["frame", "time", *model.joints]), *lines]) + "\n")
    read = read_frames(estimator.run, folder, frames=frames, options=ImportOptions())
    return Recorded(read, see(estimator, read), frames)


def smallest(estimates: Floats, halves: Floats) -> Floats:
    """Smallest change that is found in `FOUND` of the recordings, whatever its sign: estimates (draws, d) → (d,)."""
    needed = np.concatenate([halves - estimates, halves + estimates])
    return np.asarray(np.quantile(np.maximum(needed, 0), FOUND, axis=0))


def joint_row(pairs: Sequence[tuple[Recorded, Sequence[ReferenceOffset]]]) -> dict[str, Any]:
    """What is found on the joints, degrees.  A constant or a line on top shifts offset and trend by just as much."""
    found = [one.drifts(usual) for one, usual in pairs]

    def of(kind: str, value: str) -> Floats:
        return np.degrees([[getattr(getattr(each, kind), value) for each in one] for one in found])

    alarms = [any(each.drifted for each in one) for one in found]
    row: dict[str, Any] = {"frames": pairs[0][0].length, "false_alarms": float(np.mean(alarms)), "draws": len(alarms)}
    row["too_few_frames"] = float(np.mean([each.few for one in found for each in one]))
    for kind in ("offset", "trend"):
        values, halves = of(kind, "value"), (of(kind, "high") - of(kind, "low")) / 2
        row[kind] = smallest(values, halves).round(3).tolist()
        for degrees in DEGREES:
            both = [np.abs(values + sign * degrees) > halves for sign in (-1, 1)]
            row[f"{kind}_{degrees}_found"] = np.mean(both, axis=(0, 1)).round(3).tolist()
    return row


def step_row(pairs: Sequence[tuple[Recorded, Sequence[ReferenceOffset]]]) -> dict[str, Any]:
    """Share of steps in the middle of a recording that are found on each joint, and the error of their times."""
    row: dict[str, Any] = {}
    for degrees in DEGREES:
        shares, off = [], []
        for k in range(len(pairs[0][1])):
            drifted = []
            for one, usual in pairs:
                change = np.zeros(one.frames.angles.shape)
                change[one.length // 2 :, k] = np.radians(degrees)
                each = one.drifts(usual, change)[k]
                drifted.append(each.drifted)
                if each.change is not None:
                    off.append(abs(int(one.tested[each.change]) - one.length // 2))
            shares.append(float(np.mean(drifted)))
        row[f"step_{degrees}_found"] = shares
        row[f"step_{degrees}_frames_off"] = float(np.median(off)) if off else None
    return row


def measured(estimator: Estimator, setting: Setting, frames: int, camera_seed: int) -> dict[str, Any]:
    """All rows.

    Raises:
        UserError: too few frames, or the run is not calibrated or of other joints.
    """
    calibration_of(estimator)
    if estimator.run.joints != setting.splits["train"].joints:
        raise UserError("the run estimates other joints than those of the setting")
    if frames < max(FEWEST_FRAMES, BEFORE + AFTER):
        raise UserError(f"{frames} frames are too few")
    joints, cameras, flagged = [], [], {}
    for level in LEVELS:
        with tempfile.TemporaryDirectory() as folder:
            found = [
                recorded(
                    Path(folder, str(number)),
                    estimator,
                    setting,
                    frames,
                    number,
                    faults_of(level, frames, number, camera_seed),
                )
                for number in range(RECORDINGS)
            ]
            usual = [reference_offsets(one.frames, one.seen) for one in found]
            for length in sorted({min(SHORT, frames), frames}):
                part = [replace(one, length=length) for one in found]
                compared = [(part[a], usual[b]) for a, b in permutations(range(RECORDINGS), 2)]
                steps = step_row([(one, usual[(k + 1) % RECORDINGS]) for k, one in enumerate(part)])
                alone = [(one, calibrated_offsets(estimator, one.seen.stds)) for one in part]
                joints.append({"level": level, "compared_with": "a reference", **joint_row(compared), **steps})
                joints.append({"level": level, "compared_with": "nothing", **joint_row(alone)})
            seen = [one.seen.pixels for one in found]
            cameras += [{"level": level, **row} for row in camera_rows(estimator.run, seen)]
            flagged[level] = float(np.mean([one.seen.flagged for one in found]))
    return {"joint_rows": joints, "camera_rows": cameras, "alarm_rows": alarm_rows(), "flagged": flagged}


def heading(joint: str) -> str:
    """Of a joint's column: "J4" for a Panda's, the name of any other one."""
    return re.sub(r"^panda_joint(?=\d$)", "J", joint)


def written(found: Mapping[str, Any]) -> str:
    """The Markdown tables."""
    heads = ["smallest drift found, °", *map(heading, found["joints"]), "false alarms"]
    lines = []
    for row in found["joint_rows"]:
        beside = f"{row['level']}, {row['frames']} frames, compared with {row['compared_with']}"
        for kind, words in (("offset", "offset"), ("trend", "trend over the recording")):
            alarms = f"{round(row['false_alarms'] * row['draws'])} of {row['draws']}" if kind == "offset" else ""
            lines.append([f"{words}; {beside}", *(f"{value:.1f}" for value in row[kind]), alarms])
    said = (
        f"{found['run']}, {found['setting']}, scene {found['scene']}: {found['recordings']} recordings of "
        f"{found['frames']} frames a level, at {RATE:g} frames a second and {SPEED:g} rad/s; {found['device']}, "
        f"{found['seconds']} s."
    )
    steps = [
        [
            f"{degrees}°; {row['level']}, {row['frames']} frames",
            *(f"{share:.0%}" for share in row[f"step_{degrees}_found"]),
        ]
        for row in found["joint_rows"]
        for degrees in DEGREES
        if f"step_{degrees}_found" in row
    ]
    heads_of_steps = ["offset of one joint since the middle, found in", *heads[1:-1]]
    cameras = camera_tables(found["camera_rows"], found["frames"])
    tables = [table(heads, lines), table(heads_of_steps, steps), *cameras, alarm_table(found["alarm_rows"])]
    return "\n".join([*tables, f"{said}\n"])


def main() -> None:
    """Measure and print the tables."""
    parser = options(__doc__)
    parser.add_argument("run", help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--setting", default="panda-2c-independent")
    parser.add_argument("--scene", default="panda-gym")
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--camera-seed", type=int, default=0, help="seed of the data set of the fit, of its cameras")
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/drift.md")
    arguments, began = parser.parse_args(), time.monotonic()
    estimator = Estimator.load(find_run(arguments.run))
    setting = replace(setting_named(arguments.setting), scene=arguments.scene)
    rows = measured(estimator, setting, arguments.frames, arguments.camera_seed)
    of = {"run": Path(arguments.run).name, "setting": arguments.setting, "scene": arguments.scene}
    command = f"python -m benchmarks.drift {arguments.run} --setting {arguments.setting} --scene {arguments.scene}"
    sizes = {"frames": arguments.frames, "recordings": RECORDINGS, "after": AFTER, "share_found": FOUND}
    command += f" --frames {arguments.frames} --camera-seed {arguments.camera_seed}"
    of |= {"joints": estimator.run.joints, "command": command, "camera_seed": arguments.camera_seed, **sizes}
    found = {**described(began), **of, **rows}
    keep(found, "drift", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
