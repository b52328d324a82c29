"""Measures how far metrics of disentanglement depend on the number of samples and on their bins.

    python -m benchmarks.metric_sizes [--samples 500 1000 2000 4000 10000] [--draws 5] [--out FILE] [--page]

All samples come from one simulated model with ten latents. Seven of them are a factor of finger-cube each, plus .4
times another one and normal noise of .3, in shares of the factors' standard deviations; three are noise. Rows of other
bins have as many samples as the row above. --page also writes the table of docs/metrics.md.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import described, keep, options, origin, table
from ropes.common.arrays import Floats
from ropes.metrics import dci, explicitness, infomec, mig, modularity, sap
from ropes.simulation.finger_setting import FACTORS

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
LATENTS, BINS = 10, (5, 10, 40)
NAMES = (
    "DCI",
    "completeness",
    "informativeness",
    "SAP",
    "explicitness",
    "MIG",
    "modularity",
    "InfoM",
    "InfoC",
    "InfoE",
)


def samples_of(count: int, seed: int) -> tuple[Floats, Floats]:
    """Latents (n, 10) and factors (n, 7), the last of which is a class."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.choice(grid.values, count) for grid in FACTORS], axis=1)
    scaled = (factors - factors.mean(0)) / factors.std(0)
    noise = rng.normal(size=(count, LATENTS - len(FACTORS)))
    mixed = scaled + 0.4 * np.roll(scaled, 1, axis=1) + 0.3 * rng.normal(size=scaled.shape)
    return np.concatenate([mixed, noise], axis=1), factors


def metrics(latents: Floats, factors: Floats, workers: int | None) -> tuple[float, ...]:
    """Every metric with its usual bins, in the order of `NAMES`."""
    classes = [factors.shape[1] - 1]
    trees = dci(latents, factors, categorical=classes, workers=workers)
    return (
        trees.disentanglement,
        trees.completeness,
        trees.informativeness,
        sap(latents, factors, categorical=classes),
        explicitness(latents, factors),
        *of_bins(latents, factors, 20),
    )


def of_bins(latents: Floats, factors: Floats, bins: int) -> tuple[float, ...]:
    """The metrics that bin: MIG, modularity, InfoM, InfoC and InfoE."""
    found = infomec(latents, factors, bins=bins)
    binned = {"bins": bins, "factor_bins": bins}
    of_mutual_information = mig(latents, factors, **binned), modularity(latents, factors, **binned)
    return *of_mutual_information, found.modularity, found.compactness, found.explicitness


def measured(samples: tuple[int, ...], draws: int, workers: int | None) -> list[dict[str, Any]]:
    """A row for each number of samples, then for each number of bins: mean and deviation over draws of each metric."""
    rows = []
    for count in samples:
        found = [metrics(*samples_of(count, seed), workers) for seed in range(draws)]
        rows.append({"samples": count, "bins": 20, **_summary(NAMES, found)})
    for bins in BINS:
        found = [of_bins(*samples_of(samples[-1], seed), bins) for seed in range(draws)]
        rows.append({"samples": samples[-1], "bins": bins, **_summary(NAMES[-5:], found)})
    return rows


def _summary(names: tuple[str, ...], found: list[tuple[float, ...]]) -> dict[str, Any]:
    values = np.array(found)
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(len(names))
    return {
        "mean": dict(zip(names, values.mean(0).tolist(), strict=True)),
        "std": dict(zip(names, spread, strict=True)),
    }


def written(found: dict[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    lines = []
    for row in found["rows"]:
        shown = [f"{row['mean'][name]:.3f} ± {row['std'][name]:.3f}" if name in row["mean"] else "" for name in NAMES]
        lines.append([f"{row['samples']:,}", str(row["bins"]), *shown])
    return (
        f"{table(['samples', 'bins', *NAMES], lines)}\nMean ± deviation over {found['draws']} draws; {origin(found)}.\n"
    )


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("--samples", nargs="+", type=int, default=[500, 1_000, 2_000, 4_000, 10_000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--workers", type=int, help="threads of the trees; OpenMP's default if omitted")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/metrics.md")
    given, began = parser.parse_args(), time.monotonic()
    rows = measured(tuple(given.samples), given.draws, given.workers)
    found = {**described(began), "draws": given.draws, "rows": rows}
    keep(found, "metric-sizes", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()
