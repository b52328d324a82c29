"""Compares the poses that two processes train a second with those of one process on as many cores.

    python -m benchmarks.devices [--methods anchored cnn] [--precision 32-true] [--steps 40] [--rounds 3] [--out FILE]

One process has two threads, two processes have one each. Steps are those of `ropes fit` with a compact preset, without
evaluations, on data simulated first. Both take turns for some rounds. The quickest step of all rounds counts, because
other work on the machine only slows steps down. "weights" is the largest difference between the
weights of both after one step in float32.
"""

import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.figures import described, options, simulate
from benchmarks.training import Training
from ropes.common.files import write_json
from ropes.common.hardware import Precision, training_precision, tune_process
from ropes.methods.training.loop import train
from ropes.methods.training.team import training_team

DEVICES, WARM = 2, 4
_DATA = "--setting panda-2c-independent --anchors 200"


def trained(training: Training, devices: int, precision: Precision, steps: int) -> list[float]:
    """Train for some steps; returns the moments at which they ended."""
    stage, moments = training.stage, list[float]()
    stage.steps, stage.evaluate_every = steps, steps + 1

    def log(_: dict[str, list[float]]) -> None:
        moments.append(time.perf_counter())

    with tempfile.TemporaryDirectory() as folder, training_team(devices, 1):
        run: dict[str, Any] = {
            "folder": Path(folder),
            "fingerprint": "",
            "description": "training",
            "precision": precision,
        }
        train(stage, training.batch_at, show=False, log=log, **run)
    return moments


def seconds(method: str, data: Path, precision: Precision, devices: int, steps: int) -> float:
    """Seconds of the quickest step, without the first ones and the last one, which ends with an evaluation."""
    moments = trained(Training.of(method, data, precision), devices, precision, steps)
    return min(after - before for before, after in itertools.pairwise(moments[WARM:-1]))


def difference(method: str, data: Path) -> float:
    """Largest difference between the weights after one step on one device and on several."""
    networks = []
    for devices in (1, DEVICES):
        training = Training.of(method, data, "32-true")
        trained(training, devices, "32-true", 1)
        networks.append(training.stage.network.state_dict())
    one, several = networks
    return max(float((one[name].float() - several[name].float()).abs().max()) for name in one)


def measure(method: str, data: Path, precision: Precision, steps: int, rounds: int) -> dict[str, float]:
    """Poses a second of one process and of several, their ratio, and the difference of the weights."""
    batch = len(Training.of(method, data, precision).batch_at(0)[0].flatten(0, -4))
    found = [[seconds(method, data, precision, devices, steps) for devices in (1, DEVICES)] for _ in range(rounds)]
    one, several = (batch / min(of) for of in zip(*found, strict=True))
    return {"one": one, "several": several, "ratio": several / one, "weights": difference(method, data)}


def keep(precision: str, figures: dict[str, float], of: dict[str, Any], out: Path | None) -> None:
    """Print the figures, and write them to `out` with what they are of."""
    content = {
        "precision": precision,
        **of,
        "figures": {name: float(f"{value:.4g}") for name, value in figures.items()},
    }
    print(json.dumps(content, indent=1))
    if out:
        write_json(out, content)


def main() -> None:
    """Measure, print and keep the figures."""
    parser = options(__doc__)
    parser.add_argument("--methods", nargs="+", choices=("anchored", "ldr", "cnn"), default=["anchored", "ldr"])
    parser.add_argument("--precision", choices=("bf16-mixed", "32-true"), default=training_precision())
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    began, figures = time.monotonic(), dict[str, float]()
    torch.set_num_threads(DEVICES)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        simulate(_DATA, data)
        for method in arguments.methods:
            found = measure(method, data, arguments.precision, arguments.steps, arguments.rounds)
            figures |= {f"{method}_{name}": value for name, value in found.items()}
    keep(arguments.precision, figures, described(began), arguments.out)


if __name__ == "__main__":
    tune_process()
    main()
