"""Compares `ropes.metrics` with other libraries on random arrays: disent for DCI, MIG and SAP, MAPIE for intervals.

    python -m benchmarks.oracles [--out results/oracles.json] [--page]

Neither library is a dependency: `make oracles` installs them into an environment of their own and runs this. With
--page, the table is written to docs/metrics.md. The exit code is 1 if figures differ that should agree.

disent computes its metrics from its own data sets. The comparison calls the functions beneath, which take arrays.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.figures import keep, options, table
from ropes.common.arrays import Floats
from ropes.metrics import dci, mig, sap
from ropes.metrics.disentanglement import DCI
from ropes.metrics.disentanglement.predictive import completeness, disentanglement
from ropes.metrics.disentanglement.samples import normalised, split_rows
from ropes.metrics.intervals import conformal_quantile, leave_one_out_residuals

PAGE = Path(__file__).parents[1] / "docs" / "metrics.md"
#: Differences up to this one count as agreement.
AGREES = 1e-6
_DRAWS, _SAMPLES = 5, 600


class Comparison(NamedTuple):
    """A figure that two libraries compute from the same arrays.

    Attributes:
        name: what is computed.
        oracle: the other library.
        pairs: seed → our value and the other's.
        note: why they differ; "" where they should agree.
    """

    name: str
    oracle: str
    pairs: Callable[[int], Iterator[tuple[float, float]]]
    note: str = ""


def codes(seed: int, values: Sequence[int] = (4, 7, 20)) -> tuple[Floats, Floats]:
    """Latents (n, 5) that mix three discrete factors (n, 3), nonlinearly and with noise."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(0, each, _SAMPLES) for each in values], axis=1).astype(float)
    mixing = rng.normal(size=(3, 5)) * (rng.uniform(size=(3, 5)) < 0.5)
    return np.tanh(normalised(factors) @ mixing) + 0.2 * rng.normal(size=(_SAMPLES, 5)), factors


def importances(seed: int) -> Iterator[tuple[float, float]]:
    """Disentanglement and completeness of one matrix of importances."""
    theirs = import_module("disent.metrics._dci")
    matrix = np.random.default_rng(seed).dirichlet(np.full(6, 0.3), size=4).T
    yield disentanglement(matrix), float(theirs._disentanglement(matrix))
    yield completeness(matrix), float(theirs._completeness(matrix))


@cache
def _of_trees(seed: int) -> tuple[DCI, Mapping[str, float]]:
    """DCI from the codes on, with classes for all factors and LightGBM's trees in both libraries."""
    theirs = import_module("disent.metrics._dci")
    latents, factors = codes(seed)
    train, test = split_rows(len(latents), seed)
    arrays = [values[rows].T for rows in (train, test) for values in (latents, factors.astype(int))]
    return dci(latents, factors, categorical=range(3), seed=seed), theirs._compute_dci(*arrays, boost_mode="lightgbm")


def trees(name: str, key: str) -> Callable[[int], Iterator[tuple[float, float]]]:
    """One of the three figures of DCI from the codes on."""

    def pairs(seed: int) -> Iterator[tuple[float, float]]:
        ours, theirs = _of_trees(seed)
        yield getattr(ours, name), float(theirs[key])

    return pairs


def gaps(values: Sequence[int]) -> Callable[[int], Iterator[tuple[float, float]]]:
    """MIG of factors with so many values."""

    def pairs(seed: int) -> Iterator[tuple[float, float]]:
        latents, factors = codes(seed, values)
        found = import_module("disent.metrics._mig")._compute_mig(latents.T, factors.T.astype(int))
        yield mig(latents, factors), float(found["mig.discrete_score"])

    return pairs


def predictability(*, continuous: bool, scaled: bool = True) -> Callable[[int], Iterator[tuple[float, float]]]:
    """SAP by squared correlations, or by support vector machines on the same rows."""

    def pairs(seed: int) -> Iterator[tuple[float, float]]:
        theirs = import_module("disent.metrics._sap")
        latents, factors = codes(seed)
        given = normalised(latents) if scaled else latents
        train, test = (slice(None), slice(None)) if continuous else split_rows(len(latents), seed)
        arrays = [values[rows].T for rows in (train, test) for values in (given, factors)]
        found = theirs._compute_sap(*arrays, continuous)
        yield sap(latents, factors, categorical=() if continuous else range(3), seed=seed), float(found["sap.score"])

    return pairs


def split_conformal(seed: int) -> Iterator[tuple[float, float]]:
    """Half the width of split-conformal intervals of a fitted line, for several sizes and levels."""
    from mapie.regression import SplitConformalRegressor
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(seed)
    for size in (20, 99, 523):
        x = rng.normal(size=(size, 1))
        y = 2 * x[:, 0] + rng.standard_t(3, size=size)
        line = LinearRegression().fit(x, y)
        residuals = np.abs(y - line.predict(x))[:, None]
        for level in (0.8, 0.9, 0.95):
            regressor = SplitConformalRegressor(line, confidence_level=level, prefit=True).conformalize(x, y)
            yield float(conformal_quantile(residuals, level)[0]), _half_width(regressor.predict_interval(x[:1])[1])


