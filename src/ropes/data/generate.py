"""Simulates an arm's data set: poses under interventions and their images."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data import build as building
from ropes.data import schema
from ropes.data.chains import MOVES, ON_THE_WAY, Chains
from ropes.data.dataset import Dataset
from ropes.data.moves import FRAMES, anchor_plans, anchor_states
from ropes.data.writer import SplitPlan
from ropes.errors import UserError, one_of
from ropes.simulation.availability import locate
from ropes.simulation.backgrounds import BACKGROUNDS, SceneName
from ropes.simulation.camera_levels import require_level
from ropes.simulation.camera_scene import Recordings
from ropes.simulation.mesh import arm_digest
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.workers import Workers, render_poses


def simulate(
    setting: Setting | str,
    *,
    out: Location | str,
    anchors: int | None = None,
    chains: int | None = None,
    frames_per_move: int | None = None,
    test_anchors: int = 2000,
    seed: int = 0,
    workers: Workers = None,
    scene: SceneName | None = None,
    mesh: Literal["simplified", "full"] = "simplified",
    state: bool = True,
    progress: bool = True,
) -> Dataset:
    """Simulate a data set of an arm (ROPES Section 4); the same call resumes or repairs the data set.

    A training episode is an anchor: one frame under each regime, with shared exogenous noise.  With `chains` it is a
    chain of moves instead, see `ropes.data.chains`.  A test episode is one observational pose, independent of them.

    Args:
        setting: robot, cameras, and the causal model of each split: a `Setting`, or the name of one, see
            `ropes.setting_named`.
        out: folder of the data set, or the URL of one on an object store.
        anchors: number of anchors.
        chains: number of chains, in place of anchors.
        frames_per_move: frames of split "moves" on the way from each pose of a chain to the next, or from the
            observational pose of an anchor to each of its others; None for 2 with chains, and none with anchors.
        test_anchors: episodes of each test split; 0 leaves the test splits out.
        seed: equal seeds give identical bytes.
        workers: number of rendering processes; None for one per core; or a cluster, see
            `ropes.common.ray_connection.connect`.
        scene: background, see `ropes.simulation.backgrounds`; None for that of the setting, which is white for a name.
        mesh: "simplified" or "full" visual meshes.
        state: store the joint angles too.
        progress: show progress.

    Raises:
        UserError: no setting or scene of that name, an argument out of range, the renderer is missing, or `out` holds
            something else.
    """
    if isinstance(setting, str):
        setting = setting_named(setting)
    if not isinstance(setting, Setting):
        raise UserError(f"give a setting as its name or a Setting, not as {type(setting).__name__}")
    if scene is not None:
        setting = replace(setting, scene=one_of(tuple(BACKGROUNDS), scene, "scene"))
    if (anchors is None) == (chains is None):
        raise UserError("give either a number of anchors or a number of chains")
    episodes = anchors if chains is None else chains
    frames = (0 if chains is None else ON_THE_WAY) if frames_per_move is None else frames_per_move
    if not episodes or episodes < 1 or test_anchors < 0 or frames < 0:
        raise UserError(
            f"{episodes} anchors or chains, {test_anchors} test anchors and {frames} frames per move: give at least 1, "
            "0 and 0"
        )
    setting = setting.with_renderer(building.begun_renderer(out))
    model, urdf, size = setting.splits["train"], locate(setting.robot.urdf), setting.image_size
    recording = None if chains is None else Chains.draw(model, chains, frames, seed)
    # Data sets of anchors without frames on the way have no such entry.
    filmed = {FRAMES: frames} if frames else {}
    request = {
        **building.versions(),
        "state": state,
        "seed": seed,
        **({"anchors": anchors, **filmed} if recording is None else {"chains": recording.record}),
        "test_anchors": test_anchors,
        "mesh": mesh,
        "setting": building.described(setting),
        "arm_sha256": arm_digest(urdf),
        "cameras": building.camera_records(setting.cameras, size),
        **building.renderer_record(setting.renderer, workers),
    }
    names = tuple(camera.name for camera in setting.cameras)
    shape = (size, size, 3) if setting.colour else (size, size)
    plans = _plans(setting, anchors or 0, test_anchors, recording, frames)
    faults = None
    if setting.camera_level != "clean":
        require_level(setting.camera_level)
        lengths = Counter[str]()
        for plan in plans:
            lengths[plan.name] += plan.episodes * len(plan.tasks)
        faults = Recordings(setting.camera_level, tuple(lengths.items()), seed)
    return building.build(
        out,
        request,
        features=schema.features(names, shape, model.joints if state else None),
        plans=plans,
        states=lambda: _poses(setting, anchors or 0, test_anchors, seed, recording, frames, places=faults is not None),
        render=lambda poses: render_poses(
            setting, model.joints, poses, workers, mesh=mesh, recordings=faults, seed=seed
        ),
        regimes=model.regimes,
        robot_type=urdf.stem,
        progress=progress,
        urdf=urdf,
        announcement=_counted(plans),
    )


def _counted(plans: Sequence[SplitPlan]) -> str:
    """Numbers of training and test poses, in words."""
    training = sum(plan.episodes * len(plan.tasks) for plan in plans if plan.name == "train")
    tests = [plan.episodes for plan in plans if plan.name.startswith("test")]
    return f"{training:,} training poses, {sum(tests):,} test poses ({len(tests)} x --test-anchors)"


def _plans(setting: Setting, anchors: int, test_anchors: int, chains: Chains | None, frames: int) -> list[SplitPlan]:
    regimes = setting.splits["train"].regimes
    poses = SplitPlan(name="train", episodes=anchors, tasks=tuple(range(len(regimes))))
    training = [poses, *anchor_plans(anchors, regimes, frames)] if chains is None else chains.plans
    tests = [name for name in setting.splits if name != "train"]
    return [*training, *(SplitPlan(name=name, episodes=test_anchors, tasks=(0,)) for name in tests)]


def _poses(
    setting: Setting,
    anchors: int,
    test_anchors: int,
    seed: int,
    chains: Chains | None,
    frames: int,
    *,
    places: bool = False,
) -> dict[str, NDArray[np.float64]]:
    """Split → joint angles of its frames, (frames, joints) radians.

    With `places` two columns follow: the index of the split among the plans, and the index of the frame in the split.
    """
    poses: dict[str, NDArray[np.float64]] = {} if chains is None else chains.states
    for name, model in setting.splits.items():
        if name != "train":
            poses[name] = model.sample_observational(generator(seed, name), test_anchors)
        elif chains is None:
            drawn = model.sample(generator(seed, name), anchors)
            poses[name] = drawn.reshape(-1, len(model.joints))
            poses |= {MOVES: anchor_states(drawn, frames)} if frames else {}
    if places:
        order = [name for name in ("train", MOVES, *setting.splits) if name in poses]
        for number, name in enumerate(dict.fromkeys(order)):
            frames = len(poses[name])
            poses[name] = np.column_stack([poses[name], np.full(frames, number), np.arange(frames)])
    return poses
