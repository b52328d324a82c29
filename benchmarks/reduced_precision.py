"""Measures how bf16 and int8 change an estimator's accuracy and its speed on this processor.

    python -m benchmarks.reduced_precision [RUN] [--poses 2000] [--out FILE]

RUN is a run of anchored or ldr, or the name of a packaged estimator. Its setting is simulated first. For each joint a
line to radians is fitted on half of the poses, read in float32, and tested on the other half. In int8 the weights and
activations of residual stages and dense layers are quantised by the ranges on training images (static quantisation of
torch, engine x86); everything else stays in float32.
"""

import copy
import math
import tempfile
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.figures import described, options, simulate
from ropes.common.arrays import Floats
from ropes.common.files import write_json
from ropes.common.hardware import RequestedPrecision, capability
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.inference.estimator import Estimator
from ropes.methods.anchored.reader import finished_network
from ropes.models.encoder import PoseEncoder
from ropes.models.registry import find_run
from ropes.models.student import StudentNetwork

_SEEN, _TIMED, _TIMES, _CHUNK = 256, 512, 4, 256


class Encoded:
    """A run's network as it stands, read in chunks."""

    def __init__(self, network: PoseEncoder | StudentNetwork) -> None:
        self.network = network.eval()

    @torch.no_grad()
    def coordinates(self, images: NDArray[np.uint8]) -> Floats:
        """uint8 (n, V, S, S) → (n, d)."""
        parts = [self.network.read(part)[0] for part in torch.from_numpy(images).split(_CHUNK)]
        return torch.cat(parts).double().numpy()


def quantised(run: Path, images: NDArray[np.uint8]) -> Encoded:
    """The run's network in int8, its ranges from these images."""
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    read = finished_network(run)[1].eval()
    encoders = ("encoder.", "teacher.") if isinstance(read, StudentNetwork) else ("",)
    given: dict[str, Tensor] = {}
    hooks = []
    for encoder, part in product(encoders, _parts(read)):

        def keep(module: nn.Module, inputs: tuple[Tensor, ...], name: str = encoder + part) -> None:
            given[name] = inputs[0].detach()

        hooks.append(read.get_submodule(encoder + part).register_forward_pre_hook(keep))
    with torch.no_grad():
        read.read(torch.from_numpy(images))
    for hook in hooks:
        hook.remove()
    torch.backends.quantized.engine = "x86"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, that this way of quantising will move to another package
        for name, x in given.items():
            observed = prepare_fx(copy.deepcopy(read.get_submodule(name)), get_default_qconfig_mapping("x86"), (x,))
            with torch.no_grad():
                observed(x)
            read.set_submodule(name, convert_fx(observed))
    return Encoded(read)


def _parts(read: PoseEncoder | StudentNetwork) -> list[str]:
    """The parts of an encoder that are computed in int8: stages, and the dense layers behind them."""
    network = read.encoder if isinstance(read, StudentNetwork) else read
    seen = {"whole": "far", "window": "near"} if network.config.window else {"whole": "far"}
    return [*(f"{part}.{k}" for part in seen for k in range(len(getattr(network, part)))), *seen.values()]


def poses_a_second(read: Estimator | Encoded, images: NDArray[np.uint8], times: int) -> float:
    """The most of so many tries."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        read.coordinates(images)
        found.append(len(images) / (time.perf_counter() - began))
    return max(found)


def measure(run: Path, dataset: Dataset, seen: int, times: int) -> dict[str, dict[str, object]]:
    """Each precision's figures, int8 with ranges of `seen` images, speeds of so many tries; prints the table."""
    rows = dataset.frames("test-id").index
    images, angles = dataset.read_images(rows), dataset.states("test-id")
    half = len(rows) // 2
    asked: dict[str, RequestedPrecision] = {"float32": "32-true", "bf16": "bf16-mixed"}
    readers: dict[str, Estimator | Encoded] = {
        name: Estimator.load(run, precision=precision) for name, precision in asked.items()
    }
    readers["int8"] = quantised(run, dataset.read_images(dataset.frames("train").index[:seen]))
    found: dict[str, dict[str, object]] = {}
    lines: list[Floats] = []
    print("| read in | error, in shares of float32's | moved by, in shares of its error | speed |\n|---|---|---|---:|")
    for name, reader in readers.items():
        coordinates = reader.coordinates(images)
        if not lines:
            lines = [np.polyfit(z[:half], truth[:half], 1) for z, truth in zip(coordinates.T, angles.T, strict=True)]
        read = np.stack([np.polyval(line, z) for line, z in zip(lines, coordinates.T, strict=True)], axis=1)[half:]
        error = np.sqrt(((read - angles[half:]) ** 2).mean(axis=0))
        speed = poses_a_second(reader, images[:_TIMED], times)
        if not found:
            exact, usual, fast = read, error, speed
        moved = np.sqrt(((read - exact) ** 2).mean(axis=0)) / usual
        found[name] = {"error": (error / usual).tolist(), "moved": moved.tolist(), "times_as_fast": speed / fast}
        each = " | ".join(" ".join(f"{share:.3f}" for share in shares) for shares in (error / usual, moved))
        print(f"| {name} | {each} | {speed / fast:.2f} |", flush=True)
    return found


def main() -> None:
    """Simulate, measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("run", nargs="?", default="panda-2c", help="folder of a run, or name of a packaged estimator")
    parser.add_argument("--poses", type=int, default=2_000)
    parser.add_argument("--seen", type=int, default=_SEEN, help="training images for the ranges of int8")
    parser.add_argument("--times", type=int, default=_TIMES, help="tries of each speed, of which the best counts")
    arguments, began = parser.parse_args(), time.monotonic()
    run = find_run(Path(arguments.run))
    print(f"{capability()}, {torch.get_num_threads()} threads\n")
    with tempfile.TemporaryDirectory() as folder:
        fitted = finished_network(run)[0]
        given = f"--setting {fitted.setting} --scene {fitted.scene or 'white'}"
        anchors = math.ceil(arguments.seen / (1 + 2 * len(fitted.joints)))  # each has a pose for every policy
        simulate(f"{given} --anchors {anchors} --test-anchors {arguments.poses} --seed 7", Path(folder) / "data")
        found = measure(run, open_dataset(Path(folder) / "data"), arguments.seen, arguments.times)
    if arguments.out:
        write_json(arguments.out, {**described(began), "threads": torch.get_num_threads(), "readers": found})


if __name__ == "__main__":
    main()
