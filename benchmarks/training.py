"""Measures the time of a training step and of a prediction on this processor, and compares it with a lower bound.

    python -m benchmarks.training [--precision 32-true] [--threads 2] [--ops 15] [--out FILE]
    ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 python -m benchmarks.training

Steps are those of `ropes fit` with a compact preset, on data simulated first; "anchored student" is the second training
of `anchored`. A step of "predict" reads 256 poses with the packaged estimator, from the bytes of PNG files to
coordinates, standard deviations and flags. The bound is the time of the step if each of its operations ran at the speed
of a large matrix product, or of a copy in memory if that is slower (its roofline). Both speeds are measured in the same
run. Copies of a few megabytes, the size of the layers, are faster than larger ones, so the bound is rather too low than
too high. It contains copies that could be avoided; the share of the matrix product's speed shows them.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from benchmarks.figures import described, options, simulate
from benchmarks.prediction import decoded, pictures
from ropes.common import png
from ropes.common.files import write_json
from ropes.common.hardware import Precision, capability, training_precision, tune_process
from ropes.data.layout import open_dataset
from ropes.inference.estimator import Estimator
from ropes.methods.fit import fit
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.registry import methods_of, recipe_of
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.student.stage import Batch, StudentStage
from ropes.methods.training.stage import Stage
from ropes.methods.training.steps import BatchAt
from ropes.models.registry import find_run
from ropes.models.student import StudentNetwork

MEASURED = ("anchored", "anchored student", "ldr", "beta-vae", "predict")
_PACKAGED, _POSES, _IMAGES = "panda-2c", 256, 256
_DATA = {"arm": "--setting panda-2c-independent --anchors 200", "finger": "--setting finger-cube --samples {samples}"}
_SAMPLES = 128
_STEPS, _WARM, _MATRIX, _COPIED = 8, 3, 2048, 4 << 20


class _CapturedError(Exception):
    """The training that a fit was about to begin."""


@dataclass
class Training:
    """A stage with its batches, as `ropes.methods.training.loop.train` is given them."""

    stage: Stage
    batch_at: BatchAt
    mixed: bool

    @classmethod
    def of(cls, method: str, data: Path, precision: Precision) -> "Training":
        """What a fit of the method's compact preset trains first."""

        def capture(stage: Stage, batch_at: BatchAt, **_: Any) -> None:
            raise _CapturedError(stage, batch_at)

        with tempfile.TemporaryDirectory() as folder, patch("ropes.methods.context.train", capture):
            try:
                recipe = recipe_of(method, "compact")
                fit(data, Path(folder) / "run", recipe, method=method, precision=precision, show=False)
            except _CapturedError as found:
                stage, batch_at = found.args
                return cls(stage, batch_at, precision == "bf16-mixed")
        raise AssertionError("a fit trains something")

    @classmethod
    def of_student(cls, data: Path, precision: Precision) -> "Training":
        """The second training of `anchored`, of a teacher that has learnt nothing."""
        recipe = recipe_of("anchored", "compact")
        assert isinstance(recipe, EncoderRecipe)
        dataset = open_dataset(data)
        images = torch.from_numpy(dataset.read_images(dataset.frames("train").index[:_IMAGES]))
        joints = len(dataset.joints)
        torch.manual_seed(0)
        network, share = StudentNetwork(recipe.encoder, views=images.shape[1], joints=joints), recipe.foreign
        torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
        network.encoder.adapt(images)
        gaze = network.encoder.look(images[:2])[1]
        assert gaze is not None
        look = torch.full((len(images), *gaze.shape[1:]), 1 / gaze[0, 0].numel(), dtype=torch.half)
        taught = images, torch.randn(len(images), joints), look
        sizes, scale, occlude = {"steps": 1_000, "seed": 0}, torch.ones(joints), add_foreign_objects
        stage = StudentStage(
            network, recipe.student, share=share, scale=scale, occlude=occlude, held_out=taught[:2], **sizes
        )
        rows = [torch.randperm(len(images))[: recipe.student.batch] for _ in range(_WARM + _STEPS)]

        def batch_at(step: int) -> Batch:
            chosen = rows[step % len(rows)]
            return images[chosen], taught[1][chosen], look[chosen]

        return cls(stage, batch_at, precision == "bf16-mixed")

    def steps(self, count: int) -> Iterator[tuple[float, float, float, float]]:
        """Take steps: seconds of reading the batch, forward, backward and optimiser of each."""
        optimiser = torch.optim.AdamW(self.stage.network.parameters(), lr=1e-4, fused=True)
        for step in range(count):
            moments = [time.perf_counter()]
            batch = self.batch_at(step)
            moments.append(time.perf_counter())
            with torch.autocast("cpu", torch.bfloat16, enabled=self.mixed):
                loss = self.stage.training_step(batch, 0)
            assert isinstance(loss, Tensor)
            moments.append(time.perf_counter())
            optimiser.zero_grad()
            loss.backward()
            moments.append(time.perf_counter())
            self.stage.configure_gradient_clipping(optimiser)
            optimiser.step()
            moments.append(time.perf_counter())
            read, forward, backward, stepped = (b - a for a, b in itertools.pairwise(moments))
            yield read, forward, backward, stepped


