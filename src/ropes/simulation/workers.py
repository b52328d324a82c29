"""Renders poses in several processes. The bytes do not depend on the number of workers."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common import png
from ropes.common.hardware import usable_cores
from ropes.common.processes import exit_with_parent, hide_main_module
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.backgrounds import RendererName, SceneName
from ropes.simulation.camera_scene import CameraScene, Recordings
from ropes.simulation.mujoco_scene import KEPT_FRACTION, MujocoScene
from ropes.simulation.off_screen import graphics
from ropes.simulation.scene import Mesh, Scene, check_poses, resolve_urdf
from ropes.simulation.settings import Camera, Robot, default_renderer
from ropes.simulation.urdf import read_urdf

Floats = NDArray[np.float64]
#: Poses per unit of work, and submitted units per worker.
UNIT, _AHEAD = 32, 3


class Renderer(Protocol):
    """A renderer of states."""

    def render_all(self, states: ArrayLike, /) -> Iterator[NDArray[np.uint8]]:
        """States (n, values) → for each state the images of all cameras, (cameras, S, S) or (cameras, S, S, 3)."""


#: Creates a renderer; it is sent to other processes, so it is a class or a partial of one.
Start = Callable[[], AbstractContextManager[Renderer]]
_renderer: Renderer | None = None  # the renderer of a worker process


def render_poses(
    robot: Robot,
    cameras: Sequence[Camera],
    image_size: int,
    mesh: Mesh,
    joint_names: Sequence[str],
    angles: ArrayLike,
    workers: int | None = None,
    scene: SceneName = "white",
    recordings: Recordings | None = None,
    *,
    colour: bool = False,
    seed: int = 0,
    renderer: RendererName | None = None,
) -> Generator[list[bytes], None, None]:
    """Render poses and encode them as PNG.

    Args:
        robot: the robot.
        cameras: the cameras.
        image_size: side of the images, pixels.
        mesh: "simplified" or "full".
        joint_names: names of the columns of `angles`.
        angles: (n, len(joint_names)) radians.
        workers: processes; 1 renders in this process, None uses every usable core.
        scene: the background.
        recordings: camera faults; `angles` then has two more columns, see `ropes.simulation.camera_scene.CameraScene`.
        colour: RGB images instead of grey ones.
        seed: draws the room of scene "room".
        renderer: None for `default_renderer` of the scene.

    Returns:
        An iterator over the poses in order, with one PNG per camera.  Closing it, or any exception, ends all workers.

    Raises:
        UserError: an invalid pose or robot, or a missing renderer (raised before any process starts); or a worker died.
    """
    require_workers(workers)
    states = np.asarray(angles, dtype=np.float64)
    check_poses(robot, read_urdf(locate(robot.urdf)), joint_names, states if recordings is None else states[:, :-2])
    given = robot, tuple(cameras), image_size, mesh, tuple(joint_names)
    clean: partial[Scene] | partial[MujocoScene]
    # Simplified meshes are made once, before the workers start.
    if (renderer or default_renderer(scene)) == "mujoco":
        graphics()
        resolve_urdf(robot, mesh, KEPT_FRACTION)
        clean = partial(MujocoScene, *given, scene, colour, seed)
    else:
        resolve_urdf(robot, mesh)
        clean = partial(Scene, *given, scene, colour)
    if recordings is None:
        return render(clean, states, workers)
    return render(partial(CameraScene, clean, recordings), states, workers)


def require_workers(workers: int | None) -> None:
    """Check a number of processes; None stands for every usable core.

    Raises:
        UserError: it is below 1.
    """
    if workers is not None and workers < 1:
        raise UserError(f"{workers} workers cannot render anything; give at least 1")


def render(start: Start, states: Floats, workers: int | None = None) -> Generator[list[bytes], None, None]:
    """Render states of any scene and encode them, as `render_poses` does.

    Args:
        start: creates the renderer in each process.
        states: (n, values), one state per row.
        workers: processes; 1 renders in this process, None uses every usable core.
    """
    require_workers(workers)
    workers = usable_cores() if workers is None else workers
    units = [states[first : first + UNIT] for first in range(0, len(states), UNIT)]
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
