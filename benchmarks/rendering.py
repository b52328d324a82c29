"""Measures the speed of rendering, and how much simplified meshes change the images, in one run on one machine.

    python -m benchmarks.rendering [--seconds 5] [--out results/rendering.json] [--page]

Needs the extras `bench` (panda-gym) and `mujoco`. Seconds on one core are processor time, so that other work on the
machine changes the ratios little. Images per second on all cores are by wall-clock time; the load is the machine's mean
number of running processes in the minute before the end. With --page, the table is written to docs/data.md.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import described, keep, options, origin, table
from ropes.causal.scm import CausalModel
from ropes.common import png
from ropes.common.hardware import usable_cores
from ropes.simulation.bullet import import_pybullet, quiet
from ropes.simulation.scene import ArmScene, Mesh
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.workers import UNIT, arm_scene, render_poses

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
SIZE = 128
SETTING = "panda-2c-independent"


def cost(draw: Callable[[int], object], seconds: float) -> float:
    """Processor seconds of one call of `draw`, which gets 0, 1, 2, …."""
    draw(0)
    calls, begun, clock = 0, time.process_time(), time.monotonic()
    while time.monotonic() - clock < seconds:
        draw(calls)
        calls += 1
    return (time.process_time() - begun) / calls


def panda_gym_cost(poses: NDArray[np.float64], seconds: float, *, arm_alone: bool) -> float:
    """Processor seconds of one image of panda-gym's own `render()` in a pose of its own Panda."""
    import_pybullet()
    with quiet():
        import gymnasium
        import panda_gym  # noqa: F401 (registers its environments)

        size: Any = {"render_width": SIZE, "render_height": SIZE}
        environment: Any = gymnasium.make("PandaReach-v3", render_mode="rgb_array", **size).unwrapped
        environment.reset(seed=0)
    simulation, robot = environment.sim, environment.robot
    if arm_alone:
        for name in [name for name in simulation._bodies_idx if name != "panda"]:
            simulation.physics_client.removeBody(simulation._bodies_idx[name])

    def draw(k: int) -> object:
        robot.set_joint_angles(np.append(poses[k % len(poses)], [0.785, 0.0, 0.0]))
        return environment.render()

    try:
        return cost(draw, seconds)
    finally:
        environment.close()


def our_cost(setting: Setting, mesh: Mesh, poses: NDArray[np.float64], seconds: float, encode: bool) -> float:
    """Processor seconds of one of our images, with its PNG where `encode` is set."""
    with start(setting, mesh) as scene:

        def draw(k: int) -> object:
            drawn = list(scene.render_all(np.take(poses, range(k * UNIT, (k + 1) * UNIT), axis=0, mode="wrap")))
            return [png.encode(image) for images in drawn for image in images] if encode else drawn

        return cost(draw, seconds) / UNIT / len(setting.cameras)


def start(setting: Setting, mesh: Mesh) -> ArmScene:
    """The renderer of a setting."""
    return arm_scene(replace(setting, image_size=SIZE), setting.splits["train"].joints, mesh=mesh)


def likeness(setting: Setting, poses: NDArray[np.float64]) -> dict[str, float]:
    """How alike simplified and full meshes look: silhouettes' IoU, and grey values' difference on the arm."""
    drawn = {}
    kinds: tuple[Mesh, ...] = ("simplified", "full")
    for mesh in kinds:
        with start(setting, mesh) as scene:
            images, arms = zip(*scene.render_with_arms(poses), strict=True)
        drawn[mesh] = np.stack(arms), np.stack(images).astype(float)
    (light, light_grey), (full, full_grey) = drawn["simplified"], drawn["full"]
    overlap = (light & full).sum(axis=(2, 3)) / (light | full).sum(axis=(2, 3))
    return {
        "iou_mean": float(overlap.mean()),
        "iou_min": float(overlap.min()),
        "grey_difference_on_arm": float(np.abs(light_grey - full_grey)[light & full].mean()),
    }


def rate(setting: Setting, poses: NDArray[np.float64], workers: int, skipped: int = 8 * UNIT) -> float:
    """Images a second by the clock, PNG included, of all poses but those `skipped` while the workers start."""
    drawn = render_poses(replace(setting, image_size=SIZE), setting.splits["train"].joints, poses, workers)
    for _ in range(skipped):
        next(drawn)
    begun = time.monotonic()
    images = sum(len(views) for views in drawn)
    return images / (time.monotonic() - begun)


