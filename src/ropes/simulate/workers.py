"""Many poses, many processes, one order: the same bytes come out whatever the number of workers."""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes import png
from ropes.errors import UserError
from ropes.settings import Camera, Robot
from ropes.simulate.scene import Mesh, Scene, check_poses, resolve_urdf
from ropes.simulate.urdf import locate, read_urdf

UNIT = 32
_AHEAD = 3
_scene: Scene | None = None  # of a worker process, which has exactly one


def usable_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def render_poses(
    robot: Robot,
    cameras: Sequence[Camera],
    image_size: int,
    mesh: Mesh,
    joint_names: Sequence[str],
    angles: ArrayLike,
    workers: int | None = None,
) -> Iterator[list[bytes]]:
    """Draw poses and encode them, a unit of some tens at a time on each worker.

    Args:
        robot: what to draw.
        cameras: from where.
        image_size: side of the images, pixels.
        mesh: "simplified" or "full".
        joint_names: names of the columns of `angles`.
        angles: (n, len(joint_names)) radians.
        workers: processes; 1 draws in this one, None takes every usable core.

    Returns:
        An iterator over the poses in order; for each, one PNG for each camera.  Closing it, or any exception,
        ends all workers.

    Raises:
        UserError: a pose or the robot is not as it must be (at once, before any process starts), or a worker
            died.
    """
    workers = usable_cores() if workers is None else workers
    if workers < 1:
        raise UserError(f"{workers} workers cannot draw anything; give at least 1")
    poses = check_poses(robot, read_urdf(locate(robot.urdf)), joint_names, angles)
    # Simplified meshes are made once here, not by every worker.
    resolve_urdf(robot, mesh)
    units = [poses[start : start + UNIT] for start in range(0, len(poses), UNIT)]
    scene = (robot, tuple(cameras), image_size, mesh, tuple(joint_names))
    if workers == 1 or len(units) <= 1:
        return _in_this_process(scene, units)
    return _in_processes(scene, units, min(workers, len(units)))


def _in_this_process(scene: tuple[Any, ...], units: Sequence[NDArray[np.float64]]) -> Iterator[list[bytes]]:
    with Scene(*scene) as drawn:
        for unit in units:
            yield from _encoded(drawn, unit)


def _in_processes(scene: tuple[Any, ...], units: Sequence[NDArray[np.float64]], workers: int) -> Iterator[list[bytes]]:
    # Processes are started afresh, not forked: the caller may hold threads of torch or of a progress bar.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_start_worker, initargs=scene)
    pending: deque[Future[list[list[bytes]]]] = deque()
    try:
        for unit in units:
            with _nothing_of_main():
                pending.append(pool.submit(_render_unit, unit))
            # Only a few units ahead of the reader: memory stays small however many poses there are.
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


@contextmanager
def _nothing_of_main() -> Iterator[None]:
    """Start processes that do not run the caller's script again.

    Python would have every new process import the main module, which breaks scripts read from a pipe and
    repeats what a script without a guard does; the workers need nothing of it.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start_worker(*scene: Any) -> None:
    """Set up a worker: it has a scene, leaves Ctrl-C to its parent, and does not outlive it."""
    global _scene
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _scene = Scene(*scene)


def _end_with(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)


def _render_unit(poses: NDArray[np.float64]) -> list[list[bytes]]:
    assert _scene is not None
    return list(_encoded(_scene, poses))


def _encoded(scene: Scene, poses: NDArray[np.float64]) -> Iterator[list[bytes]]:
    return ([png.encode(image) for image in images] for images in scene.render_all(poses))