class Timed(Protocol):
    """What is done step by step, in bf16 where it is `mixed`."""

    mixed: bool

    def steps(self, count: int) -> Iterator[tuple[float, float, float, float]]:
        """Take steps: seconds of reading the batch, forward, backward and optimiser of each."""


class Prediction:
    """What `ropes predict` does with the packaged estimator and a folder of images."""

    def __init__(self, precision: Precision, poses: int) -> None:
        self.mixed = precision == "bf16-mixed"
        self._estimator = Estimator.load(find_run(Path(_PACKAGED)), precision=precision)
        self._side = self._estimator.run.image_size
        self._files = [[png.encode(view) for view in pose] for pose in pictures(self._estimator, poses)]

    def steps(self, count: int) -> Iterator[tuple[float, float, float, float]]:
        """Read all poses so many times."""
        for _ in range(count):
            began = time.perf_counter()
            images = np.stack([decoded(pose, self._side) for pose in self._files])
            read = time.perf_counter()
            self._estimator.read(images)
            yield read - began, time.perf_counter() - read, 0.0, 0.0


class Roofline(TorchDispatchMode):
    """Adds up what operations compute and move, and the least seconds that they could take."""

    def __init__(self, flops_a_second: float, bytes_a_second: float) -> None:
        super().__init__()
        self.speed, self.bandwidth = flops_a_second, bytes_a_second
        self.flops, self.bytes, self.seconds = 0.0, 0.0, 0.0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if any(given.alias_info and not given.alias_info.is_write for given in func._schema.returns):
            return out  # a view, which moves nothing
        tensors = [leaf for leaf in tree_leaves((args, kwargs, out)) if isinstance(leaf, Tensor)]
        moved = float(sum(tensor.numel() * tensor.element_size() for tensor in tensors))
        count = flop_registry.get(func._overloadpacket)
        flops = float(count(*args, **kwargs, out_val=out)) if count else 0.0
        self.flops, self.bytes = self.flops + flops, self.bytes + moved
        self.seconds += max(flops / self.speed, moved / self.bandwidth)
        return out


def quickest(call: Callable[[], object], times: int = 10) -> float:
    """Seconds of the quickest of some calls."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        found.append(time.perf_counter() - began)
    return min(found)


def speeds(mixed: bool, side: int) -> tuple[float, float]:
    """FLOP/s of a product of matrices of this side, and bytes a second of a copy, read and written."""
    kind = torch.bfloat16 if mixed else torch.float32
    a, b = (torch.randn(side, side).to(kind) for _ in range(2))
    copied, to = torch.zeros(_COPIED, dtype=torch.uint8), torch.zeros(_COPIED, dtype=torch.uint8)
    return 2 * side**3 / quickest(lambda: a @ b), 2 * _COPIED / quickest(lambda: to.copy_(copied), 100)


def measured(training: Timed, steps: int, *, warm: int = _WARM, side: int = _MATRIX) -> dict[str, float]:
    """Milliseconds of each part of a step, the bound, and both speeds in shares of what the processor can do.

    Speeds are measured before and after the steps, since others may share the processor, and the best one counts.
    """
    before = speeds(training.mixed, side)
    parts = list(training.steps(warm + steps))[warm:]
    flops_a_second, bytes_a_second = (max(pair) for pair in zip(before, speeds(training.mixed, side), strict=True))
    best = min(parts, key=sum)
    seconds = sum(best)
    with Roofline(flops_a_second, bytes_a_second) as roofline:
        list(training.steps(1))
    names = ("read", "forward", "backward", "optimiser")
    return {
        **{f"{name}_ms": 1000 * part for name, part in zip(names, best, strict=True)},
        "step_ms": 1000 * seconds,
        "bound_ms": 1000 * roofline.seconds,
        "gflop": roofline.flops / 1e9,
        "matrix_product_gflops": flops_a_second / 1e9,
        "copy_gb_a_second": bytes_a_second / 1e9,
        "in_convolutions": convolutions(training, steps),
        "share_of_matrix_product": roofline.flops / seconds / flops_a_second,
        "share_of_bound": roofline.seconds / seconds,
    }


def convolutions(training: Timed, steps: int) -> float:
    """The share of the operations' time that goes into convolutions, forward and backward."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        list(training.steps(steps))
    times = {event.key: event.self_cpu_time_total for event in seen.key_averages()}
    return sum(time for name, time in times.items() if "convolution" in name) / sum(times.values())


