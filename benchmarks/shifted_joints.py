"""Why shifted poses are read worse: the joint's own angle is rarer in training, or the angles of other joints are.

    python -m benchmarks.shifted_joints [RUN] [--count 2000] [--out results/shifted-joints.json] [--page]

The shifted test poses of a setting draw some joints from other distributions than in training.  Where joints are
independent, every subset of these joints can be shifted alone.  Such poses are rendered for each subset and read by
RUN, a packaged or calibrated estimator of that setting, panda-2c by default.  Its map to radians stays as it is.  The
share of a cause is a part of the increase of a joint's squared error from poses in distribution to shifted ones: that
of its own angle, if only this joint is shifted, and that of the others, if all but this joint are.  With --page, the
tables are written to docs/curves.md.
"""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import origin, table
from benchmarks.live_videos import rendered
from benchmarks.new_poses import main_of
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.inference.estimator import Estimator
from ropes.report.words import joint_label, rms
from ropes.simulation.settings import Setting

PAGE = Path(__file__).parents[1] / "docs" / "curves.md"


def shifted_joints(setting: Setting) -> tuple[str, ...]:
    """The joints that the shifted test poses draw from another distribution than the training poses."""
    usual, other = (setting.splits[split].observational for split in ("test-id", "test-ood"))
    return tuple(joint for joint in setting.splits["test-id"].joints if usual[joint] != other[joint])


def drawn(setting: Setting, shifted: tuple[str, ...], count: int) -> Floats:
    """Poses (count, d), radians, of which some joints are shifted; the others are the same for every subset."""
    joints = setting.splits["test-id"].joints
    usual, other = (
        setting.splits[split].sample_observational(generator(0, "shifted joints", split), count)
        for split in ("test-id", "test-ood")
    )
    return np.where([joint in shifted for joint in joints], other, usual)


def measured(estimator: Estimator, setting: Setting, count: int) -> list[dict[str, Any]]:
    """The squared error of each joint, rad², for each subset of the shifted joints; the first is the empty one."""
    joints, candidates = setting.splits["test-id"].joints, shifted_joints(setting)
    columns = [joints.index(joint) for joint in estimator.run.joints]
    rows: list[dict[str, Any]] = []
    for size in range(len(candidates) + 1):
        for shifted in combinations(candidates, size):
            angles = drawn(setting, shifted, count)
            errors = estimator.angles(rendered(setting, angles)) - angles[:, columns]
            mse = np.square(errors).mean(axis=0)
            rows.append({"shifted": list(shifted), "mse": dict(zip(estimator.run.joints, mse.tolist(), strict=True))})
    return rows


def shares(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Shifted joint → shares of the increase by its own angle, and by the others', if it is at least 5%."""
    at = {tuple(row["shifted"]): row["mse"] for row in rows}
    every, found = rows[-1]["shifted"], {}
    for joint in every:
        usual = at[()][joint]
        increase = at[tuple(every)][joint] - usual
        if increase >= 0.05 * usual:
            parts = (tuple(each for each in every if (each == joint) == own) for own in (True, False))
            own, others = ((at[part][joint] - usual) / increase for part in parts)
            found[joint] = (own, others)
    return found


def written(found: Mapping[str, Any]) -> str:
    """The Markdown tables of such figures, and what they are of."""
    joints = list(found["rows"][0]["mse"])
    named = [" and ".join(map(joint_label, row["shifted"])) or "none" for row in found["rows"]]
    lines = [
        [name, *(rms(row["mse"][joint]) for joint in joints)] for name, row in zip(named, found["rows"], strict=True)
    ]
    causes = [
        [joint_label(joint), f"{own:.0%}", f"{others:.0%}"] for joint, (own, others) in shares(found["rows"]).items()
    ]
    return (
        f"{table(['shifted', *map(joint_label, joints)], lines)}\n"
        f"{table(['error of', 'more by its own angle', 'more by other joints'], causes)}\n"
        f"Root mean square errors in degrees of `{found['run']}` on {found['count']:,} poses each, and shares of the "
        f"increase of the squared error. {origin(found)}, {found['seconds']} s.\n"
    )


def main() -> None:
    """Measure and print the tables."""
    main_of(__doc__, "shifted-joints", PAGE, measured, written, count=2_000, poses="subset")


if __name__ == "__main__":
    main()
