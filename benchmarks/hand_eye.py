"""Measures how accurately `ropes cameras` finds where a camera stands.

    python -m benchmarks.hand_eye [--seeds 0 1 2] [--work FOLDER] [--stored] [--out FILE] [--page]

Each seed draws a camera at a random place around the simulated Panda and joint angles, and renders its images.
`ropes cameras` then finds the camera, with true angles and with wrong ones, from many images and from few.  The found
camera is compared with the true one: its place, its rotation, its focal length, and where the images show the arm's
links at the true angles.  With --work the command resumes where it was stopped, several seeds can be
measured at once, and --stored measures nothing: it shows what the folder has so far.  Seconds are processor time.
--page also writes the table of docs/live.md.
"""

import contextlib
import io
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from benchmarks.figures import described, keep, options, origin, table
from benchmarks.hand_eye_data import (
    CAMERA,
    CONDITIONS,
    IMAGES,
    Condition,
    camera_of,
    simulated,
    true_camera,
    write_data,
)
from ropes.cli import entry as cli
from ropes.common import files
from ropes.common.arrays import Floats
from ropes.inference.poses import recorded_arm
from ropes.simulation.pinhole import Pinhole, read_pinholes

PAGE = Path(__file__).parents[1] / "docs" / "live.md"
#: What the command says of a camera that it refuses.
_REFUSED = re.compile(r"does not fit \(IoU (\d\.\d+)")


def found_by_command(data: Path, out: Path, seed: int) -> dict[str, Any]:
    """What `ropes cameras` finds, or that it refuses, and its processor time.

    Raises:
        RuntimeError: it ended in another way.
    """
    said, began = io.StringIO(), time.process_time()
    words = ["cameras", str(data), "--seed", str(seed), "--out", str(out)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = cli.main(words)
    seconds = round(time.process_time() - began, 1)
    if code == 0:
        fit = files.read_json(out)["cameras"][0]["fit"]
        kept = {name: fit[name] for name in ("held_out_iou", "chance_iou", "halves_px", "rival")}
        return {"refused": False, "seconds": seconds, **kept}
    refused = _REFUSED.search(said.getvalue())
    if refused is None:
        raise RuntimeError(f"{' '.join(words)} ended with code {code}: {said.getvalue()}")
    return {"refused": True, "seconds": seconds, "held_out_iou": float(refused[1])}


def errors(found: Pinhole, true: Pinhole, points: Floats) -> dict[str, Any]:
    """How far a found camera is from the true one.

    Args:
        found: the camera.
        true: the same camera.
        points: origins of the arm's links in its poses, (n, 3), metres.

    Returns:
        The distance of the two places, cm, and its part along the line of sight, away from the arm; the angle between
        the rotations, degrees; the error of the focal length, percent; and the mean distance of the projected points,
        pixels, with the mean shift to the right and down.
    """
    turn, shift = found.extrinsics[:3, :3] @ true.extrinsics[:3, :3].T, found.place - true.place
    moved = found.project(points)[0] - true.project(points)[0]
    return {
        "place_cm": 100 * float(np.linalg.norm(shift)),
        "away_cm": -100 * float(shift @ true.extrinsics[2, :3]),
        "rotation_deg": float(np.degrees(Rotation.from_matrix(turn).magnitude())),
        "focal_percent": 100 * float(found.intrinsics[0, 0] / true.intrinsics[0, 0] - 1),
        "links_px": float(np.linalg.norm(moved, axis=1).mean()),
        "shift_px": moved.mean(axis=0).tolist(),
    }


def row_file(work: Path, condition: Condition, seed: int) -> Path:
    """Where a row is stored."""
    words = re.sub(r"\W+", "-", condition.words)
    return work / "rows" / f"{words}-{seed}.json"


def measured(work: Path, condition: Condition, seed: int, images: int = IMAGES) -> dict[str, Any]:
    """The row of a camera; one that is stored in the folder is not measured again.

    Args:
        work: folder of rows and rendered images.
        condition: images and angles.
        seed: of the camera, its images and the errors of angles.
        images: number of rendered images, of which the condition takes some.
    """
    kept = row_file(work, condition, seed)
    if kept.is_file():
        return dict(files.read_json(kept))
    source = simulated(work, condition, seed, images)
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder, "data"), Path(folder, "cameras.json")
        write_data(data, source, condition, seed)
        row = {**asdict(condition), "seed": seed, **found_by_command(data, out, seed)}
        if not row["refused"]:
            poses = recorded_arm(source).poses(source.states("train"))
            points = np.concatenate([pose[:, :3, 3] for pose in poses.values()])
            row |= errors(read_pinholes(out)[CAMERA], true_camera(condition, seed), points)
    files.write_json(kept, row)
    return dict(files.read_json(kept))


def _cell(rows: Sequence[Mapping[str, Any]], name: str, digits: int) -> str:
    """Median and greatest magnitude over the found cameras."""
    values = [abs(row[name]) for row in rows if not row["refused"]]
    return f"{np.median(values):.{digits}f} ({max(values):.{digits}f})" if values else ""


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with `halves_px`; rows of earlier versions have half of it as `spread_px`."""
    return {"halves_px": 2 * row["spread_px"], **row} if "spread_px" in row else dict(row)


def written(found: Mapping[str, Any]) -> str:
    """The table, and what it is of."""
    groups: dict[Condition, list[Mapping[str, Any]]] = {}
    for row in map(_whole, found["rows"]):
        condition = Condition(**{name: row[name] for name in asdict(Condition())})
        groups.setdefault(condition, []).append(row)
    lines = [
        [
            condition.words,
            f"{sum(row['refused'] for row in rows)} of {len(rows)}",
            _cell(rows, "place_cm", 1),
            _cell(rows, "rotation_deg", 2),
            "" if condition.intrinsics else _cell(rows, "focal_percent", 1),
            _cell(rows, "links_px", 2),
            _cell(rows, "halves_px", 2),
            " to ".join(f"{each([row['held_out_iou'] for row in rows]):.2f}" for each in (min, max)),
            f"{np.median([row['seconds'] for row in rows]):.0f}",
        ]
        for condition, rows in groups.items()
    ]
    heads = ["images and angles", "refused", "place, cm", "rotation, °", "focal length, %", "links, px"]
    said = (
        "Errors of the cameras that were found, median and in brackets the greatest. Seeds "
        f"{', '.join(map(str, found['seeds']))}: cameras {found['nearest']:.1f} to {found['farthest']:.1f} m from the "
        f"arm, images of 128×128 pixels; {origin(found)}."
    )
    return f"{table([*heads, 'halves, px', 'IoU', 'processor time, s'], lines)}\n{said}\n"


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--work", type=Path, help="folder that keeps rows and images; a temporary one if omitted")
    parser.add_argument("--stored", action="store_true", help="measure nothing, show the rows of --work")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/live.md")
    arguments, began = parser.parse_args(), time.monotonic()
    if arguments.stored and arguments.work is None:
        parser.error("--stored goes with --work")
    with contextlib.ExitStack() as stack:
        work = arguments.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        wanted = [(condition, seed) for condition in CONDITIONS for seed in arguments.seeds]
        if arguments.stored:
            wanted = [each for each in wanted if row_file(work, *each).is_file()]
        rows = [measured(work, *each) for each in wanted]
    distances = [camera_of(seed).distance for seed in arguments.seeds]
    found = {
        **described(began),
        "seeds": arguments.seeds,
        "nearest": min(distances),
        "farthest": max(distances),
        "rows": rows,
    }
    keep(found, "hand-eye", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
