"""Videos of an arm on a smooth trajectory, for `benchmarks.live`."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from ropes.common.arrays import Floats, Images
from ropes.data.pictures import enlarge
from ropes.data.recordings.views import Box
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Setting

WIDTH, HEIGHT = 640, 480
#: Seconds of the trajectory; the videos are played in a loop.
TRAJECTORY = 10.0


def trajectory(setting: Setting, frames: int, fps: float, seed: int = 3) -> Floats:
    """Angles (frames, d) on a smooth closed path within the middle of each joint's range, radians."""
    rng, model = np.random.default_rng(seed), setting.splits["train"]
    poses = model.sample_observational(rng, 4000)
    low, high = np.quantile(poses, 0.1, axis=0), np.quantile(poses, 0.9, axis=0)
    time_ = np.arange(frames) / fps
    waves = np.zeros((frames, poses.shape[1]))
    for harmonic, weight in ((1, 1.0), (2, 0.5), (3, 0.25)):
        phase = rng.uniform(0, 2 * np.pi, poses.shape[1])
        waves += weight * np.sin(2 * np.pi * harmonic * time_[:, None] / TRAJECTORY + phase)
    waves /= np.abs(waves).max(axis=0)
    return (low + high) / 2 + waves * (high - low) / 2


def rendered(setting: Setting, angles: Floats) -> Images:
    """Images of the poses from each camera, uint8 (n, V, S, S)."""
    joints = setting.splits["train"].joints
    with Scene(setting.robot, setting.cameras, setting.image_size, joints=joints, scene="panda-gym") as scene:
        return np.stack(list(scene.render_all(angles)))


def film(setting: Setting, poses: Images, fps: int, folder: Path) -> dict[str, Path]:
    """Write images (n, V, S, S) to a video of 640x480 pixels of each camera, enlarged in the middle; camera → file."""
    folder.mkdir()
    paths = {camera.name: folder / f"{camera.name}.mp4" for camera in setting.cameras}
    containers = {name: av.open(str(path), "w") for name, path in paths.items()}
    streams = {}
    for name, container in containers.items():
        streams[name] = container.add_stream("h264", rate=fps, options={"crf": "16", "preset": "veryfast", "g": "30"})
        streams[name].width, streams[name].height, streams[name].pix_fmt = WIDTH, HEIGHT, "yuv420p"
        streams[name].time_base = Fraction(1, fps)
    left, top, side, _ = box(setting)
    for images in poses:
        for name, image in zip(paths, images, strict=True):
            picture = np.full((HEIGHT, WIDTH, 3), 127, np.uint8)
            picture[top : top + side, left : left + side] = enlarge(image, side)[..., None]
            containers[name].mux(streams[name].encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    for name, container in containers.items():
        container.mux(streams[name].encode())
        container.close()
    return paths


def box(setting: Setting) -> Box:
    """Where the image is in a frame: left, top, width and height."""
    side = HEIGHT // setting.image_size * setting.image_size
    return (WIDTH - side) // 2, (HEIGHT - side) // 2, side, side
