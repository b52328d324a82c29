"""Measures the time of the metrics of disentanglement, each metric alone and all six together.

    python -m benchmarks.disentanglement [--samples 10000] [--latents 10] [--factors 7] [--workers N] [--out FILE]

The samples resemble those of a model of finger-cube: factors with that setting's values, the last one a class, and
latents that each mix two factors, with noise. Seconds are wall-clock time; DCI and BetaVAE use several cores.
Modularity and explicitness are measured together, as published.
"""

import os
import time
from collections.abc import Callable

import numpy as np

from benchmarks.figures import options, publish
from ropes.common.arrays import Floats
from ropes.metrics import beta_vae_score, dci, explicitness, factor_vae_score, mig, modularity, sap
from ropes.simulation.finger_setting import FACTORS

#: Seconds that all six together may take for 10,000 × 10 × 7 on two cores.
TARGET_S = 60


def samples_of(samples: int, latents: int, factors: int) -> tuple[Floats, Floats]:
    """Latents (n, k) and factors (n, f)."""
    rng = np.random.default_rng(0)
    grids = [FACTORS[-1 - place % len(FACTORS)] for place in reversed(range(factors))]
    states = np.stack([rng.choice(grid.values, samples) for grid in grids], axis=1)
    mixing = rng.normal(size=(factors, latents)) * (rng.random((factors, latents)) < 2 / factors)
    return (states - states.mean(0)) / states.std(0) @ mixing + 0.1 * rng.normal(size=(samples, latents)), states


def measure(samples: int, latents: int, factors: int, workers: int | None) -> dict[str, float]:
    """Every figure by its name."""
    codes, states = samples_of(samples, latents, factors)
    classes = [factors - 1]
    metrics: dict[str, Callable[[], object]] = {
        "dci": lambda: dci(codes, states, categorical=classes, workers=workers),
        "mig": lambda: mig(codes, states),
        "sap": lambda: sap(codes, states, categorical=classes),
        "modularity": lambda: (modularity(codes, states), explicitness(codes, states)),
        "beta_vae": lambda: beta_vae_score(codes, states),
        "factor_vae": lambda: factor_vae_score(codes, states),
    }
    found: dict[str, float] = {"samples": samples, "latents": latents, "factors": factors}
    for name, metric in metrics.items():
        begun = time.perf_counter()
        metric()
        found[f"{name}_s"] = time.perf_counter() - begun
    together = sum(found[f"{name}_s"] for name in metrics)
    return {**found, "all_six_s": together, "target_s": TARGET_S, "load": os.getloadavg()[0]}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--latents", type=int, default=10)
    parser.add_argument("--factors", type=int, default=len(FACTORS))
    parser.add_argument("--workers", type=int, help="threads of the trees; OpenMP's default if omitted")
    given = parser.parse_args()
    publish(measure(given.samples, given.latents, given.factors, given.workers), given.out)


if __name__ == "__main__":
    main()
