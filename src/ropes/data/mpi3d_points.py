"""Test points of MPI3D's grid that every method can read: by the camera of pairs, and by the cameras of anchors."""

from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.import_mpi3d import CAMERA, png_reader, request_of
from ropes.data.mpi3d import AXES, CAMERAS, SHAPE, allowed_numbers, angles_of, draw, open_grid
from ropes.data.writer import SplitPlan
from ropes.simulation.settings import MPI3D, MPI3D_GRID


def import_points(source: Path, *, out: Path, samples: int, seed: int = 0, progress: bool = True) -> Dataset:
    """Make a test split of grid points, uniform over all seven factors, with the angles of the two axes.

    A point has four images: camera "front" shows the photograph of the point itself, as data sets of
    `import_factors`; cameras "top", "center" and "bottom" show the photographs from all three heights that agree with
    it in the six other factors, as data sets of `import_anchors`.

    Args:
        source: see `open_grid`.
        out: folder of the data set.
        samples: points of the split test-id.
        seed: equal seeds give equal images.
        progress: show progress.

    Raises:
        UserError: the file is wrong, or `out` holds something else.
    """
    grid, cameras = open_grid(source), (CAMERA, *CAMERAS)
    allowed = allowed_numbers(grid.sizes, {}, (), axes=True)
    request = {
        **request_of(grid, seed=seed, fixed={}, cameras=cameras, grey=False),
        "samples": samples,
        "setting": {"name": MPI3D_GRID},
    }

    def states() -> dict[str, Floats]:
        numbers = draw(allowed, samples, generator(seed, "points"))
        return {"test-id": np.hstack([angles_of(numbers[:, -len(AXES) :]), numbers])}

    return building.build(
        out,
        request,
        features=schema.features(cameras, SHAPE, AXES),
        plans=[SplitPlan(name="test-id", episodes=samples, tasks=(0,))],
        states=states,
        render=png_reader(grid, len(AXES), [None, *range(len(CAMERAS))], grey=False, progress=progress),
        regimes=(Regime(),),
        robot_type=MPI3D,
        progress=progress,
        work="encoding, points",
    )
