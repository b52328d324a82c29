"""Compares the rate of rendering on Ray with that of plain processes, and measures what Ray costs per unit of poses.

    python -m benchmarks.cluster [--on local] [--poses 2000] [--rounds 3] [--out FILE]

Both have as many processes as the machine has cores, render the same poses, and take turns for some rounds; the
quickest round counts, because other work on the machine only slows it down. The time of a round is that from the first
image to the last: processes start before. "overhead_ms" is the time of a call that returns as many bytes as a unit of
poses and renders nothing. Needs the extra `cluster`.
"""

import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import options, publish
from ropes.common.cluster import Cluster
from ropes.common.ray_connection import connect
from ropes.simulation.settings import setting_named
from ropes.simulation.workers import UNIT, Workers, render_poses

SETTING = "panda-2c-independent"


def rendered(poses: NDArray[np.float64], workers: Workers) -> tuple[float, float, int]:
    """Seconds until the first image, images a second after it, and bytes of a pose's images."""
    setting = setting_named(SETTING)
    began = time.perf_counter()
    frames = render_poses(setting, setting.splits["train"].joints, poses, workers)
    size = sum(map(len, next(frames)))
    first = time.perf_counter()
    count = sum(map(len, frames))
    return first - began, count / (time.perf_counter() - first), size


def sent(size: int, unit: int) -> list[list[bytes]]:
    """As many bytes as a unit of poses has."""
    return [[bytes([unit % 256]) * size] for _ in range(UNIT)]


def overhead(cluster: Cluster, size: int, calls: int) -> float:
    """Seconds of a call that renders nothing."""
    answers = cluster.stream(partial(sent, size), range(calls))
    next(answers)
    began = time.perf_counter()
    count = sum(1 for _ in answers)
    return (time.perf_counter() - began) / count


def main() -> None:
    """Measure and print the figures."""
    parser = options(__doc__)
    parser.add_argument("--on", default="local")
    parser.add_argument("--poses", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    poses = setting_named(SETTING).splits["train"].sample_observational(np.random.default_rng(0), arguments.poses)
    with connect(arguments.on) as cluster:
        plain, dealt = [], []
        for _ in range(arguments.rounds):
            plain.append(rendered(poses, cluster.cores))
            dealt.append(rendered(poses, cluster))
        cost = overhead(cluster, dealt[0][2], 100)
        cores = cluster.cores
    rates = [max(rate for _, rate, _ in found) for found in (plain, dealt)]
    starts = [min(start for start, _, _ in found) for found in (plain, dealt)]
    figures = {"processes": cores, "plain_images_per_second": rates[0], "ray_images_per_second": rates[1]}
    figures |= {"ratio": rates[1] / rates[0], "overhead_ms": 1000 * cost}
    publish(figures | {"plain_first_image_seconds": starts[0], "ray_first_image_seconds": starts[1]}, arguments.out)


if __name__ == "__main__":
    main()
