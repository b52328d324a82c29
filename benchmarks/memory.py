"""Measures the peak memory of a compact fit of the size of Table 1.

    python -m benchmarks.memory [--anchors 5000] [--out FILE]

A data set of two cameras and six joints is written with random images. Nothing can be learnt from them, and they
compress badly and decode slowly, but they need the same memory as real images. Every stage is then fitted for a few
steps with the recipe's batches, in a process of its own. The figures are the process's peak resident memory, and the
part of it that no file backs.
"""

import multiprocessing
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.figures import options, publish
from ropes.common import png
from ropes.data import schema, writer
from ropes.methods.recipes import Optimisation, Recipe, RopesRecipe, ropes_recipe
from ropes.simulation.settings import Setting, setting_named

SETTING = "panda-2c-independent"
STEPS = 4


def write(path: Path, setting: Setting, anchors: int) -> None:
    """A data set of that setting's size, its images a few noisy ones over and over."""
    model, names = setting.splits["train"], [camera.name for camera in setting.cameras]
    size = (setting.image_size, setting.image_size)
    noise = np.random.default_rng(0).integers(0, 64, (128, len(names), *size), dtype=np.uint8)
    frames = [[png.encode(view) for view in views] for views in noise]
    features = schema.features(names, size, None)
    plan = writer.SplitPlan(name="train", episodes=anchors, tasks=tuple(range(len(model.regimes))))
    shards = writer.plan_shards([plan], len(names))
    for shard in shards:
        rows = range(shard.first_row, shard.first_row + shard.frames)
        writer.write_shard(path, shard, features, [frames[row % len(frames)] for row in rows], None)
    provenance = {"schema": 1, "cameras": [{"name": name} for name in names]}
    writer.finish(path, shards=shards, features=features, regimes=model.regimes, provenance=provenance)


def shortened(recipe: RopesRecipe, anchors: int, setting: Setting) -> RopesRecipe:
    """The recipe for a few steps of every stage, batches and networks as they are."""
    poses = anchors * len(setting.splits["train"].regimes)

    def few(part: Optimisation, samples: int) -> Optimisation:
        return replace(part, min_samples=0, epochs=STEPS * part.batch / samples)

    return replace(
        recipe,
        ae1_training=few(recipe.ae1_training, poses * len(setting.cameras)),
        ldr_training=few(recipe.ldr_training, 2 * anchors),
        ae2_training=few(recipe.ae2_training, poses),
        student=few(recipe.student, poses),
    )


def anonymous() -> int:
    """Resident bytes of this process that no file backs."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))


def fit_and_watch(data: Path | str, out: Path, recipe: Recipe, method: str, results: Connection) -> None:
    """Fit, and send the peaks."""
    from ropes.methods.fit import fit

    highest = [0]

    def watch() -> None:
        while True:
            highest[0] = max(highest[0], anonymous())
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    fit(data, out, recipe, 0, method=method, show=False)
    results.send({"peak_resident": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "peak_own": highest[0]})


def apart(function: Callable[..., None], *arguments: object) -> dict[str, int]:
    """What `function` sends back from a fresh process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=function, args=(*arguments, theirs))
    process.start()
    theirs.close()
    found: dict[str, int] = ours.recv()
    process.join()
    return found


def measure(anchors: int) -> dict[str, float]:
    """Every figure by its name, gigabytes of 10⁹ bytes."""
    setting = setting_named(SETTING)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(root / "cache")
        write(root / "data", setting, anchors)
        recipe = shortened(ropes_recipe("compact"), anchors, setting)
        found = apart(fit_and_watch, root / "data", root / "run", recipe, "ropes")
    images = anchors * len(setting.splits["train"].regimes) * len(setting.cameras)
    return {
        "anchors": anchors,
        "images": images,
        "peak_resident_gb": found["peak_resident"] / 1e9,
        "peak_own_gb": found["peak_own"] / 1e9,
        "target_gb": 6.0,
    }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--anchors", type=int, default=5000, help="training anchors, 26 images each")
    given = parser.parse_args()
    publish(measure(given.anchors), given.out)


if __name__ == "__main__":
    main()
