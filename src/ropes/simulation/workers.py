"""Renders poses in several processes, here or on a cluster.

The bytes do not depend on the number of workers.
"""

import multiprocessing
import os
import secrets
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common import png
from ropes.common.arrays import Floats
from ropes.common.cluster import Cluster
from ropes.common.hardware import usable_cores
from ropes.common.processes import exit_with_parent, hide_main_module
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.backgrounds import RendererName
from ropes.simulation.camera_scene import CameraScene, Recordings
from ropes.simulation.mesh import arm_digest
from ropes.simulation.mujoco_scene import KEPT_FRACTION, MujocoScene
from ropes.simulation.off_screen import graphics
from ropes.simulation.scene import ArmScene, Mesh, Scene, check_poses, resolve_urdf
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.urdf import read_urdf

#: Poses per unit of work, and submitted units per worker.
UNIT, _AHEAD = 32, 3


class Renderer(Protocol):
    """A renderer of states."""

    def render_all(self, states: ArrayLike, /) -> Iterator[NDArray[np.uint8]]:
        """States (n, values) → for each state the images of all cameras, (cameras, S, S) or (cameras, S, S, 3)."""


#: Creates a renderer; it is sent to other processes, so it is a class, or a partial of one or of a function.
Start = Callable[[], AbstractContextManager[Renderer]]
#: Number of rendering processes of this machine, None for one per usable core; or a cluster, on whose CPUs to render.
Workers = int | Cluster | None
_renderer: Renderer | None = None  # the renderer of a worker process
_of_call = ""  # the call of `render` that it is of, on a cluster


def arm_scene(
    setting: Setting,
    joints: Sequence[str] | None = None,
    *,
    cameras: Sequence[Camera] | None = None,
    mesh: Mesh = "simplified",
    seed: int = 0,
) -> ArmScene:
    """Open the scene that draws the arm of a setting.

    Args:
        setting: gives robot, cameras, image size, background, renderer, and whether images are in colour.
        joints: the order of the angles in poses; None for that of the robot.
        cameras: instead of those of the setting.
        mesh: "simplified" or "full".
        seed: draws the room of scene "room".

    Raises:
        UserError: see `ropes.simulation.scene.Scene` and `ropes.simulation.mujoco_scene.MujocoScene`.
    """
    given = setting.robot, setting.cameras if cameras is None else cameras, setting.image_size, mesh, joints
    if setting.renderer == "mujoco":
        return MujocoScene(*given, setting.scene, setting.colour, seed)
    return Scene(*given, setting.scene, setting.colour)


def render_poses(
    setting: Setting,
    joints: Sequence[str],
    poses: ArrayLike,
    workers: Workers = None,
    *,
    mesh: Mesh = "simplified",
    recordings: Recordings | None = None,
    seed: int = 0,
) -> Generator[list[bytes], None, None]:
    """Render poses of the arm of a setting and encode them as PNG.

    Args:
        setting: see `arm_scene`.
        joints: names of the columns of `poses`.
        poses: (n, len(joints)) radians.
        workers: processes; 1 renders in this process, None uses every usable core; or a cluster.
        mesh: "simplified" or "full".
        recordings: camera faults; `poses` then has two more columns, see `ropes.simulation.camera_scene.CameraScene`.
        seed: draws the room of scene "room".

    Returns:
        An iterator over the poses in order, with one PNG per camera.  Closing it, or any exception, ends all workers.

    Raises:
        UserError: an invalid pose or robot, a missing renderer, or a node of the cluster with other files of the arm
            (raised before any process starts); or a worker died.
    """
    require_workers(workers)
    robot, states = setting.robot, np.asarray(poses, dtype=np.float64)
    check_poses(robot, read_urdf(locate(robot.urdf)), joints, states if recordings is None else states[:, :-2])
    prepare = partial(_prepare, robot, mesh, setting.renderer)
    if isinstance(workers, Cluster):
        workers.require_same(prepare, f"URDF or other meshes of {robot.urdf}")
    else:
        prepare()
    clean = partial(arm_scene, replace(setting, splits={}), tuple(joints), mesh=mesh, seed=seed)
    return render(clean if recordings is None else partial(CameraScene, clean, recordings), states, workers)


def _prepare(robot: Robot, mesh: Mesh, renderer: RendererName) -> str:
    """Make the simplified meshes of an arm once on this machine, before workers start; returns its `arm_digest`."""
    if renderer == "mujoco":
        graphics()
        resolve_urdf(robot, mesh, KEPT_FRACTION)
    else:
        resolve_urdf(robot, mesh)
    return arm_digest(locate(robot.urdf))


def require_workers(workers: Workers) -> None:
    """Check a number of processes.

    Raises:
        UserError: it is below 1.
    """
    if isinstance(workers, int) and workers < 1:
        raise UserError(f"{workers} workers cannot render anything; give at least 1")


def render(start: Start, states: Floats, workers: Workers = None) -> Generator[list[bytes], None, None]:
    """Render states of any scene and encode them, as `render_poses` does.

    Args:
        start: creates the renderer in each process.
        states: (n, values), one state per row.
        workers: processes; 1 renders in this process, None uses every usable core; or a cluster.
    """
    require_workers(workers)
    units = [states[first : first + UNIT] for first in range(0, len(states), UNIT)]
    if isinstance(workers, Cluster):
        return _on_cluster(start, units, workers)
    workers = usable_cores() if workers is None else workers
    if workers == 1 or len(units) <= 1:
        return _in_this_process(start, units)
    return _in_processes(start, units, min(workers, len(units)))


def _in_this_process(start: Start, units: Sequence[Floats]) -> Generator[list[bytes], None, None]:
    with start() as renderer:
        for unit in units:
            yield from _encoded(renderer, unit)


def _in_processes(start: Start, units: Sequence[Floats], workers: int) -> Generator[list[bytes], None, None]:
    # Processes are spawned, not forked, because the caller may hold threads of torch or of a progress bar.
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, spawn, initializer=_start_worker, initargs=(start,))
    pending: deque[Future[list[list[bytes]]]] = deque()
    try:
        for unit in units:
            with hide_main_module():
                pending.append(pool.submit(_render_unit, unit))
            # Submitting only a few units ahead of the reader bounds the memory.
            if len(pending) >= _AHEAD * workers:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            "a rendering process died (out of memory?); run the same command again, with fewer workers"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _on_cluster(start: Start, units: Sequence[Floats], cluster: Cluster) -> Generator[list[bytes], None, None]:
    for images in cluster.stream(partial(_render_on_node, secrets.token_hex(8), start), units):
        yield from images


def _render_on_node(call: str, start: Start, states: Floats) -> list[list[bytes]]:
    """Render a unit; the process keeps its renderer for the next unit of the same call of `render`."""
    global _renderer, _of_call
    if call != _of_call:
        old, _renderer, _of_call = _renderer, None, ""
        if isinstance(old, AbstractContextManager):
            old.__exit__(None, None, None)
        _renderer, _of_call = start().__enter__(), call
    return _render_unit(states)


def _start_worker(start: Start) -> None:
    """Set up a worker: it creates its renderer, leaves Ctrl-C to its parent and ends with its parent."""
    global _renderer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exit_with_parent(lambda: os._exit(1))
    _renderer = start().__enter__()


def _render_unit(states: Floats) -> list[list[bytes]]:
    assert _renderer is not None
    return list(_encoded(_renderer, states))


def _encoded(renderer: Renderer, states: Floats) -> Generator[list[bytes], None, None]:
    return ([png.encode(image) for image in images] for images in renderer.render_all(states))
