"""Makes data sets of MPI3D's photographs: anchors under interventions on the axes, or pairs that differ in a factor."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ropes.causal.scm import CausalModel, Regime
from ropes.common import png
from ropes.common.arrays import Floats, Images, Ints
from ropes.common.seeds import generator
from ropes.common.units import GIVE_RADIANS, TURN, in_both_units
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.mpi3d import (
    AXES,
    CAMERAS,
    HEIGHT,
    NAMES,
    POSITIONS,
    RANGE,
    SHAPE,
    Grid,
    allowed_numbers,
    angles_of,
    draw,
    open_grid,
    positions_of,
)
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation.arm import OOD_SHIFTS, independent_model
from ropes.simulation.settings import MPI3D, MPI3D_FACTORS

#: The only camera of a data set of factors, which have the camera's height among them.
CAMERA = "front"
_AXES = len(AXES)
#: Entry of `meta/ropes.json` with the number of test poses whose photograph training has too.
SHARED = "test_poses_of_training"


def import_anchors(
    source: Path,
    *,
    out: Path,
    anchors: int,
    test_anchors: int = 2_000,
    seed: int = 0,
    cameras: Sequence[str] = (),
    fixed: Mapping[str, int] | None = None,
    models: Mapping[str, CausalModel] | None = None,
    grey: bool = False,
    progress: bool = True,
) -> Dataset:
    """Make a data set of anchors: the two axes are the joints; the same call resumes or repairs it.

    A drawn angle stands for the nearest of the axis's 40 positions.  The other factors are drawn once for each anchor,
    uniformly.  Those of a test pose are drawn among the photographs that training does not have; if it has all of them,
    among all.

    Args:
        source: see `open_grid`.
        out: folder of the data set.
        anchors: training anchors, each with one pose under each regime.
        test_anchors: poses of each test split; 0 leaves the test splits out.
        seed: equal seeds give equal images.
        cameras: camera heights to import, each as one camera; all three if empty.
        fixed: factor → number of its value in all photographs; not an axis and not the camera's height.
        models: split → causal model of the two axes, for train and for any test splits; if None, that of
            `ropes.simulation.arm.independent_model` over 180° of each axis, in all three splits of `arm_setting`.
        grey: store grey images instead of RGB.
        progress: show progress.

    Raises:
        UserError: a number or an angle is out of range, an unknown factor or camera, the file is wrong, or `out` holds
            something else.
    """
    if anchors < 1 or test_anchors < 0:
        raise UserError(f"{anchors} anchors and {test_anchors} test anchors: give at least 1 and 0")
    grid, cameras = open_grid(source), tuple(cameras) or CAMERAS
    allowed = allowed_numbers(grid.sizes, fixed or {}, cameras, axes=False)
    if models is None:
        ranges = dict.fromkeys(AXES, RANGE)
        model = independent_model(ranges)
        models = {"train": model, "test-id": model, "test-ood": independent_model(ranges, OOD_SHIFTS)}
    if not test_anchors:
        models = {"train": models["train"]}
    regimes = models["train"].regimes
    numbers = _poses(models, allowed, grid.sizes, anchors, test_anchors, seed)
    request = {
        **request_of(grid, seed=seed, fixed=fixed or {}, cameras=cameras, grey=grey),
        "anchors": anchors,
        "test_anchors": test_anchors,
        "setting": {
            "name": MPI3D,
            "backgrounds": len(allowed[NAMES.index("background_color")]),
            "splits": {name: each.to_dict() for name, each in models.items()},
        },
        SHARED: _shared(grid, numbers),
    }
    plans = [SplitPlan(name="train", episodes=anchors, tasks=tuple(range(len(regimes))))]
    plans += [SplitPlan(name=name, episodes=test_anchors, tasks=(0,)) for name in models if name != "train"]
    heights = [CAMERAS.index(camera) for camera in cameras]
    return building.build(
        out,
        request,
        features=schema.features(cameras, SHAPE[:2] if grey else SHAPE, AXES),
        plans=plans,
        states=lambda: {name: np.hstack([angles_of(each[:, -_AXES:]), each]) for name, each in numbers.items()},
        render=png_reader(grid, _AXES, heights, grey=grey, progress=progress),
        regimes=regimes,
        robot_type=MPI3D,
        progress=progress,
        work="encoding, poses",
    )


def import_factors(
    source: Path,
    *,
    out: Path,
    samples: int,
    test_samples: int = 2_000,
    labelled: int | None = None,
    seed: int = 0,
    cameras: Sequence[str] = (),
    fixed: Mapping[str, int] | None = None,
    grey: bool = False,
    progress: bool = True,
) -> Dataset:
    """Make a data set of factors, as that of finger and cube: training pairs that differ in one factor.

    Factors are uniform over the grid, and so is the factor in which a pair differs.  Splits are drawn one by one, so
    that a photograph may be in several, as where others train and measure on all photographs.  Factors with one value
    are left out.  Angles of the axes are in radians, other factors are numbers of values.

    Args:
        source: see `open_grid`.
        out: folder of the data set.
        samples: training images, an even number.
        test_samples: images of the test split; 0 leaves it out.
        labelled: images of the split for regressors; None for as many as the test split has.
        seed: equal seeds give equal images.
        cameras: values of the factor camera_height; all three if empty.
        fixed: factor → number of its value in all photographs; not the camera's height.
        grey: store grey images instead of RGB.
        progress: show progress.

    Raises:
        UserError: a number is out of range, an unknown factor or camera, fewer than two values in all, the file is
            wrong, or `out` holds something else.
    """
    labelled = test_samples if labelled is None else labelled
    if samples < 2 or samples % 2 or min(test_samples, labelled) < 0:
        raise UserError(
            f"{samples} samples, {test_samples} test samples and {labelled} labelled ones: give an even number of at "
            "least 2, and at least 0"
        )
    grid = open_grid(source)
    allowed = allowed_numbers(grid.sizes, fixed or {}, cameras, axes=True)
    varying = [k for k, numbers in enumerate(allowed) if len(numbers) > 1]
    if not varying:
        raise UserError("every factor is fixed; leave one free, in which the images of a pair can differ")
    counts = {name: count for name, count in (("test-id", test_samples), ("labelled", labelled)) if count}
    request = {
        **request_of(grid, seed=seed, fixed=fixed or {}, cameras=(CAMERA,), grey=grey),
        "samples": samples,
        "test_samples": test_samples,
        "labelled": labelled,
        "setting": {"name": MPI3D_FACTORS, "camera_heights": [CAMERAS[k] for k in allowed[HEIGHT]]},
    }

    def states() -> dict[str, Floats]:
        drawn = {name: draw(allowed, count, generator(seed, name)) for name, count in counts.items()}
        drawn["train"] = _pairs(allowed, varying, samples // 2, generator(seed, "train"))
        return {name: np.hstack([factor_values(each)[:, varying], each]) for name, each in drawn.items()}

    return building.build(
        out,
        request,
        features=schema.features((CAMERA,), SHAPE[:2] if grey else SHAPE, [NAMES[k] for k in varying]),
        plans=[
            SplitPlan(name="train", episodes=samples // 2, tasks=(0, 0)),
            *(SplitPlan(name=name, episodes=count, tasks=(0,)) for name, count in counts.items()),
        ],
        states=states,
        render=png_reader(grid, len(varying), [None], grey=grey, progress=progress),
        regimes=(Regime(),),
        robot_type=MPI3D,
        progress=progress,
        work="encoding, images",
    )


def factor_values(numbers: Ints) -> Floats:
    """The factors' values, (n, 7): angles of the axes in radians, numbers of the other values as they are."""
    return np.hstack([numbers[:, :-_AXES].astype(np.float64), angles_of(numbers[:, -_AXES:])])


