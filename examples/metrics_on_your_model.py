"""Measure your own model: latents (n, k) against factors (n, f), with NumPy arrays alone.

python examples/metrics_on_your_model.py
python examples/metrics_on_your_model.py codes.npz --categorical 2

codes.npz holds the arrays latents, (n, k), and factors, (n, f), of the same n samples.  Without it, two models of
made-up factors are compared: one that keeps them apart, and one that mixes them.  Scores that are not defined, such as
T-MEX for fewer latents than factors, are nan; the reasons follow the table.  `# %%` starts a cell of a notebook.
"""

# %% The factors of 2,000 samples, and the latents of two models.
import argparse
import sys
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.metrics import dci, dci_es, explained, infomec, mcc, mig, sap, tmex
from ropes.metrics.disentanglement import Undefined


def made_up(samples: int = 2_000) -> tuple[dict[str, Floats], Floats, tuple[int, ...]]:
    """Latents of two models, and the factors: two angles, and a class of three."""
    rng = np.random.default_rng(0)
    factors = np.column_stack([rng.uniform(-1, 1, (samples, 2)), rng.integers(0, 3, samples)])
    unit = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    noise = 0.1 * rng.normal(size=unit.shape)
    reflection = np.eye(3) - 2 / 3  # each latent has 4/9, 4/9 and 1/9 of its variance from the three factors
    return {"apart": np.tanh(unit) + noise, "mixed": unit @ reflection + noise}, factors, (2,)


# %% Every metric is one function of latents and factors.
def measured(latents: Floats, factors: Floats, categorical: tuple[int, ...]) -> dict[str, float]:
    """The scores of one model; one that is not defined is NaN with a reason, `Undefined`.

    Raises:
        ValueError: arrays that the metrics do not take, such as arrays of different lengths.
    """
    importance = dci(latents, factors, categorical=categorical)
    information = infomec(latents, factors)
    capacity = dci_es(latents, factors, categorical=categorical)
    count, single = latents.shape[1], Undefined("there is one latent; a gap is that between two")
    few = Undefined(f"{factors.shape[1]} factors need one latent each, and there are {count} latents")
    return {
        **of_ordered(latents, np.delete(factors, categorical, axis=1)),
        "DCI: disentanglement": importance.disentanglement,
        "DCI: completeness": importance.completeness,
        "DCI: informativeness": importance.informativeness,
        "DCI-ES: explicitness": capacity.explicitness,
        "DCI-ES: size": capacity.size,
        "MIG": mig(latents, factors) if count > 1 else single,
        "SAP": sap(latents, factors, categorical=categorical) if count > 1 else single,
        "InfoM": information.modularity,
        "InfoC": information.compactness,
        "InfoE": information.explicitness,
        "T-MEX, violations": tmex(latents, factors, categorical=categorical).score
        if count >= factors.shape[1]
        else few,
    }


def of_ordered(latents: Floats, factors: Floats) -> dict[str, float]:
    """MCC and R² of the factors with an order, since neither is defined for classes."""
    names, count = ("MCC, matched", "R², all latents"), factors.shape[1]
    if not count:
        return dict.fromkeys(names, Undefined("no factor has an order"))
    few = Undefined(f"{count} ordered factors need one latent each, and there are {latents.shape[1]} latents")
    matched = float(mcc(latents, factors, matching="hungarian").mean()) if latents.shape[1] >= count else few
    return dict(zip(names, (matched, float(np.mean([explained(each, latents) for each in factors.T]))), strict=True))


# %% One line a metric, one column a model.
def main() -> None:
    """Print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("codes", type=Path, nargs="?", help="npz file with the arrays latents and factors")
    parser.add_argument("--categorical", type=int, nargs="*", default=[], help="columns of factors without an order")
    options = parser.parse_args()
    if options.codes is None:
        models, factors, categorical = made_up()
    else:
        with np.load(options.codes) as codes:
            if missing := {"latents", "factors"} - set(codes):
                sys.exit(f"{options.codes} has no {' and no '.join(sorted(missing))}; it has {', '.join(codes)}")
            models, factors, categorical = {"model": codes["latents"]}, codes["factors"], tuple(options.categorical)
    try:
        scores = {name: measured(latents, factors, categorical) for name, latents in models.items()}
    except ValueError as error:
        sys.exit(f"{options.codes}: {error}")
    print(f"{'':28}" + "".join(f"{name:>8}" for name in scores))
    for metric in next(iter(scores.values())):
        print(f"{metric:28}" + "".join(f"{own[metric]:8.3f}" for own in scores.values()))
    for own in scores.values():
        for metric, score in own.items():
            if isinstance(score, Undefined):
                print(f"{metric} is not defined: {score.reason}")


if __name__ == "__main__":
    main()
