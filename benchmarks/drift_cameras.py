"""Moves of a camera that `ropes check` finds, at once and slowly; see `benchmarks.drift`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from scipy import ndimage
from torch import Tensor

from benchmarks.figures import table
from ropes.common.arrays import Floats
from ropes.evaluation.drift.camera import CameraDrift, camera_drift
from ropes.methods.run import Run
from ropes.models.registration import Registration

#: Moves in pixels of the camera's images, directions in degrees, frames before and after the move.
MOVES, DIRECTIONS, BEFORE, AFTER = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0), (20, 110, 200, 290), 30, 10
#: Frames by which the running median of nine frames may see a move early.
EARLY = 4
#: Moves of a mount that creeps evenly from the first frame of a recording to its last, pixels.
CREEPS = (2.0, 4.0, 8.0, 16.0)
#: Frames of a camera's reference; without one, the first share of a recording is the reference.
REFERENCE, FIRST = 200, 0.2


def moved(pixels: Tensor, distance: Floats, angle: float) -> Tensor:
    """Frames of a camera that has moved by a distance.

    Args:
        pixels: uint8 (n, P, s, s).
        distance: in pixels of these, (n,).
        angle: of the move, radians.
    """
    frames = [
        ndimage.shift(frame, (0, each * np.sin(angle), each * np.cos(angle)), order=3, mode="nearest")
        for frame, each in zip(pixels.numpy().astype(float), distance, strict=True)
    ]
    return torch.from_numpy(np.stack(frames).round().clip(0, 255).astype(np.uint8))


def found_at(found: CameraDrift, move: float) -> bool:
    """Whether a move after `BEFORE` frames was found; of a camera that did not move, whether it seems to have moved."""
    return found.moved if not move else any(each.first >= BEFORE - EARLY for each in found.stretches)


def camera_rows(run: Run, recordings: Sequence[Tensor]) -> list[dict[str, Any]]:
    """Shares of moves found within `AFTER` frames, and of creeping mounts, with how far they had moved by then.

    The reference is the next recording, and for a creeping mount also the beginning of the recording itself.

    Args:
        run: whose cameras these are.
        recordings: frames of all cameras, uint8 (n, P, s, s).
    """
    rows = []
    for k, camera in enumerate(run.cameras):
        views = [each[:, k * run.channels : (k + 1) * run.channels] for each in recordings]
        scale = max(run.shapes[k][:2]) / views[0].shape[-1]
        references = [Registration.of_camera(each[:: max(1, len(each) // REFERENCE)]) for each in views]
        jumps: dict[float, list[bool]] = {move: [] for move in MOVES}
        creeps: dict[tuple[float, str], list[float | None]] = {}
        for number, view in enumerate(views):
            angle, reference = np.radians(DIRECTIONS[number % len(DIRECTIONS)]), references[(number + 1) % len(views)]
            part = view[: BEFORE + AFTER]
            for move in MOVES:
                after = moved(part[BEFORE:], np.full(len(part) - BEFORE, move / scale), angle)
                whole = torch.cat([part[:BEFORE], after])
                jumps[move].append(found_at(camera_drift(camera, whole, reference, scale=scale), move))
            for creep in CREEPS:
                distance = np.linspace(0, creep, len(view))
                crept = moved(view, distance / scale, angle)
                own = Registration.of_camera(crept[: max(1, int(FIRST * len(crept)))])
                for compared, each in (("a reference", reference), ("its beginning", own)):
                    stretches = camera_drift(camera, crept, each, scale=scale).stretches
                    by_then = float(distance[stretches[-1].first]) if stretches else None
                    creeps.setdefault((creep, compared), []).append(by_then)
        rows += [{"camera": camera, "pixels": move, "found": float(np.mean(each))} for move, each in jumps.items()]
        rows += [
            {
                "camera": camera,
                "creep": creep,
                "compared_with": compared,
                "found": float(np.mean([each is not None for each in by_then])),
                "by_then": [each for each in by_then if each is not None],
            }
            for (creep, compared), by_then in creeps.items()
        ]
    return rows


def camera_tables(rows: Sequence[Mapping[str, Any]], frames: int) -> list[str]:
    """The Markdown tables of `camera_rows` of some levels."""
    levels = list(dict.fromkeys(row["level"] for row in rows))
    jumps = [row for row in rows if "pixels" in row]
    pixels = sorted({row["pixels"] for row in jumps})
    lines = [
        [
            f"{level}: found within {AFTER} frames",
            *(
                f"{np.mean([row['found'] for row in jumps if (row['level'], row['pixels']) == (level, each)]):.0%}"
                for each in pixels
            ),
        ]
        for level in levels
    ]
    slow = [row for row in rows if "creep" in row]
    creeps = sorted({row["creep"] for row in slow})
    crept = []
    for level, compared in dict.fromkeys((row["level"], row["compared_with"]) for row in slow):
        of = [row for row in slow if (row["level"], row["compared_with"]) == (level, compared)]
        cells = []
        for creep in creeps:
            share = np.mean([row["found"] for row in of if row["creep"] == creep])
            by_then = [each for row in of if row["creep"] == creep for each in row["by_then"]]
            cells.append(f"{share:.0%}" + (f", after {np.median(by_then):.1f} px" if by_then else ""))
        crept.append([f"{level}: found, compared with {compared}", *cells])
    return [
        table(["camera moved by, pixels", *(f"{each:g}" for each in pixels)], lines),
        table([f"camera crept over {frames} frames by, pixels", *(f"{each:g}" for each in creeps)], crept),
    ]
