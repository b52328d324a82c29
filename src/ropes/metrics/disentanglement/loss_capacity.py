"""DCI-ES: how easily factors can be predicted from latents (explicitness), and how many latents there are (size)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.disentanglement.samples import (
    Classes,
    Floats,
    checked,
    indicators,
    normalised,
    require_columns,
    split_rows,
)

#: Numbers of random Fourier features of the probes.
CAPACITIES = (16, 32, 64, 128, 256, 512, 1024)
#: Standard deviation of the frequencies in cycles per standard deviation of a latent, and penalty of the probes.
_GAIN, _PENALTY = 0.08, 1e-3
#: Fewest samples.
_FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class DCIES:
    """Results of `dci_es`.

    Attributes:
        explicitness: mean over factors, in [-1, 1].
        size: factors per latent, f / k.
        explicitness_of: explicitness of each factor, (f,).
        capacities: number of features of each probe, (t,).
        losses: (t, f) least test loss up to a capacity: 1 − R², or error rate of a categorical factor.
        baselines: (f,) loss ℓ_0: 1, or 1 − 1 / classes of a categorical factor.
    """

    explicitness: float
    size: float
    explicitness_of: Floats
    capacities: Floats
    losses: Floats
    baselines: Floats


def dci_es(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    categorical: Iterable[int] = (),
    capacities: Sequence[int] = CAPACITIES,
    seed: int = 0,
) -> DCIES:
    """Explicitness E and size S of DCI-ES; `dci` has D, C and I.

    Probes of growing capacity predict each factor from all latents.  With ℓ(κ) the least test loss up to a capacity, κ
    the logarithm of the number of features, ℓ* the least loss of all and ℓ_0 that of a prediction without latents (the
    mean, or a class drawn uniformly):

    E = 1 − 2 ∫ (ℓ(κ) − ℓ*) dκ / ((κ_max − κ_min) ℓ_0),  S = f / k

    E is 1 if the smallest probe is as good as the largest, 0 if the loss falls along a line from ℓ_0 to 0, below 0 if
    only large probes predict.  It is 1 as well for a factor that no probe predicts: read it beside informativeness.

    Source: Eastwood et al. 2023 (*DCI-ES*), and the authors' code, in which the least possible loss of the denominator
    is 0.  Probes are linear in random Fourier features, with the authors' scale of frequencies, .08.

    Deviation: probes are fitted in closed form on standardised latents, with 16 to 1,024 features; the authors train
    them by gradient descent, with up to 131,072.  Why: a model is then measured in a second.  Effect: values do not
    compare with the paper's; those of this function compare with one another.

    Args:
        latents: (n, k).
        factors: (n, f).
        categorical: columns of factors that are classes without an order.
        capacities: even numbers of features, increasing; at least two.
        seed: seed of the frequencies and of the split: three quarters to fit, a quarter to test.

    Raises:
        ValueError: other capacities, fewer than 20 samples, or as `checked`.
    """
    z, v = checked(latents, factors, _FEWEST)
    classes = require_columns(categorical, v)
    sizes = np.asarray(capacities, dtype=np.int64)
    if sizes.ndim != 1 or len(sizes) < 2 or (np.diff(sizes) <= 0).any() or sizes[0] < 2 or (sizes % 2).any():
        raise ValueError(f"capacities must be at least two even, increasing numbers, got {tuple(capacities)}")
    train, test = split_rows(len(z), seed)
    rng = np.random.default_rng(seed)
    phase = 2 * np.pi * normalised(z) @ rng.normal(0.0, _GAIN, size=(z.shape[1], sizes[-1] // 2))
    targets = [indicators(column) if j in classes else normalised(column[:, None]) for j, column in enumerate(v.T)]
    losses = np.stack([_losses(phase[:, : size // 2], targets, train, test) for size in sizes])
    baselines = np.array([1.0 if target.shape[1] == 1 else 1 - 1 / target.shape[1] for target in targets])
    losses = np.minimum(np.minimum.accumulate(losses, axis=0), baselines)
    capacity = np.log(sizes)
    above = losses - losses[-1]
    area = np.diff(capacity) @ (above[1:] + above[:-1]) / 2
    each = 1 - 2 * area / ((capacity[-1] - capacity[0]) * baselines)
    return DCIES(
        explicitness=float(each.mean()),
        size=v.shape[1] / z.shape[1],
        explicitness_of=each,
        capacities=sizes.astype(np.float64),
        losses=losses,
        baselines=baselines,
    )


def _losses(phase: Floats, targets: Sequence[Floats], train: Classes, test: Classes) -> Floats:
    """Test loss of each factor by ridge regression on the cosines and sines of phases (n, m), (f,)."""
    features = np.hstack([np.cos(phase), np.sin(phase)])
    every = np.hstack(targets)
    centre, mean = features[train].mean(axis=0), every[train].mean(axis=0)
    fitted = features[train] - centre
    gram = fitted.T @ fitted + _PENALTY * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, fitted.T @ (every[train] - mean))
    predicted = (features[test] - centre) @ weights + mean
    parts = np.split(predicted, np.cumsum([target.shape[1] for target in targets])[:-1], axis=1)
    return np.array([_loss(part, target[test]) for part, target in zip(parts, targets, strict=True)])


def _loss(predicted: Floats, target: Floats) -> float:
    """1 − R² of one column; error rate of several, the indicators of classes."""
    if target.shape[1] > 1:
        return float(np.mean(predicted.argmax(axis=1) != target.argmax(axis=1)))
    return float(np.sum((predicted - target) ** 2) / max(np.sum((target - target.mean()) ** 2), 1e-300))