def request_of(
    grid: Grid, *, seed: int, fixed: Mapping[str, int], cameras: Sequence[str], grey: bool
) -> dict[str, Any]:
    """What both kinds of data sets depend on."""
    return {
        **building.versions(),
        "source": dict(grid.record),
        "seed": seed,
        "fixed": dict(fixed),
        "grey": grey,
        "cameras": [{"name": camera} for camera in cameras],
    }


def _poses(
    models: Mapping[str, CausalModel],
    allowed: Sequence[Ints],
    sizes: Sequence[int],
    anchors: int,
    test_anchors: int,
    seed: int,
) -> dict[str, Ints]:
    """Split → numbers of the factors' values of its frames, (frames, 7); the camera's height is 0."""
    objects = (*allowed[:HEIGHT], np.array([0]), *allowed[HEIGHT + 1 : -_AXES])
    regimes = len(models["train"].regimes)
    positions = _positions(models["train"].sample(generator(seed, "train"), anchors)).reshape(-1, _AXES)
    drawn = draw(objects, anchors, generator(seed, "train", "objects")).repeat(regimes, axis=0)
    numbers = {"train": np.hstack([drawn, positions])}
    every = np.stack([each.ravel() for each in np.meshgrid(*objects, indexing="ij")], axis=1)
    trained = np.zeros((*sizes[:-_AXES], POSITIONS, POSITIONS), bool)
    trained[tuple(numbers["train"].T)] = True
    for name in models.keys() - {"train"}:
        positions = _positions(models[name].sample_observational(generator(seed, name), test_anchors))
        rng, chosen = generator(seed, name, "objects"), np.empty((test_anchors, every.shape[1]), np.int64)
        for row, position in enumerate(positions):
            new = every[~trained[(*every.T, *position)]]
            chosen[row] = rng.choice(new if len(new) else every)
        numbers[name] = np.hstack([chosen, positions])
    return numbers


