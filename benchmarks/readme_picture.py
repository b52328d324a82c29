"""The picture of README: images that the packaged estimator has never seen, and the arm drawn at its estimates.

    python -m benchmarks.readme_picture [--poses 3] [--seed 11] [--picture docs/images/estimate.png] [--out FILE]

Upper row: two cameras' images of each pose.  Lower row: the same arm drawn at the estimated angles, and the largest
error of its six joints.  Nothing is chosen: the poses are the first ones of the seed.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import ropes
from benchmarks.figures import described, options, publish, simulate
from ropes.common import png
from ropes.common.files import atomic_path
from ropes.report.figures import make_panels, styled, to_png
from ropes.simulation.settings import SceneName, setting_named
from ropes.simulation.workers import render_poses

SETTING = "panda-2c-independent"
SCENE: SceneName = "panda-gym"
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "estimate.png"


@styled
def drawn(seen: np.ndarray, estimated: np.ndarray, errors: np.ndarray) -> Figure:
    """Poses (n, cameras, S, S) side by side, over what is drawn at the estimated angles."""
    count = len(seen)
    figure, panels = make_panels(2 * count, height=1.6, columns=count, width=3.1 * count)
    for place, panel in enumerate(panels):
        row, pose = divmod(place, count)
        views = (seen, estimated)[row][pose]
        panel.imshow(np.concatenate(list(views), axis=1), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        panel.axis("off")
        degrees = np.degrees(errors[pose].max())
        panel.set_title(("camera images", f"drawn at the estimate: within {degrees:.1f}°")[row], fontsize=8.5)
    return figure


def main() -> None:
    """Render, estimate, draw."""
    parser = options(__doc__)
    parser.add_argument("--poses", type=int, default=3)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments, began = parser.parse_args(), time.monotonic()
    estimator, setting = ropes.load("panda-2c"), setting_named(SETTING)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        words = f"--setting {SETTING} --scene {SCENE} --anchors 1 --test-anchors {arguments.poses}"
        simulate(f"{words} --seed {arguments.seed}", data)
        dataset = ropes.open_dataset(data)
        images, truth = estimator.images(dataset, "test-id"), dataset.states("test-id")
    angles = estimator.angles(images)
    made = render_poses(
        setting.robot, setting.cameras, setting.image_size, "simplified", estimator.run.joints, angles, 1, SCENE
    )
    side = (setting.image_size,) * 2
    estimated = np.array([[png.decode(data, side) for data in views] for views in made])
    errors = np.abs(angles - truth)
    content = to_png(drawn(estimator.shown(images), estimated, errors))
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(arguments.picture) as temporary:
        temporary.write_bytes(content)
    publish({f"pose_{k}_degrees": float(np.degrees(row.max())) for k, row in enumerate(errors)}, arguments.out)
    print(described(began))


if __name__ == "__main__":
    main()
