import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from ropes.common import png
from ropes.errors import UserError
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.workers import UNIT, arm_scene, render_poses
from tests.one_pose import drawn
from tests.timeouts import PATIENCE

JOINTS = ("elbow", "shoulder")


@pytest.fixture
def small(small_robot: Robot, side_camera: Camera) -> Setting:
    return Setting(name="small", robot=small_robot, cameras=(side_camera,), splits={}, image_size=32)


@pytest.fixture
def poses() -> NDArray[np.float64]:
    return np.random.default_rng(0).uniform(-1.5, 1.5, (2 * UNIT + 5, 2))


@pytest.mark.slow
def test_workers_return_the_same_bytes_in_order(
    small_robot: Robot, side_camera: Camera, poses: NDArray[np.float64]
) -> None:
    setting = Setting(name="two", robot=small_robot, cameras=(side_camera, side_camera), splits={}, image_size=32)
    alone = list(render_poses(setting, JOINTS, poses, 1))
    assert len(alone) == len(poses)
    assert list(render_poses(setting, JOINTS, poses, 2)) == alone
    with arm_scene(setting, JOINTS) as scene:
        for row in (0, UNIT, len(poses) - 1):
            decoded = np.stack([np.asarray(Image.open(io.BytesIO(data))) for data in alone[row]])
            assert decoded.dtype == np.uint8
            np.testing.assert_array_equal(decoded, drawn(scene, poses[row])[0])
            assert alone[row] == [png.encode(view) for view in decoded]


@pytest.mark.slow
def test_closing_the_iterator_ends_all_workers(small: Setting, poses: NDArray[np.float64]) -> None:
    before = set(multiprocessing.active_children())
    drawn = render_poses(small, JOINTS, poses, 2)
    next(drawn)
    assert set(multiprocessing.active_children()) > before
    drawn.close()
    assert set(multiprocessing.active_children()) == before


@pytest.mark.slow
def test_dead_worker_ends_all_workers(small: Setting, poses: NDArray[np.float64]) -> None:
    before = set(multiprocessing.active_children())
    many = np.tile(poses, (40, 1))
    drawn = render_poses(small, JOINTS, many, 2)
    next(drawn)
    victim = next(iter(set(multiprocessing.active_children()) - before))
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    with pytest.raises(UserError, match=r"a rendering process died .*run the same command again"):
        list(drawn)
    assert set(multiprocessing.active_children()) == before


@pytest.mark.slow
@pytest.mark.parametrize("from_file", [True, False])
def test_script_needs_no_main_guard(small_urdf: Path, tmp_path: Path, from_file: bool) -> None:
    program = f"""
import numpy as np
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.workers import render_poses
print("started")
robot = Robot(urdf={str(small_urdf)!r}, joints=("elbow",))
camera = Camera(name="c", target=(0, 0, 0), distance=2, yaw=0, pitch=0, roll=0, fov=60)
setting = Setting(name="one", robot=robot, cameras=(camera,), splits={{}}, image_size=32)
print(len(list(render_poses(setting, ("elbow",), np.zeros((40, 1)), 2))))
"""
    script = tmp_path / "script.py"
    script.write_text(program)
    command = [sys.executable, str(script) if from_file else "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("started\n40\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("blow", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_parent(small_urdf: Path, blow: signal.Signals) -> None:
    program = f"""
import multiprocessing, numpy as np
from ropes.simulation.settings import Camera, Robot, Setting
from ropes.simulation.workers import render_poses
robot = Robot(urdf={str(small_urdf)!r}, joints=("elbow",))
camera = Camera(name="c", target=(0, 0, 0), distance=2, yaw=0, pitch=0, roll=0, fov=60)
setting = Setting(name="one", robot=robot, cameras=(camera,), splits={{}}, image_size=64)
for image in render_poses(setting, ("elbow",), np.zeros((100000, 1)), 2):
    if multiprocessing.active_children():
        print(*(child.pid for child in multiprocessing.active_children()), flush=True)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    children = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(children) == 2
    os.kill(parent.pid, blow)
    parent.stdout.close()
    assert parent.wait(timeout=PATIENCE) != 0
    deadline = time.monotonic() + PATIENCE
    while any(_lives(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_lives(pid) for pid in children)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_bad_input_is_refused_before_any_process_starts(small: Setting) -> None:
    with pytest.raises(UserError, match=r"pose 1 sets joint shoulder to 2\.0000, outside its limits"):
        render_poses(small, ("shoulder",), [[0.0], [2.0]], 2)
    with pytest.raises(UserError, match="0 workers cannot render anything; give at least 1"):
        render_poses(small, ("shoulder",), [[0.0]], 0)
