"""Simulates image pairs before and after an action: objects in a scene, and joints of an arm."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.common.units import in_both_units
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation.action_scene import CAMERA, ActionScene
from ropes.simulation.actions import (
    ACTIONS,
    ANTONYMS,
    IID,
    SPLITS,
    THINGS,
    TRAIN,
    VALIDATION,
    Action,
    PairsSetting,
    actions_on,
    symmetric_antonyms,
)
from ropes.simulation.availability import locate
from ropes.simulation.mesh import arm_digest
from ropes.simulation.mujoco_actions import MujocoActionScene
from ropes.simulation.objects import objects_digest
from ropes.simulation.settings import Setting
from ropes.simulation.workers import Workers, render, render_poses, require_workers

#: Range of the step of the moved joint, and standard deviation of the other joints' displacements, radians.
STEP, ARM_JITTER = (0.15, 0.6), 0.02


def simulate_pairs(
    setting: PairsSetting,
    *,
    out: Location | str,
    samples: int,
    test_samples: int = 2_000,
    seed: int = 0,
    workers: Workers = None,
    progress: bool = True,
) -> Dataset:
    """Simulate actions on objects; the same call resumes or repairs the data set.

    An episode is a pair of images, its task an action.  The setting holds some actions out of training, validation and
    the test in distribution; the two tests under shift have only these.

    Args:
        setting: the scene, and the held-out actions.
        out: folder of the data set, or the URL of one on an object store.
        samples: training images, an even number.
        test_samples: images of each other split, an even number.
        seed: equal seeds give identical bytes.
        workers: number of rendering processes; None for one per core; or a cluster, see
            `ropes.common.ray_connection.connect`.
        progress: show progress.

    Raises:
        UserError: an argument out of range, or `out` holds something else.
    """
    _require_even(samples, test_samples)
    require_workers(workers)
    actions = {
        split: _actions_of(setting, split, samples if split == TRAIN else test_samples, seed) for split in SPLITS
    }
    request = {
        **building.versions(),
        "seed": seed,
        "samples": samples,
        "test_samples": test_samples,
        "setting": setting.to_dict(),
        "actions": [action.name for action in ACTIONS],
        "antonyms": ANTONYMS,
        "things_sha256": objects_digest(),
        "cameras": building.camera_records((CAMERA,), setting.image_size),
        **building.renderer_record(setting.renderer, workers),
    }
    scene = MujocoActionScene if setting.renderer == "mujoco" else ActionScene

    def states() -> Mapping[str, Floats]:
        """Split → input of `ActionScene`: pair number, 0 before or 1 after, action; (2 pairs, 3)."""
        frames, first = {}, 0
        for split, numbers in actions.items():
            pairs = np.repeat(first + np.arange(len(numbers)), 2)
            columns = [pairs, np.tile([0, 1], len(numbers)), np.repeat(np.array(numbers, np.int64), 2)]
            frames[split] = np.column_stack(columns).astype(np.float64)
            first += len(numbers)
        return frames

    return building.build(
        out,
        request,
        features=schema.features((CAMERA.name,), (setting.image_size, setting.image_size, 3), None),
        plans=_plans(actions),
        states=states,
        render=lambda frames: render(partial(scene, setting, seed), frames, workers),
        regimes=ACTIONS,
        robot_type="things",
        progress=progress,
    )


def simulate_arm_actions(
    setting: Setting,
    *,
    out: Location | str,
    samples: int,
    test_samples: int = 2_000,
    seed: int = 0,
    workers: Workers = None,
    progress: bool = True,
) -> Dataset:
    """Simulate an arm that moves one joint up or down; the same call resumes or repairs the data set.

    An episode is a pair of poses.  The first is uniform over the joints' ranges.  In the second, one joint is moved by
    a step of `STEP` radians, and all others by normal noise of standard deviation `ARM_JITTER`.

    Args:
        setting: robot, cameras, and a causal model with the joints' ranges.
        out: folder of the data set, or the URL of one on an object store.
        samples: training images, an even number.
        test_samples: images of each other split, an even number.
        seed: equal seeds give identical bytes.
        workers: number of rendering processes; None for one per core; or a cluster, see
            `ropes.common.ray_connection.connect`.
        progress: show progress.

    Raises:
        UserError: an argument out of range, a joint without a range or with a small one, a setting whose cameras have
            faults, or `out` holds something else.
    """
    _require_even(samples, test_samples)
    require_workers(workers)
    if setting.camera_level != "clean":
        raise UserError(f"pairs of an arm have clean cameras, and {setting.name} has {setting.camera_level} ones")
    setting = setting.with_renderer(building.begun_renderer(out))
    model = setting.splits["train"]
    ranges, urdf = _ranges(setting), locate(setting.robot.urdf)
    actions = tuple(Action(f"{joint} {way}") for joint in model.joints for way in ("up", "down"))
    opposites = symmetric_antonyms((f"{joint} up", f"{joint} down") for joint in model.joints)
    counts = {split: (samples if split == TRAIN else test_samples) // 2 for split in (TRAIN, VALIDATION, IID)}
    numbers = {split: _shuffled(np.arange(n) % len(actions), seed, split) for split, n in counts.items()}
    request = {
        **building.versions(),
        "seed": seed,
        "samples": samples,
        "test_samples": test_samples,
        "setting": {**building.described(setting), "name": f"{setting.name}-actions"},
        "antonyms": opposites,
        "arm_sha256": arm_digest(urdf),
        "cameras": building.camera_records(setting.cameras, setting.image_size),
        **building.renderer_record(setting.renderer, workers),
    }
    names, size = tuple(camera.name for camera in setting.cameras), setting.image_size
    return building.build(
        out,
        request,
        features=schema.features(names, (size, size, 3) if setting.colour else (size, size), model.joints),
        plans=_plans(numbers),
        states=lambda: {
            split: _moves(ranges, chosen, generator(seed, "moves", split)) for split, chosen in numbers.items()
        },
        render=lambda poses: render_poses(setting, model.joints, poses, workers, seed=seed),
        regimes=actions,
        robot_type=urdf.stem,
        progress=progress,
        urdf=urdf,
    )


def _require_even(samples: int, test_samples: int) -> None:
    if samples < 2 or samples % 2 or test_samples < 0 or test_samples % 2:
        raise UserError(f"{samples} samples and {test_samples} test samples: give even numbers, at least 2 and 0")


def _actions_of(setting: PairsSetting, split: str, images: int, seed: int) -> tuple[int, ...]:
    """Action of each pair of a split, shuffled; a noun's share is its weight, divided evenly among its actions."""
    shares = np.zeros(len(ACTIONS))
    for number, action in enumerate(ACTIONS):
        test_split = setting.held_out.split_of(action)
        if test_split == split or (test_split is None and split in (TRAIN, VALIDATION, IID)):
            shares[number] = THINGS[action.noun].weight / len(actions_on(action.noun))
    bounds = np.round(np.cumsum(shares) / shares.sum() * (images // 2)).astype(np.int64)
    return _shuffled(np.repeat(np.arange(len(ACTIONS)), np.diff(bounds, prepend=0)), seed, split)


def _shuffled(actions: NDArray[np.int64], seed: int, split: str) -> tuple[int, ...]:
    return tuple(generator(seed, "actions", split).permutation(actions).tolist())


def _plans(actions: Mapping[str, Sequence[int]]) -> list[SplitPlan]:
    return [
        SplitPlan(name=split, episodes=len(numbers), tasks=(0, 0), actions=tuple(numbers))
        for split, numbers in actions.items()
        if len(numbers)
    ]


def _ranges(setting: Setting) -> Floats:
    """Lowest and highest angle of each joint, (joints, 2) radians."""
    model: Any = setting.splits["train"]
    ranges = []
    for joint in model.joints:
        distribution = model.observational.get(joint)
        if distribution is None:
            raise UserError(
                f"joint {joint} is affected by others in setting {setting.name}; choose one with independent joints"
            )
        if (width := distribution.high - distribution.low) <= STEP[1]:
            raise UserError(
                f"joint {joint} has a range of {in_both_units(width)}; give more than {in_both_units(STEP[1])}"
            )
        ranges.append((distribution.low, distribution.high))
    return np.array(ranges)


def _moves(ranges: Floats, actions: Sequence[int], rng: np.random.Generator) -> Floats:
    """Poses before and after, alternating, (2 pairs, joints) radians; within the ranges."""
    count, low, high = len(actions), ranges[:, 0], ranges[:, 1]
    joint, sign = np.array(actions, np.int64) // 2, 1 - 2 * (np.array(actions, np.int64) % 2)
    before = rng.uniform(low, high, (count, len(ranges)))
    after = before + rng.normal(0, ARM_JITTER, before.shape)
    step, rows = rng.uniform(*STEP, count), np.arange(count)
    room = (high - low)[joint] - step
    start = low[joint] + rng.random(count) * room + np.where(sign < 0, step, 0.0)
    before[rows, joint], after[rows, joint] = start, start + sign * step
    return np.stack([before, np.clip(after, low, high)], axis=1).reshape(-1, len(ranges))
