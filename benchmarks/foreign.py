"""Measures how foreign objects in the picture change an estimator's errors, and how many of them it flags.

    python -m benchmarks.foreign RUN --data DATA [--poses 1500] [--out FILE] [--page]

RUN is a calibrated run, or the name of a packaged estimator; DATA has labelled test poses of its cameras. In every view
of a pose one object hides a part, at a place drawn uniformly, as with `ropes evaluate --hide`. Angles are those of
`ropes predict`. If the run is calibrated without labels, no label is used. --page writes the table of docs/foreign.md.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import described, keep, options, table
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.data.layout import open_dataset
from ropes.data.origin import scene_of
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of, states_of
from ropes.metrics.intervals import coverage
from ropes.models.registry import find_run
from ropes.report.words import rms
from ropes.simulation.corruption import OCCLUDER_NAMES, Hiding, occlude

PAGE = Path(__file__).parents[1] / "docs" / "foreign.md"
#: What hides, and sides in pixels.
CONDITIONS: tuple[tuple[Hiding, int], ...] = (
    ("square", 0),
    ("grey", 4),
    ("noise", 4),
    ("grey", 8),
    ("square", 16),
    ("grey", 16),
    ("object", 16),
    ("square", 32),
    ("grey", 32),
    ("noise", 32),
    ("texture", 32),
    ("object", 32),
    ("square", 64),
)
#: The same, at places where the arm is not.
OFF_THE_ARM: tuple[tuple[Hiding, int], ...] = (("grey", 4), ("grey", 8))
#: The arm is where grey levels differ by more from the median over all poses; how often places are drawn anew.
_ARM, _DRAWS = 8, 200
#: An angle that is off by more counts as wrong, in radians.
OFF = 0.2


def measured(estimator: Estimator, images: NDArray[np.uint8], truth: Floats) -> list[dict[str, Any]]:
    """A row for each condition.

    Args:
        estimator: calibrated.
        images: of the poses, uint8 (n, V, S, S).
        truth: (n, d), radians.

    Raises:
        UserError: the run is not calibrated, or has no uncertainty model.
    """
    calibration, intervals = estimator.calibration, estimator.intervals
    if calibration is None or intervals is None or estimator.trust is None:
        raise UserError("give a run that is calibrated and knows its errors: one of anchored, after ropes calibrate")
    usual = calibration.angles(estimator.read(images).coordinates)
    rows = []
    conditions = [*((*each, False) for each in CONDITIONS), *((*each, True) for each in OFF_THE_ARM)]
    for hide, size, off_the_arm in (each for each in conditions if each[1] <= images.shape[-1]):
        if off_the_arm:
            shown = beside_the_arm(images, size, hide)
        else:
            shown = occlude(images, size, generator(0, "foreign", hide, size), hide) if size else images
        reading = estimator.read(shown)
        angles = calibration.angles(reading.coordinates)
        low, high = intervals.around(reading.coordinates, reading.deviation, calibration.angles)
        assert reading.distance is not None  # known where trust is
        flagged = reading.distance > 1
        off, misled = ((np.abs(angles - other) > OFF).any(1) for other in (truth, usual))
        rows.append(
            {
                "hide": hide,
                "size": size,
                "off_the_arm": off_the_arm,
                "mse": ((angles - truth) ** 2).mean(0).tolist(),
                "off": float(off.mean()),
                "misled": float(misled.mean()),
                "flagged": float(flagged.mean()),
                "off_flagged": float(flagged[off].mean()) if off.any() else None,
                "misled_flagged": float(flagged[misled].mean()) if misled.any() else None,
                "coverage": coverage(low, high, truth).tolist(),
                "width": (high - low).mean(0).tolist(),
            }
        )
    return rows


def beside_the_arm(images: NDArray[np.uint8], size: int, hide: Hiding) -> NDArray[np.uint8]:
    """Images (n, V, S, S) with a thing in every view that covers no pixel of the arm, drawn anew until it does not.

    Raises:
        UserError: a view has hardly a place that is free.
    """
    arm = np.abs(images.astype(np.int16) - np.median(images, axis=0)) > _ARM
    shown, left = images.copy(), np.ones(images.shape[:2], dtype=bool)
    for draw in range(_DRAWS):
        named = "foreign", "beside the arm", hide, size, draw
        there = occlude(np.zeros_like(images), size, generator(0, *named)) > 0  # the same places
        free = left & ~(there & arm).any((2, 3))
        shown[free] = occlude(images, size, generator(0, *named), hide)[free]
        left &= ~free
        if not left.any():
            return shown
    raise UserError(f"no place of {size} pixels beside the arm in {left.sum()} views; take smaller things")


def written(found: dict[str, Any]) -> str:
    """The Markdown table of such rows, and what they are of."""
    joints = [f"J{joint[-1]}" for joint in found["joints"]]
    heads = ["in the picture", *joints, "off", "misled", "flagged", "of off", "of misled", "coverage"]
    lines = []
    for row in found["rows"]:
        words = f"{OCCLUDER_NAMES[row['hide']]}, {row['size']} px" if row["size"] else "nothing"
        words += ", beside the arm" if row.get("off_the_arm") else ""
        shares = (row[name] for name in ("off", "misled", "flagged", "off_flagged", "misled_flagged"))
        lines.append(
            [
                words,
                *(rms(value) for value in row["mse"]),
                *("" if share is None else f"{share:.1%}" for share in shares),
                f"{min(row['coverage']):.2f} to {max(row['coverage']):.2f}",
            ]
        )
    said = f"{found['run']}, scene {found['scene']}, {found['poses']:,} poses; {found['device']}, {found['seconds']} s."
    return f"{table(heads, lines)}\n{said}\n"


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("run", help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--poses", type=int, default=1500)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/foreign.md")
    arguments, began = parser.parse_args(), time.monotonic()
    estimator, dataset = Estimator.load(find_run(arguments.run)), open_dataset(arguments.data)
    frames = dataset.frames("test-id").index[: arguments.poses]
    rows = measured(
        estimator,
        estimator.shown(images_of(estimator.run, dataset, frames)),
        states_of(estimator.run, dataset, "test-id")[: arguments.poses],
    )
    of = {"run": Path(arguments.run).name, "scene": scene_of(dataset), "joints": estimator.run.joints}
    found = {**described(began), **of, "poses": len(frames), "rows": rows}
    keep(found, "foreign", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()