def print_operations(training: Timed, count: int, steps: int) -> None:
    """What takes longest, in milliseconds a step."""
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        list(training.steps(steps))
    events = sorted(seen.key_averages(), key=lambda event: -event.self_cpu_time_total)[:count]
    for event in events:
        print(f"    {event.self_cpu_time_total / 1000 / steps:8.2f} ms  {event.count / steps:6.1f} ×  {event.key}")


def main() -> None:
    """Simulate, measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("--method", action="append", choices=MEASURED, help="all if omitted")
    parser.add_argument("--precision", choices=["bf16-mixed", "32-true"], help="that of the machine if omitted")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=_STEPS, help="timed steps of each method")
    parser.add_argument("--poses", type=int, default=_POSES, help='that a step of "predict" reads')
    parser.add_argument("--samples", type=int, default=_SAMPLES, help="pairs of images of finger and cube to train on")
    parser.add_argument("--warm", type=int, default=_WARM, help="untimed steps before them")
    parser.add_argument("--matrix", type=int, default=_MATRIX, help="side of the matrices of the large matrix product")
    parser.add_argument("--ops", type=int, default=0, help="also show this number of the slowest operations")
    arguments, began = parser.parse_args(), time.monotonic()
    tune_process()  # as `ropes fit` does, before the first tensor
    torch.set_num_threads(arguments.threads)
    precision = arguments.precision or training_precision()
    print(f"{capability()}, {precision}, {arguments.threads} threads, load {os.getloadavg()[0]:.1f}\n")
    found = measure_methods(arguments, precision)
    if arguments.out:
        figures = {**described(began), "precision": precision, "threads": arguments.threads}
        write_json(arguments.out, figures | {"methods": found})
    if max(one["share_of_bound"] for one in found.values()) > 1.1:
        print("\na step took less than its bound: something else ran meanwhile; measure again", file=sys.stderr)


def measure_methods(arguments: argparse.Namespace, precision: Precision) -> dict[str, dict[str, float]]:
    """Each method's figures; the table is printed meanwhile."""
    found: dict[str, dict[str, float]] = {}
    heads = "step", "read", "forward", "backward", "optimiser", "bound", "of the bound", "of a matrix product"
    print(f"| method | {' | '.join(heads)} |\n|---|{'---:|' * len(heads)}")
    with tempfile.TemporaryDirectory() as folder:
        for method in arguments.method or MEASURED:
            name = "finger" if method in methods_of("factors") else "arm"
            data = Path(folder) / name
            if method != "predict" and not data.exists():
                simulate(f"{_DATA[name].format(samples=arguments.samples)} --test-anchors 8", data)
            training: Timed
            match method:
                case "predict":
                    training = Prediction(precision, arguments.poses)
                case "anchored student":
                    training = Training.of_student(data, precision)
                case _:
                    training = Training.of(method, data, precision)
            one = found[method] = measured(training, arguments.steps, warm=arguments.warm, side=arguments.matrix)
            times = " | ".join(f"{one[f'{name}_ms']:.0f} ms" for name in (*heads[:5], "bound"))
            print(f"| {method} | {times} | {one['share_of_bound']:.0%} | {one['share_of_matrix_product']:.0%} |")
            if arguments.ops:
                print_operations(training, arguments.ops, arguments.steps)
    return found


if __name__ == "__main__":
    main()
