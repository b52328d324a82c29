"""Simulates finger and cube: pairs that differ in one factor for training, single images for regressors and tests."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import Regime
from ropes.common.seeds import generator
from ropes.data import build as building
from ropes.data import schema, writer
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation import cameras
from ropes.simulation.finger import FingerScene, finger_digest
from ropes.simulation.finger_setting import FACTORS, HUE, NAMES, FingerSetting, FingerSplit, factor_values
from ropes.simulation.workers import render, require_workers

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
#: States asked at a time: most of them are possible.
_DRAWN = 1_024


def simulate_finger(
    setting: FingerSetting,
    *,
    out: Path | str,
    samples: int,
    test_samples: int = 2_000,
    labelled: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    state: bool = True,
    progress: bool = True,
) -> Dataset:
    """Simulate the finger with its cube, or go on with a data set that was interrupted or lost a file.

    A training episode is a pair of images that differ in exactly one factor, which one is for nobody to know but by
    the factors.  States are drawn evenly over the grid of factors, and those that cannot be are drawn again.

    Source: Dittadi et al. 2021, Section 3 and App. B.1.

    Args:
        setting: how the scene looks, and the hues of each split.
        out: folder of the data set.
        samples: training images, an even number.
        test_samples: images of each test split; none of them with 0.
        labelled: images of each split that regressors learn from; None for as many as of a test split.
        seed: the same seed gives the same bytes.
        workers: processes that render; one for each core when None.
        state: store the factors too.
        progress: show progress.

    Raises:
        UserError: an option out of range, the meshes are not installed, or `out` holds something else.
    """
    if samples < 2 or samples % 2 or test_samples < 0:
        raise UserError(f"{samples} samples and {test_samples} test samples: an even number from 2 on, and from 0 on")
    labelled = test_samples if labelled is None else labelled
    if labelled < 0:
        raise UserError(f"{labelled} labelled samples: a number from 0 on")
    require_workers(workers)
    camera, size = setting.domains[0].camera, setting.image_size
    request = {
        **building.versions(),
        "state": state,
        "seed": seed,
        "samples": samples,
        "test_samples": test_samples,
        "labelled": labelled,
        "setting": setting.to_dict(),
        "arm_sha256": finger_digest(),
        "cameras": [{"name": camera.name, **cameras.record(camera, size)}],
    }
    singles = {
        name: labelled if split.labelled else test_samples for name, split in setting.splits.items() if name != "train"
    }
    plans = [
        SplitPlan(name="train", episodes=samples // 2, tasks=(0, 0)),
        *(SplitPlan(name=name, episodes=count, tasks=(0,)) for name, count in singles.items()),
    ]

    def states() -> dict[str, Floats]:
        with FingerScene(setting) as scene:
            drawn = {}
            for name, split in setting.splits.items():
                rng = generator(seed, name)
                if name == "train":
                    numbers = draw_pairs(scene, split, samples // 2, rng).reshape(samples, len(FACTORS))
                else:
                    numbers = draw_states(scene, split, singles[name], rng)
                drawn[name] = np.column_stack([factor_values(numbers), np.full(len(numbers), split.domain)])
        return drawn

    def photographs(wanted: Floats) -> Iterator[list[bytes]]:
        return render(partial(FingerScene, setting), wanted, workers)

    return building.build(
        Path(out),
        request,
        features=schema.features((camera.name,), (size, size, 3), NAMES if state else None),
        shards=writer.plan_shards(plans, 1, writer.IMAGES_PER_SHARD),
        states=states,
        render=photographs,
        regimes=(Regime(),),
        robot_type="finger_with_stage",
        progress=progress,
    )


def draw_states(scene: FingerScene, split: FingerSplit, count: int, rng: np.random.Generator) -> Numbers:
    """Possible states, as numbers of grid values (count, 7), evenly over all that are."""
    found = [np.empty((0, len(FACTORS)), np.int64)]
    while (missing := count - sum(map(len, found))) > 0:
        drawn = _numbers(split, min(missing, _DRAWN), rng)
        found.append(drawn[scene.feasible(factor_values(drawn))])
    return np.concatenate(found)


def draw_pairs(scene: FingerScene, split: FingerSplit, count: int, rng: np.random.Generator) -> Numbers:
    """Pairs of possible states that differ in one factor, (count, 2, 7): which one, and to what, is drawn evenly.

    Where the other state cannot be, factor and value are drawn again.
    """
    first = draw_states(scene, split, count, rng)
    second, left = first.copy(), np.arange(count)
    while len(left):
        changed = first[left]
        rows = np.arange(len(left))
        factor = rng.integers(len(FACTORS), size=len(left))
        changed[rows, factor] = _numbers(split, len(left), rng)[rows, factor]
        good = (changed != first[left]).any(axis=1)
        good[good] = scene.feasible(factor_values(changed[good]))
        second[left[good]] = changed[good]
        left = left[~good]
    return np.stack([first, second], axis=1)


def _numbers(split: FingerSplit, count: int, rng: np.random.Generator) -> Numbers:
    numbers = np.stack([rng.integers(factor.count, size=count) for factor in FACTORS], axis=1)
    numbers[:, HUE] = rng.choice(np.array(split.hues), size=count)
    return numbers
