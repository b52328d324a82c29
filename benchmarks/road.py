"""Measures the whole road with the simulated arm: record, inspect, fit, calibrate without labels, watch.

    python -m benchmarks.road --work FOLDER [--hours 2 4 8] [--level webcam] [--anchors 1800] [--test-anchors 150]
        [--seed 0] [--fit OPTION=VALUE ...] [--out FILE] [--page]

The commands are those of a user: `ropes record --robot simulated` with dynamics, delays and the faults of --level, and
for each number of hours `ropes fit` on the anchors that the robot records in them, `ropes calibrate --commanded`, and
`ropes watch` on a second recording, whose encoders give the true angles. Angles come from `watch` alone. Errors are
root mean squares in degrees, on the observational poses and on all poses of that recording. Run the same command again
to resume. --page also writes the table of docs/recording.md.
"""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import described, keep, options, table
from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.evaluation.paper import TWO_CAMERAS, published
from ropes.report.words import joint_label, rms

PAGE = Path(__file__).parents[1] / "docs" / "recording.md"
#: Poses a second that `watch` reads.
RATE = 15.0
SCENE = "panda-gym"


def ropes(*words: object) -> str:
    """Standard output of a command; ends the program with its code where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "ropes", *map(str, words)], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def record(out: Path, anchors: int, seed: int, level: str) -> None:
    """Record anchors of the simulated Panda."""
    words = ("--robot", "simulated", "--scene", SCENE, "--camera-level", level, "--redraw")
    ropes("record", *words, "--anchors", anchors, "--seed", seed, "--out", out)


def anchors_within(data: Path, hours: float) -> int:
    """How many anchors of a recording, in tens, took at most so many hours of robot time.

    Raises:
        ValueError: the recording is shorter.
    """
    entries = read_json(data / "meta" / "recording.json")["anchors"]
    taken = np.cumsum([sum(entry["seconds"]) for entry in sorted(entries, key=lambda entry: entry["began"])]) / 3600
    if taken[-1] < hours:
        raise ValueError(f"{data} has {taken[-1]:.1f} hours of robot time; give more --anchors for {hours:g}")
    return int(np.searchsorted(taken, hours, side="right")) // 10 * 10


def errors(lines: Sequence[Mapping[str, Any]], data: Path) -> dict[str, Floats]:
    """RMS errors of published lines, radians (joints,), on observational poses and on all poses of a recording."""
    joints = list(lines[0]["joints"])
    read, truth = (np.array([[line[key][joint] for joint in joints] for line in lines]) for key in ("joints", "truth"))
    dataset = open_dataset(data)
    poses = dataset.states("train")[:, [dataset.joints.index(joint) for joint in joints]]
    nearest = np.array([int(np.abs(poses - pose).max(axis=1).argmin()) for pose in truth])
    observational = dataset.frames("train").regime[nearest] == 0
    squared = (read - truth) ** 2
    return {"observational": np.sqrt(squared[observational].mean(0)), "all": np.sqrt(squared.mean(0))}


def measured(work: Path, hours: float, test: Path, further: Sequence[str] = ()) -> dict[str, Any]:
    """Fit, calibrate and watch after some hours of robot time."""
    data, run = work / "recording", work / f"run-{hours:g}-hours"
    anchors, began = anchors_within(data, hours), time.monotonic()
    ropes("fit", "--data", data, "--independent", "--anchors", anchors, "--out", run, *further)
    fitted = time.monotonic()
    ropes("calibrate", run, "--data", data, "--commanded")
    watched = ropes("watch", run, "--camera", test, "--rate", RATE, "--no-page", "--publish", "-")
    lines = [json.loads(line) for line in watched.splitlines()]
    found = errors(lines, test)
    return {
        "hours": hours,
        "anchors": anchors,
        "poses": len(lines),
        "joints": list(lines[0]["joints"]),
        "fit_seconds": round(fitted - began),
        **{name: values.tolist() for name, values in found.items()},
    }


def written(found: Mapping[str, Any]) -> str:
    """The table, with the paper's ROPES below."""
    joints = found["rows"][0]["joints"]
    lines = [
        [f"{row['hours']:g} h, {words}", f"{row['anchors']:,}", *(f"{np.degrees(error):.1f}" for error in row[key])]
        for row in found["rows"]
        for key, words in (("observational", "observational poses"), ("all", "all poses"))
    ]
    cells = [published(setup=TWO_CAMERAS, joint=joint, split="id", occlusion=0) for joint in joints]
    lines.append(
        ["the paper's ROPES, 1,000 labels, its own poses", "10,000", *(rms(cell.mse) if cell else "" for cell in cells)]
    )
    about = (
        f"Root mean square errors in degrees of `ropes watch` without a label, on {found['rows'][0]['poses']:,} poses "
        f"of a second recording, cameras of level {found['level']}; inspect: code {found['inspect']}. "
        f"Seed {found['seed']}, {found['device']}, version {found['version']}."
    )
    heads = ["robot time, tested on", "anchors", *map(joint_label, joints)]
    return f"{table(heads, lines)}\n{about}\n"


def main() -> None:
    """Record, then fit and watch for each number of hours."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of recordings and runs")
    parser.add_argument("--hours", type=float, nargs="+", default=[2.0, 4.0, 8.0])
    parser.add_argument("--level", default="webcam", help="of the cameras' faults")
    parser.add_argument("--anchors", type=int, default=1_800, help="to record; enough for the most hours")
    parser.add_argument("--test-anchors", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", nargs="*", default=[], help="further options of ropes fit for a trial, as foreign=0")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/recording.md")
    arguments, began = parser.parse_args(), time.monotonic()
    work, test = arguments.work, arguments.work / "test"
    record(work / "recording", arguments.anchors, arguments.seed, arguments.level)
    record(test, arguments.test_anchors, arguments.seed + 1, arguments.level)
    code = subprocess.run(
        [sys.executable, "-m", "ropes", "inspect", work / "recording", "--out", work / "inspection"],
        stdout=subprocess.DEVNULL,
        check=False,
    ).returncode
    further = [word for option in arguments.fit for word in f"--{option}".split("=")]
    rows = [measured(work, hours, test, further) for hours in arguments.hours]
    found = {"rows": rows, "level": arguments.level, "inspect": code, "seed": arguments.seed, **described(began)}
    keep(found, "road", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
