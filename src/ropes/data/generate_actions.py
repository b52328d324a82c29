"""Simulates image pairs before and after an action: objects in a scene, and joints of an arm."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.data import build as building
from ropes.data import schema, writer
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation import cameras
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
    both_ways,
)
from ropes.simulation.availability import locate
from ropes.simulation.mesh import arm_digest
from ropes.simulation.objects import things_digest
from ropes.simulation.settings import Setting
from ropes.simulation.workers import render, render_poses, require_workers

Floats = NDArray[np.float64]
#: How far a joint goes up or down, and the deviation of all others between the two images, radians.
STEP, ARM_JITTER = (0.15, 0.6), 0.02


def simulate_pairs(
    setting: PairsSetting,
    *,
    out: Path | str,
    samples: int,
    test_samples: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
    progress: bool = True,
) -> Dataset:
    """Simulate things that are acted upon, or go on with a data set that was interrupted or lost a file.

    An episode is a pair, its task the action.  The setting says which actions training, validation and the test in
    distribution never see; the two other test splits have these alone.

    Args:
        setting: what is filmed.
        out: folder of the data set.
        samples: training images, an even number.
        test_samples: images of each other split, an even number.
        seed: the same seed gives the same bytes.
        workers: processes that render; one for each core when None.
        progress: show progress.

    Raises:
        UserError: an option out of range, or `out` holds something else.
    """
    _require_even(samples, test_samples)
    require_workers(workers)
    chosen = {split: _actions_of(setting, split, samples if split == TRAIN else test_samples, seed) for split in SPLITS}
    request = {
        **building.versions(),
        "seed": seed,
        "samples": samples,
        "test_samples": test_samples,
        "setting": setting.to_dict(),
        "actions": [action.name for action in ACTIONS],
        "antonyms": ANTONYMS,
        "things_sha256": things_digest(),
        "cameras": [{"name": CAMERA.name, **cameras.record(CAMERA, setting.image_size)}],
    }

    def states() -> Mapping[str, Floats]:
        found, first = {}, 0
        for split, actions in chosen.items():
            pairs = first + np.arange(len(actions))
            found[split] = _frames(pairs, np.array(actions, np.int64))
            first += len(actions)
        return found

    def photographs(wanted: Floats) -> Iterator[list[bytes]]:
        return render(partial(ActionScene, setting, seed), wanted, workers)

    return building.build(
        Path(out),
        request,
        features=schema.features((CAMERA.name,), (setting.image_size, setting.image_size, 3), None),
        shards=writer.plan_shards(_plans(chosen), 1, writer.IMAGES_PER_SHARD),
        states=states,
        render=photographs,
        regimes=ACTIONS,
        robot_type="things",
        progress=progress,
    )


def simulate_arm_actions(
    setting: Setting,
    *,
    out: Path | str,
    samples: int,
    test_samples: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
    progress: bool = True,
) -> Dataset:
    """Simulate an arm of which one joint goes up or down, or go on with such a data set.

    An episode is a pair: a pose drawn evenly over the joints' ranges, and the same one with one joint `STEP` radians
    further up or down.  All other joints move a little, too.

    Args:
        setting: robot, cameras, and a causal model, of which the joints' ranges are taken.
        out: folder of the data set.
        samples: training images, an even number.
        test_samples: images of each other split, an even number.
        seed: the same seed gives the same bytes.
        workers: processes that render; one for each core when None.
        progress: show progress.

    Raises:
        UserError: an option out of range, a joint that has no range or a small one, or `out` holds something else.
    """
    _require_even(samples, test_samples)
    require_workers(workers)
    model = setting.splits["train"]
    ranges, urdf = _ranges(setting), locate(setting.robot.urdf)
    actions = tuple(Action(f"{joint} {way}") for joint in model.joints for way in ("up", "down"))
    opposites = both_ways((f"{joint} up", f"{joint} down") for joint in model.joints)
    counts = {split: (samples if split == TRAIN else test_samples) // 2 for split in (TRAIN, VALIDATION, IID)}
    chosen = {split: _shuffled(np.arange(n) % len(actions), seed, split) for split, n in counts.items()}
    request = {
        **building.versions(),
        "seed": seed,
        "samples": samples,
        "test_samples": test_samples,
        "setting": {**building.described(setting), "name": f"{setting.name}-actions"},
        "antonyms": opposites,
        "arm_sha256": arm_digest(urdf),
        "cameras": [{"name": camera.name, **cameras.record(camera, setting.image_size)} for camera in setting.cameras],
    }
    names = tuple(camera.name for camera in setting.cameras)

    def states() -> Mapping[str, Floats]:
        return {split: _moves(ranges, chosen[split], generator(seed, "moves", split)) for split in chosen}

    def photographs(wanted: Floats) -> Iterator[list[bytes]]:
        size, given = setting.image_size, (model.joints, wanted, workers, setting.scene)
        return render_poses(setting.robot, setting.cameras, size, "simplified", *given)

    return building.build(
        Path(out),
        request,
        features=schema.features(names, (setting.image_size,) * 2, model.joints),
        shards=writer.plan_shards(_plans(chosen), len(names), writer.IMAGES_PER_SHARD),
        states=states,
        render=photographs,
        regimes=actions,
        robot_type=urdf.stem,
        progress=progress,
        urdf=urdf,
    )


def _require_even(samples: int, test_samples: int) -> None:
    if samples < 2 or samples % 2 or test_samples < 0 or test_samples % 2:
        raise UserError(f"{samples} samples and {test_samples} test samples: even numbers, from 2 on and from 0 on")


def _actions_of(setting: PairsSetting, split: str, images: int, seed: int) -> tuple[int, ...]:
    """Numbers of the actions of a split's pairs: each noun by its weight, its actions evenly; shuffled."""
    shares = np.zeros(len(ACTIONS))
    for number, action in enumerate(ACTIONS):
        belongs = setting.held_out.split_of(action)
        if belongs == split or (belongs is None and split in (TRAIN, VALIDATION, IID)):
            shares[number] = THINGS[action.noun].weight / len(actions_on(action.noun))
    bounds = np.round(np.cumsum(shares) / shares.sum() * (images // 2)).astype(np.int64)
    return _shuffled(np.repeat(np.arange(len(ACTIONS)), np.diff(bounds, prepend=0)), seed, split)


def _shuffled(actions: NDArray[np.int64], seed: int, split: str) -> tuple[int, ...]:
    return tuple(generator(seed, "actions", split).permutation(actions).tolist())


def _frames(pairs: NDArray[np.int64], actions: NDArray[np.int64]) -> Floats:
    """What `ActionScene` draws: number of the pair, before or after, action; (2 pairs, 3)."""
    return np.column_stack([np.repeat(pairs, 2), np.tile([0, 1], len(pairs)), np.repeat(actions, 2)]).astype(np.float64)


def _plans(chosen: Mapping[str, Sequence[int]]) -> list[SplitPlan]:
    return [
        SplitPlan(name=split, episodes=len(actions), tasks=(0, 0), actions=tuple(actions))
        for split, actions in chosen.items()
        if len(actions)
    ]


def _ranges(setting: Setting) -> Floats:
    """Least and greatest angle of each joint, (joints, 2) radians.

    Raises:
        UserError: a joint has none, as it follows others, or has not enough room to move.
    """
    model: Any = setting.splits["train"]
    found = []
    for joint in model.joints:
        drawn = model.observational.get(joint)
        if drawn is None:
            raise UserError(f"joint {joint} follows others in setting {setting.name}; take one with independent joints")
        if drawn.high - drawn.low <= STEP[1]:
            raise UserError(f"joint {joint} has {drawn.high - drawn.low:.2g} rad to move in; give more than {STEP[1]}")
        found.append((drawn.low, drawn.high))
    return np.array(found)


def _moves(ranges: Floats, actions: Sequence[int], rng: np.random.Generator) -> Floats:
    """Poses before and after, one after the other, (2 pairs, joints) radians; within the ranges."""
    count, low, high = len(actions), ranges[:, 0], ranges[:, 1]
    joint, way = np.array(actions, np.int64) // 2, 1 - 2 * (np.array(actions, np.int64) % 2)
    before = rng.uniform(low, high, (count, len(ranges)))
    after = before + rng.normal(0, ARM_JITTER, before.shape)
    step, rows = rng.uniform(*STEP, count), np.arange(count)
    room = (high - low)[joint] - step
    start = low[joint] + rng.random(count) * room + np.where(way < 0, step, 0.0)
    before[rows, joint], after[rows, joint] = start, start + way * step
    return np.stack([before, np.clip(after, low, high)], axis=1).reshape(-1, len(ranges))
