"""Draws docs/images/estimate.png: images that the packaged estimator never saw, and the estimated arm over them.

python tools/docs/estimate.py [--poses 3] [--seed 11]

Upper row: two cameras' images of each pose.  Lower row: the outline of the arm at the estimated angles over the same
images, and the largest error of its six joints.  Nothing is chosen: the poses are the first ones of the seed.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ropes
from ropes.inference.overlay import Overlay, enlarged, known_cameras
from ropes.inference.poses import chosen_arm
from ropes.report.figures import make_panels, styled, to_png

OUT = Path(__file__).parents[2] / "docs" / "images" / "estimate.png"
SIDE = 256


@styled
def drawn(seen: list[np.ndarray], estimated: list[np.ndarray], errors: np.ndarray) -> Figure:
    """Images of each pose, (SIDE, cameras · SIDE, 3) each, over those with the estimated arm."""
    count = len(seen)
    figure, panels = make_panels(2 * count, height=1.75, columns=count, width=3.4 * count)
    for place, panel in enumerate(panels):
        row, pose = divmod(place, count)
        panel.imshow((seen, estimated)[row][pose], interpolation="antialiased")
        panel.axis("off")
        degrees = np.degrees(errors[pose].max())
        panel.set_title(("camera images", f"estimated arm: within {degrees:.1f}°")[row], fontsize=9)
    return figure


def main() -> None:
    """Render, estimate, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=3)
    parser.add_argument("--seed", type=int, default=11)
    arguments = parser.parse_args()
    estimator = ropes.load("panda-2c")
    with tempfile.TemporaryDirectory() as folder:
        setting = replace(ropes.setting_named(estimator.run.setting), scene="panda-gym")
        counts = {"anchors": 1, "test_anchors": arguments.poses, "seed": arguments.seed}
        ropes.simulate(setting, out=Path(folder) / "data", progress=False, **counts)
        dataset = ropes.open_dataset(Path(folder) / "data")
        images, truth = estimator.images(dataset, "test-id", arguments.poses), dataset.states("test-id")
    angles = estimator.angles(images)
    overlay = Overlay(chosen_arm(estimator.run), estimator.run.cameras, known_cameras(estimator.run), SIDE)
    seen = [np.concatenate([enlarged(view, SIDE) for view in pose], axis=1) for pose in images]
    estimated = [np.concatenate(overlay.draw(pose, row), axis=1) for pose, row in zip(images, angles, strict=True)]
    OUT.write_bytes(to_png(drawn(seen, estimated, np.abs(angles - truth[: len(angles)]))))


if __name__ == "__main__":
    main()
