"""Simulates finger and cube: training pairs that differ in one factor, single images for regressors and tests."""

from functools import partial

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats, Ints
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation.finger import FingerScene, finger_digest
from ropes.simulation.finger_setting import FACTORS, HUE, NAMES, FingerSetting, FingerSplit, factor_values
from ropes.simulation.mujoco_finger import MujocoFingerScene
from ropes.simulation.workers import Workers, render, require_workers

#: Largest number of states drawn at a time; most states are feasible.
_BATCH = 1_024


def simulate_finger(
    setting: FingerSetting,
    *,
    out: Location | str,
    samples: int,
    test_samples: int = 2_000,
    labelled: int | None = None,
    seed: int = 0,
    workers: Workers = None,
    state: bool = True,
    progress: bool = True,
) -> Dataset:
    """Simulate finger and cube; the same call resumes or repairs the data set.

    A training episode is a pair of images that differ in exactly one factor.  States are uniform over the feasible
    points of the factors' grid.

    Source: Dittadi et al. 2021, Section 3 and App. B.1.

    Args:
        setting: appearance of the scene, and the hues of each split.
        out: folder of the data set, or the URL of one on an object store.
        samples: training images, an even number.
        test_samples: images of each test split; 0 leaves the test splits out.
        labelled: images of each split for regressors; None for as many as a test split has.
        seed: equal seeds give identical bytes.
        workers: number of rendering processes; None for one per core; or a cluster, see
            `ropes.common.ray_connection.connect`.
        state: store the factors too.
        progress: show progress.

    Raises:
        UserError: an argument out of range, the meshes are not installed, or `out` holds something else.
    """
    if samples < 2 or samples % 2 or test_samples < 0:
        raise UserError(
            f"{samples} samples and {test_samples} test samples: give an even number of at least 2, and at least 0"
        )
    labelled = test_samples if labelled is None else labelled
    if labelled < 0:
        raise UserError(f"{labelled} labelled samples: give at least 0")
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
        "cameras": building.camera_records((camera,), size),
        **building.renderer_record(setting.renderer, workers),
    }
    start = partial(MujocoFingerScene, setting, seed) if setting.renderer == "mujoco" else partial(FingerScene, setting)
    counts = {
        name: labelled if split.labelled else test_samples for name, split in setting.splits.items() if name != "train"
    }
    plans = [
        SplitPlan(name="train", episodes=samples // 2, tasks=(0, 0)),
        *(SplitPlan(name=name, episodes=count, tasks=(0,)) for name, count in counts.items()),
    ]

    def states() -> dict[str, Floats]:
        values = {}
        with FingerScene(setting) as scene:
            for name, split in setting.splits.items():
                rng = generator(seed, name)
                if name == "train":
                    numbers = draw_pairs(scene, split, samples // 2, rng).reshape(samples, len(FACTORS))
                else:
                    numbers = draw_states(scene, split, counts[name], rng)
                values[name] = np.column_stack([factor_values(numbers), np.full(len(numbers), split.domain)])
        return values

    return building.build(
        out,
        request,
        features=schema.features((camera.name,), (size, size, 3), NAMES if state else None),
        plans=plans,
        states=states,
        render=lambda frames: render(start, frames, workers),
        regimes=(Regime(),),
        robot_type="finger_with_stage",
        progress=progress,
    )


def draw_states(scene: FingerScene, split: FingerSplit, count: int, rng: np.random.Generator) -> Ints:
    """Feasible states as indices into the factors' grids, (count, 7), uniform over the feasible ones."""
    accepted = [np.empty((0, len(FACTORS)), np.int64)]
    while (missing := count - sum(map(len, accepted))) > 0:
        numbers = _numbers(split, min(missing, _BATCH), rng)
        accepted.append(numbers[scene.feasible(factor_values(numbers))])
    return np.concatenate(accepted)


def draw_pairs(scene: FingerScene, split: FingerSplit, count: int, rng: np.random.Generator) -> Ints:
    """Pairs of feasible states that differ in one factor, (count, 2, 7).

    Factor and new value are uniform; both are drawn again where the new state is not feasible.
    """
    first = draw_states(scene, split, count, rng)
    second, pending = first.copy(), np.arange(count)
    while len(pending):
        changed = first[pending]
        rows = np.arange(len(pending))
        factor = rng.integers(len(FACTORS), size=len(pending))
        changed[rows, factor] = _numbers(split, len(pending), rng)[rows, factor]
        accepted = (changed != first[pending]).any(axis=1)
        accepted[accepted] = scene.feasible(factor_values(changed[accepted]))
        second[pending[accepted]] = changed[accepted]
        pending = pending[~accepted]
    return np.stack([first, second], axis=1)


def _numbers(split: FingerSplit, count: int, rng: np.random.Generator) -> Ints:
    """Uniform indices into the factors' grids, (count, 7), hues of the split only."""
    numbers = np.stack([rng.integers(factor.count, size=count) for factor in FACTORS], axis=1)
    numbers[:, HUE] = rng.choice(np.array(split.hues), size=count)
    return numbers
