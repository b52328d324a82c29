"""Measures the whole road with the simulated arm: record, inspect, fit, calibrate without labels, watch.

    python -m benchmarks.road --work FOLDER [--hours 2 4 8] [--level webcam] [--anchors 1800] [--test-anchors 150]
        [--seed 0] [--fit OPTION=VALUE ...] [--out FILE] [--page]

The commands are those of a user: `ropes record --robot simulated` with dynamics, delays and the faults of --level, and
for each number of hours `ropes fit` on the anchors that the robot records in them, `ropes calibrate --commanded`, and
`ropes watch` on a second recording, whose encoders give the true angles. Angles come from `watch` alone. Errors are
root mean squares in degrees, on the observational poses and on all poses of that recording, beside those of always
answering the mean of these poses. Run the same command again to resume. --page also writes the table of
docs/recording.md.
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
from ropes.methods.policies import described_model
from ropes.report.words import joint_label
from ropes.simulation.settings import setting_named

PAGE = Path(__file__).parents[1] / "docs" / "recording.md"
#: Poses a second that `watch` reads.
RATE = 15.0
SCENE = "panda-gym"
#: A joint where the mean pose has at most this multiple of the paper's error is easy to compare.
EASY = 1.25


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
    """RMS errors of published lines, radians (joints,), on observational poses and on all poses of a recording.

    `spread_observational` and `spread_all` are the errors of always answering the mean of these poses.
    """
    joints = list(lines[0]["joints"])
    read, truth = (np.array([[line[key][joint] for joint in joints] for line in lines]) for key in ("joints", "truth"))
    dataset = open_dataset(data)
    poses = dataset.states("train")[:, [dataset.joints.index(joint) for joint in joints]]
    nearest = np.array([int(np.abs(poses - pose).max(axis=1).argmin()) for pose in truth])
    observational = dataset.frames("train").regime[nearest] == 0
    squared = (read - truth) ** 2
    return {
        "observational": np.sqrt(squared[observational].mean(0)),
        "all": np.sqrt(squared.mean(0)),
        "spread_observational": truth[observational].std(0),
        "spread_all": truth.std(0),
    }


def ranges_of(data: Path, joints: Sequence[str]) -> list[tuple[float, float]]:
    """The range of each joint's observational poses, radians.

    Raises:
        ValueError: the data set does not describe it.
    """
    model = described_model(open_dataset(data))
    if model is None:
        raise ValueError(f"{data} describes no distributions")
    return [(model.observational[joint].low, model.observational[joint].high) for joint in joints]


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
    """The table, with the mean pose and the paper's ROPES below."""
    first = found["rows"][0]
    joints, tested = first["joints"], {"observational": "observational poses", "all": "all poses"}
    cells = [published(setup=TWO_CAMERAS, joint=joint, split="id", occlusion=0) for joint in joints]
    paper = np.sqrt([cell.mse for cell in cells if cell])
    model = setting_named(TWO_CAMERAS).splits["test-id"]
    of_paper = [model.observational[joint] for joint in joints]
    paper_spread = np.sqrt([law.moments()[1] for law in of_paper])
    lines = [
        [f"{row['hours']:g} h, {words}", f"{row['anchors']:,}", *map(_cell, row[key], row[f"spread_{key}"])]
        for row in found["rows"]
        for key, words in tested.items()
    ]
    for key, words in tested.items():
        spread = first[f"spread_{key}"]
        lines.append([f"mean pose, no image, {words}", "", *map(_cell, spread, spread)])
    lines.append(["range of the poses", "", *map(_range, found["ranges"])])
    lines.append(["the paper's ROPES, 1,000 labels, its own poses", "10,000", *map(_cell, paper, paper_spread)])
    lines.append(["mean pose, no image, the paper's poses", "", *map(_cell, paper_spread, paper_spread)])
    lines.append(["range of the paper's poses", "", *(_range((law.low, law.high)) for law in of_paper)])
    about = (
        "Root mean square errors in degrees of `ropes watch` without a label, and in brackets the share of the "
        f"variance of the angle that is explained (R²), on {first['poses']:,} poses of a second recording, cameras of "
        f"level {found['level']}; inspect: code {found['inspect']}. Seed {found['seed']}, {found['device']}, version "
        f"{found['version']}."
    )
    heads = ["robot time, tested on", "anchors", *map(joint_label, joints)]
    compared = compared_with_paper(joints, np.array(first["spread_observational"]), paper, paper_spread)
    return f"{table(heads, lines)}\n{about}\n\n{compared}\n"


def compared_with_paper(joints: Sequence[str], spread: Floats, paper: Floats, paper_spread: Floats) -> str:
    """Which joints are easy to compare with the paper's ROPES, and which share of variance its error means here.

    Args:
        joints: their names.
        spread: standard deviations of the observational test poses, radians (joints,).
        paper: RMS errors of the paper's ROPES, radians (joints,).
        paper_spread: standard deviations of the paper's poses, radians (joints,).
    """
    needed, reached = (np.maximum(0, 1 - (paper / each) ** 2) for each in (spread, paper_spread))
    easy = [
        f"{joint_label(joint)} (R² {here:.2f} here has the paper's error; its own R² is {own:.2f})"
        for joint, here, own, narrow in zip(joints, needed, reached, spread <= EASY * paper, strict=True)
        if narrow
    ]
    if not easy:
        return f"On no joint is the mean pose, without an image, within {EASY:g} times the error of the paper's ROPES."
    return (
        f"An error below the paper's says little where the mean pose, without an image, is within {EASY:g} times the "
        f"paper's error: {', '.join(easy)}. R² does not depend on how far the angles vary."
    )


def _cell(error: float, spread: float) -> str:
    """An error and a standard deviation, radians, as degrees and the share of variance explained."""
    return f"{np.degrees(error):.1f} ({1 - (error / spread) ** 2:.2f})"


def _range(ends: Sequence[float]) -> str:
    low, high = np.degrees(ends)
    return f"{low:.0f} to {high:.0f}"


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
    found = {
        "rows": rows,
        "ranges": ranges_of(test, rows[0]["joints"]),
        "level": arguments.level,
        "inspect": code,
        "seed": arguments.seed,
        **described(began),
    }
    keep(found, "road", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