def measure(seconds: float) -> dict[str, float]:
    """Every figure by its name."""
    setting = setting_named(SETTING)
    model: CausalModel = setting.splits["train"]
    poses = model.sample_observational(np.random.default_rng(0), 4000)
    theirs = panda_gym_cost(poses, seconds, arm_alone=False)
    bare = panda_gym_cost(poses, seconds, arm_alone=True)
    full = our_cost(setting, "full", poses, seconds, encode=False)
    ours = our_cost(setting, "simplified", poses, seconds, encode=False)
    encoded = our_cost(setting, "simplified", poses, seconds, encode=True)
    on_a_table = our_cost(replace(setting, scene="panda-gym"), "simplified", poses, seconds, encode=False)
    room = replace(setting, scene="room")
    in_a_room = partial(our_cost, poses=poses, seconds=seconds)
    mujoco = in_a_room(room, "simplified", encode=False)
    in_colour = replace(room, colour=True)
    cores = usable_cores()
    count = max(600, int(60 * seconds * cores))
    return {
        "panda_gym_ms": 1e3 * theirs,
        "panda_gym_arm_alone_ms": 1e3 * bare,
        "ours_full_ms": 1e3 * full,
        "ours_simplified_ms": 1e3 * ours,
        "ours_simplified_with_png_ms": 1e3 * encoded,
        "ours_on_panda_gyms_scene_ms": 1e3 * on_a_table,
        "times_as_fast_as_panda_gym": theirs / ours,
        "times_as_fast_as_panda_gym_on_its_scene": theirs / on_a_table,
        "times_as_fast_as_panda_gym_arm_alone": bare / ours,
        "cores": cores,
        "images_per_second_all_cores": rate(setting, poses[:count], cores),
        "mujoco_ms": 1e3 * mujoco,
        "mujoco_in_colour_ms": 1e3 * in_a_room(in_colour, "simplified", encode=False),
        "mujoco_in_colour_with_png_ms": 1e3 * in_a_room(in_colour, "simplified", encode=True),
        "mujoco_full_ms": 1e3 * in_a_room(room, "full", encode=False),
        "mujoco_images_per_second_and_core": 1 / mujoco,
        "mujoco_images_per_second_all_cores": rate(in_colour, poses[:count], cores),
        "load": os.getloadavg()[0],
        **likeness(setting, poses[:100]),
        **{f"mujoco_{name}": value for name, value in likeness(room, poses[:100]).items()},
    }


def written(found: Mapping[str, Any]) -> str:
    """The table of such figures in Markdown, and what they are of."""
    of = found["figures"]
    rows = [
        [words, f"{of[f'{name}_ms']:.2f}", f"{1e3 / of[f'{name}_ms']:.0f}"]
        for words, name in (
            ("panda-gym's own `render()`", "panda_gym"),
            ("panda-gym's own `render()`, the arm alone", "panda_gym_arm_alone"),
            ("PyBullet, `white`, full meshes", "ours_full"),
            ("PyBullet, `white`", "ours_simplified"),
            ("PyBullet, `white`, with PNG", "ours_simplified_with_png"),
            ("PyBullet, `panda-gym`", "ours_on_panda_gyms_scene"),
            ("MuJoCo, `room`, full meshes", "mujoco_full"),
            ("MuJoCo, `room`", "mujoco"),
            ("MuJoCo, `room`, in colour", "mujoco_in_colour"),
            ("MuJoCo, `room`, in colour, with PNG", "mujoco_in_colour_with_png"),
        )
    ]
    bullet, mujoco = of["images_per_second_all_cores"], of["mujoco_images_per_second_all_cores"]
    return (
        f"{table(['Panda at 128×128', 'ms an image', 'images/s, one core'], rows)}\n"
        f"Meshes are simplified unless stated otherwise. With {of['cores']} processes at once and PNG, PyBullet draws "
        f"{bullet:.0f} images of `white` a second by the clock, MuJoCo {mujoco:.0f} of `room` in colour. "
        f"{origin(found)}; load {of['load']:.1f}.\n"
    )


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/data.md")
    given, began = parser.parse_args(), time.monotonic()
    figures = {
        name: value if isinstance(value, int) else float(f"{value:.4g}")
        for name, value in measure(given.seconds).items()
    }
    found = {**described(began), "figures": figures}
    keep(found, "rendering", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()
