"""Measures the time of a prediction: one pose on one core, and many poses in batches on two.

    python -m benchmarks.prediction [RUN] [--seconds 5] [--out FILE]

RUN is a run's folder or the name of a packaged estimator. If it is omitted, student and teacher of the compact preset
with two cameras and six joints are initialised at random, which take the same time. A pose is one image per camera.
Times are wall-clock times from grey images in memory to coordinates; with PNG, from the bytes of the files. Processor
times, with one thread in batches, are shown too, because other work on the machine changes them little.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import options, publish
from ropes.common import png
from ropes.common.arrays import Images
from ropes.inference.estimator import Estimator
from ropes.methods.readers import load_reader, weight_files
from ropes.methods.recipes import encoder_recipe
from ropes.methods.run import Run
from ropes.models.checkpoints import save_weights
from ropes.models.registry import find_run
from ropes.models.student import StudentNetwork
from ropes.simulation.settings import setting_named

SETTING = "panda-2c-independent"
BATCH = 256
TARGET_MS, TARGET_IMAGES = 10.0, 1000.0


def fresh() -> Estimator:
    """An estimator that has learnt nothing."""
    setting, recipe = setting_named(SETTING), encoder_recipe("compact")
    joints, cameras = setting.splits["train"].joints, tuple(camera.name for camera in setting.cameras)
    run = Run(
        method="anchored",
        recipe=recipe,
        seed=0,
        setting=SETTING,
        cameras=cameras,
        joints=joints,
        image_size=setting.image_size,
        data_checksum="",
    )
    torch.manual_seed(0)
    network = StudentNetwork(recipe.encoder, views=len(cameras), joints=len(joints))
    with tempfile.TemporaryDirectory() as folder:
        (name,) = weight_files(run)
        save_weights(network, Path(folder) / name)
        return Estimator(run, load_reader(run, Path(folder), torch.device("cpu")), None)


def pictures(estimator: Estimator, poses: int) -> Images:
    """Images of the size that the estimator reads, smooth as rendered ones are: uint8 (poses, cameras, side, side)."""
    run = estimator.run
    shape = (poses, len(run.cameras), run.image_size, run.image_size)
    steps = np.random.default_rng(0).integers(-2, 3, shape)
    return np.clip(128 + steps.cumsum(axis=-1), 0, 255).astype(np.uint8)


def decoded(files: Sequence[bytes], side: int) -> Images:
    """One pose's PNG files, a view each: uint8 (cameras, side, side)."""
    return np.stack([png.decode(data, (side, side)) for data in files])


def durations(read: Callable[[int], object], seconds: float) -> list[float]:
    """Seconds of each call of `read`, which gets 0, 1, 2, …; the first two calls are not counted."""
    for k in range(2):
        read(k)
    taken: list[float] = []
    begun = time.perf_counter()
    while not taken or time.perf_counter() - begun < seconds:
        clock = time.perf_counter()
        read(len(taken))
        taken.append(time.perf_counter() - clock)
    return taken


def measure(estimator: Estimator, seconds: float, batch: int = BATCH) -> dict[str, float]:
    """Every figure by its name."""
    views, size = len(estimator.run.cameras), estimator.run.image_size
    images = pictures(estimator, batch)
    encoded = [[png.encode(view) for view in pose] for pose in images[:8]]

    def one(k: int) -> object:
        return estimator.coordinates(images[k % batch][None])

    def one_from_png(k: int) -> object:
        return estimator.coordinates(decoded(encoded[k % 8], size)[None])

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        single, from_png = (1e3 * statistics.median(durations(read, seconds)) for read in (one, one_from_png))
        begun = time.process_time()
        estimator.coordinates(images)
        processor = 1e3 * (time.process_time() - begun) / batch
        torch.set_num_threads(2)
        poses = batch / statistics.median(durations(lambda _: estimator.coordinates(images), seconds))
    finally:
        torch.set_num_threads(before)
    return {
        "cameras": views,
        "one_pose_one_core_ms": single,
        "one_pose_one_core_with_png_ms": from_png,
        "target_ms": TARGET_MS,
        "batch": batch,
        "processor_ms_per_pose_in_batches": processor,
        "poses_per_second_two_cores": poses,
        "images_per_second_two_cores": views * poses,
        "target_images_per_second": TARGET_IMAGES,
        "load": os.getloadavg()[0],
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("run", nargs="?", type=Path, help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each measurement")
    given = parser.parse_args()
    estimator = fresh() if given.run is None else Estimator.load(find_run(given.run))
    publish(measure(estimator, given.seconds), given.out)


if __name__ == "__main__":
    main()