def _positions(angles: Floats) -> Ints:
    """The positions of drawn angles, radians.

    Raises:
        UserError: an angle is outside an axis's range.
    """
    if (largest := float(np.abs(angles).max())) > RANGE[1]:
        hint = f"; {GIVE_RADIANS}" if largest > TURN else ""
        raise UserError(f"the causal model gives an axis {in_both_units(largest)}; it has -90° to 90°{hint}")
    return positions_of(angles)


def _shared(grid: Grid, numbers: Mapping[str, Ints]) -> int:
    """Number of test poses whose photograph training has too."""
    rows = {name: grid.rows(each) for name, each in numbers.items()}
    return int(sum(np.isin(each, rows["train"]).sum() for name, each in rows.items() if name != "train"))


def _pairs(allowed: Sequence[Ints], varying: Sequence[int], count: int, rng: np.random.Generator) -> Ints:
    """Pairs of numbers that differ in one factor, uniformly drawn, (2 count, 7); the two images follow each other."""
    first = draw(allowed, count, rng)
    second, factor = first.copy(), rng.choice(varying, count)
    for k in varying:
        rows = np.flatnonzero(factor == k)
        at = np.searchsorted(allowed[k], first[rows, k])
        second[rows, k] = allowed[k][(at + rng.integers(1, len(allowed[k]), len(rows))) % len(allowed[k])]
    return np.stack([first, second], axis=1).reshape(-1, len(allowed))


def png_reader(
    grid: Grid, stored: int, heights: Sequence[int | None], *, grey: bool, progress: bool
) -> Callable[[Floats], Iterator[list[bytes]]]:
    """Values of frames → PNG bytes of each camera.

    Args:
        grid: the photographs.
        stored: number of values before the numbers of the factors' values.
        heights: number of the camera's height of each camera; None for that of the frame.
        grey: encode grey images.
        progress: show progress.
    """

    def encoded(image: Images) -> bytes:
        return png.encode(np.asarray(Image.fromarray(image).convert("L")) if grey else image)

    def read(values: Floats) -> Iterator[list[bytes]]:
        numbers, rows = values[:, stored:].astype(np.int64), []
        for height in heights:
            if height is not None:
                numbers[:, HEIGHT] = height
            rows.append(grid.rows(numbers))
        by_camera = np.stack(rows, axis=1)
        photographs = grid.photographs(by_camera, progress=progress)  # before anything is written
        return ([encoded(image) for image in photographs.take(views)] for views in by_camera)

    return read
