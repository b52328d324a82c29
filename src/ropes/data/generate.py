"""Simulates an arm's data set: draws poses, renders them, writes them shard by shard."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.data import build as building
from ropes.data import schema, writer
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation import cameras
from ropes.simulation.availability import locate
from ropes.simulation.mesh import arm_digest
from ropes.simulation.settings import Setting
from ropes.simulation.workers import render_poses


def simulate(
    setting: Setting,
    *,
    out: Path | str,
    anchors: int,
    test_anchors: int = 2000,
    seed: int = 0,
    workers: int | None = None,
    mesh: Literal["simplified", "full"] = "simplified",
    state: bool = True,
    progress: bool = True,
) -> Dataset:
    """Simulate a data set, or go on with one that was interrupted or lost a file (ROPES Section 4).

    A training episode is an anchor: one frame under each regime, twin-sampled.  A test episode is one
    observational pose, drawn independently of the anchors.

    Args:
        setting: robot, cameras, and the causal model of each split.
        out: folder of the data set.
        anchors: training episodes.
        test_anchors: episodes of each test split; none of them with 0.
        seed: the same seed gives the same bytes.
        workers: processes that render; one for each core when None.
        mesh: "simplified" or "full" visual meshes.
        state: store the joint angles too.
        progress: show progress.

    Raises:
        UserError: an option out of range, or `out` holds something else.
    """
    if anchors < 1 or test_anchors < 0:
        raise UserError(f"{anchors} anchors and {test_anchors} test anchors: there must be at least 1 and 0")
    root, model, urdf = Path(out), setting.splits["train"], locate(setting.robot.urdf)
    request = {
        **building.versions(),
        "state": state,
        "seed": seed,
        "anchors": anchors,
        "test_anchors": test_anchors,
        "mesh": mesh,
        "setting": building.described(setting),
        "arm_sha256": arm_digest(urdf),
        "cameras": [{"name": camera.name, **cameras.record(camera, setting.image_size)} for camera in setting.cameras],
    }
    names = tuple(camera.name for camera in setting.cameras)

    def render(poses: NDArray[np.float64]) -> Iterator[list[bytes]]:
        return render_poses(
            setting.robot, setting.cameras, setting.image_size, mesh, model.joints, poses, workers, setting.scene
        )

    return building.build(
        root,
        request,
        features=schema.features(names, (setting.image_size,) * 2, model.joints if state else None),
        shards=writer.plan_shards(_splits(setting, anchors, test_anchors), len(names), writer.IMAGES_PER_SHARD),
        states=lambda: _poses(setting, anchors, test_anchors, seed),
        render=render,
        regimes=model.regimes,
        robot_type=urdf.stem,
        progress=progress,
        urdf=urdf,
    )


def _splits(setting: Setting, anchors: int, test_anchors: int) -> list[SplitPlan]:
    regimes = tuple(range(len(setting.splits["train"].regimes)))
    tests = [name for name in setting.splits if name != "train"]
    return [
        SplitPlan(name="train", episodes=anchors, tasks=regimes),
        *(SplitPlan(name=name, episodes=test_anchors, tasks=(0,)) for name in tests),
    ]


def _poses(setting: Setting, anchors: int, test_anchors: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Split → joint angles of its frames in order, (frames, joints) radians."""
    poses = {}
    for name, model in setting.splits.items():
        rng = generator(seed, name)
        if name == "train":
            poses[name] = model.sample(rng, anchors).reshape(-1, len(model.joints))
        else:
            poses[name] = model.sample_observational(rng, test_anchors)
    return poses