def leave_one_out(seed: int) -> Iterator[tuple[float, float]]:
    """Half the width of the jackknife's intervals: quantiles of leave-one-out residuals."""
    from mapie.regression import CrossConformalRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.model_selection import LeaveOneOut

    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 1))
    y = 2 * x[:, 0] + rng.standard_t(3, size=60)
    regressor = CrossConformalRegressor(LinearRegression(), confidence_level=0.9, cv=LeaveOneOut(), method="base")
    regressor.fit_conformalize(x, y)
    residuals = np.abs(leave_one_out_residuals(x, y[:, None]))
    yield float(conformal_quantile(residuals, 0.9)[0]), _half_width(regressor.predict_interval(x[:1])[1])


def _half_width(bounds: Any) -> float:
    """Half the width of MAPIE's first interval, (n, 2, levels)."""
    return float(np.ptp(np.asarray(bounds)[0, :, 0]) / 2)


COMPARISONS = (
    Comparison("D and C of DCI from importances", "disent", importances),
    Comparison(
        "D of DCI from codes",
        "disent",
        trees("disentanglement", "dci.disentanglement"),
        "importances: gains of trees of depth 3 here, numbers of splits of trees of 31 leaves there",
    ),
    Comparison("C of DCI from codes", "disent", trees("completeness", "dci.completeness"), "as above"),
    Comparison(
        "I of DCI from codes, accuracy", "disent", trees("informativeness", "dci.informativeness_test"), "as above"
    ),
    Comparison("MIG, factors of up to 20 values", "disent", gaps((4, 7, 20))),
    Comparison("MIG, factors of 30 values", "disent", gaps((30, 30, 30)), "factors are binned here, not there"),
    Comparison("SAP, ordered factors", "disent", predictability(continuous=True)),
    Comparison(
        "SAP, classes, standardised latents",
        "disent",
        predictability(continuous=False),
        "random states of the support vector machines",
    ),
    Comparison(
        "SAP, classes, raw latents",
        "disent",
        predictability(continuous=False, scaled=False),
        "latents are standardised here, not there",
    ),
    Comparison("conformal quantile, 20 to 523 scores, levels .8 to .95", "MAPIE", split_conformal),
    Comparison("quantile of leave-one-out residuals", "MAPIE", leave_one_out),
)


def compared(draws: int = _DRAWS) -> list[dict[str, Any]]:
    """Every comparison with the number of its pairs, the largest difference and the mean of both."""
    rows = []
    for comparison in COMPARISONS:
        both = np.array([pair for seed in range(draws) for pair in comparison.pairs(seed)])
        rows.append(
            {
                "name": comparison.name,
                "oracle": comparison.oracle,
                "note": comparison.note,
                "pairs": len(both),
                "difference": float(np.abs(both[:, 0] - both[:, 1]).max()),
                "ours": float(both[:, 0].mean()),
                "theirs": float(both[:, 1].mean()),
            }
        )
    return rows


def agrees(row: Mapping[str, Any]) -> bool:
    """Whether the values of a comparison are equal, or a note says why they differ."""
    return bool(row["note"]) or row["difference"] <= AGREES


def written(found: Mapping[str, Any]) -> str:
    """The table of the page."""
    lines = [
        [
            row["name"],
            row["oracle"],
            str(row["pairs"]),
            f"{row['ours']:.3f}",
            f"{row['theirs']:.3f}",
            f"{row['difference']:.1g}",
            "yes" if row["difference"] <= AGREES else f"no: {row['note']}",
        ]
        for row in found["rows"]
    ]
    heads = ["figure", "library", "draws", "ours, mean", "theirs, mean", "largest difference", "equal to 1e-6"]
    libraries = ", ".join(f"{name} {number}" for name, number in found["libraries"].items())
    return f"{table(heads, lines)}\n{libraries}.\n"


def main() -> None:
    """Compare, and keep the figures."""
    parser = options(__doc__)
    parser.add_argument("--page", action="store_true", help="also write the table to docs/metrics.md")
    arguments = parser.parse_args()
    logging.getLogger("disent").setLevel(logging.ERROR)
    began = time.monotonic()
    names = ("disent", "mapie", "scikit-learn", "lightgbm", "numpy", "scipy")
    found: dict[str, Any] = {"rows": compared(), "libraries": {name: version(name) for name in names}}
    found["seconds"] = round(time.monotonic() - began)
    keep(found, "oracles", written(found), arguments.out, PAGE if arguments.page else None)
    if differing := [row["name"] for row in found["rows"] if not agrees(row)]:
        raise SystemExit(f"benchmarks.oracles: other values than in the other library: {', '.join(differing)}")


if __name__ == "__main__":
    main()
