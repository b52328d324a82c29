"""Whether the estimate of an image that says little should be drawn further towards what the policies make likely.

    python -m benchmarks.posterior_means [RUN] [--count 800] [--out results/posterior-means.json] [--page]

New test poses of RUN's setting, in distribution and shifted, are rendered without and with a square in each view, and
read by RUN, a packaged or calibrated estimator, panda-2c by default.  With a prior of mean m and variance V, the linear
posterior mean of a reading a with standard deviation τ is m + V / (V + τ²) (a − m).  The readings are those of the
stored map to radians; τ is half the difference of the map one stored standard deviation above and below the coordinate.
Three priors are compared with none: that of a joint's two policies together, with one τ for all images of the same
kind or with that of each image, and the observational one, with one τ.  With --page, the table is written to
docs/method.md.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import origin
from benchmarks.live_videos import rendered
from benchmarks.new_poses import main_of
from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.evaluation.flags import occluded
from ropes.inference.estimator import Estimator
from ropes.report.table import Table, grouped, named_once
from ropes.report.words import in_words, joint_label, rms
from ropes.simulation.settings import Setting

PAGE = Path(__file__).parents[1] / "docs" / "method.md"
#: Sides of the squares, pixels.
SQUARES = (0, 32, 64)
#: Poses from which the moments of the priors come.
_DRAWN = 100_000


class Prior(NamedTuple):
    """Mean, radians, and variance, rad², of each joint's angles, (d,)."""

    mean: Floats
    variance: Floats


def priors(model: CausalModel, joints: tuple[str, ...]) -> dict[str, Prior]:
    """Those of both policies on each joint together, "policies", and without intervention, "observational"."""
    columns = [model.joints.index(joint) for joint in joints]
    rest = model.sample_observational(generator(0, "posterior means"), _DRAWN)[:, columns]
    moments = [[policy.moments() for policy in model.interventions[joint]] for joint in joints]
    means, variances = np.moveaxis(np.array(moments), -1, 0)  # (d, 2) each
    return {
        "policies": Prior(means.mean(1), variances.mean(1) + means.var(1)),
        "observational": Prior(rest.mean(0), rest.var(0)),
    }


def posterior_mean(readings: Floats, variance: Floats, prior: Prior) -> Floats:
    """m + V / (V + τ²) (a − m) of readings a (n, d), radians, with variances τ², (n, d) or (d,), rad²."""
    return prior.mean + prior.variance / (prior.variance + variance) * (readings - prior.mean)


def estimates(estimator: Estimator, images: Any, of: Mapping[str, Prior]) -> dict[str, Floats]:
    """Map in words → angles (n, d) of images, radians."""
    read, calibration = estimator.read(images), estimator.calibration
    if calibration is None or read.deviation is None:
        raise SystemExit("the run has no map to radians or no standard deviations of images")
    readings = calibration.angles(read.coordinates)
    ends = [calibration.angles(read.coordinates + sign * read.deviation) for sign in (1, -1)]
    by_image = np.square((ends[0] - ends[1]) / 2)
    return {
        "none": readings,
        "policies, one τ": posterior_mean(readings, by_image.mean(0), of["policies"]),
        "policies, τ of each image": posterior_mean(readings, by_image, of["policies"]),
        "observational, one τ": posterior_mean(readings, by_image.mean(0), of["observational"]),
    }


def measured(estimator: Estimator, setting: Setting, count: int) -> list[dict[str, Any]]:
    """The squared error of each joint, rad², of each map, for each kind of test poses."""
    joints, model = estimator.run.joints, setting.splits["train"]
    columns, of = [model.joints.index(joint) for joint in joints], priors(model, joints)
    rows: list[dict[str, Any]] = []
    for split in ("test-id", "test-ood"):
        if split not in setting.splits:
            continue
        angles = setting.splits[split].sample_observational(generator(1, "posterior means", split), count)
        images = rendered(setting, angles)
        for square in SQUARES:
            hidden = occluded(images, square, 0, split, "square")
            for words, found in estimates(estimator, hidden, of).items():
                mse = np.square(found - angles[:, columns]).mean(axis=0).tolist()
                kind = {"split": split.removeprefix("test-"), "square": square, "prior": words}
                rows.append({**kind, "mse": dict(zip(joints, mse, strict=True))})
    return rows


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, and what it is of."""
    joints, lines = list(found["rows"][0]["mse"]), list[tuple[str, list[str]]]()
    for (split, square), rows in grouped(found["rows"], lambda row: (row["split"], row["square"])).items():
        least = {joint: rms(min(row["mse"][joint] for row in rows)) for joint in joints}
        for row in rows:
            errors = {joint: rms(row["mse"][joint]) for joint in joints}
            shown = [f"**{error}**" if error == least[joint] else error for joint, error in errors.items()]
            lines.append((in_words(found["setting"], square, split), [row["prior"], *shown]))
    columns = ["test poses", "prior", *map(joint_label, joints)]
    return (
        f"{Table(columns, named_once(lines), texts=range(2)).markdown()}\n\n"
        f"Root mean square errors in degrees of `{found['run']}` on {found['count']:,} poses of each kind, the least "
        f"ones of a kind in bold; its map to radians was fitted without labels. {origin(found)}, "
        f"{found['seconds']} s.\n"
    )


def main() -> None:
    """Measure and print the table."""
    main_of(__doc__, "posterior-means", PAGE, measured, written, count=800, poses="kind")


if __name__ == "__main__":
    main()
