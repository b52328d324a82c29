"""How much of a coordinate some angles explain, whatever the curve."""

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.disentanglement.samples import checked, least_in_a_leaf

_FEWEST = 20


def explained(coordinate: ArrayLike, angles: ArrayLike, *, seed: int = 0, workers: int | None = None) -> float:
    """R² by which gradient-boosted trees tell a coordinate from angles: learnt from one half, tested on the other.

    Args:
        coordinate: (n,).
        angles: (n, d), radians.
        seed: of the halves.
        workers: threads; None for all cores.

    Returns:
        At most 1; below 0 where the mean of the other half would tell more.

    Raises:
        ValueError: fewer than 20 samples, lengths that differ, values not finite, or a coordinate that never changes.
    """
    from lightgbm import LGBMRegressor

    z, v = checked(angles, np.asarray(coordinate, dtype=np.float64).reshape(-1, 1), _FEWEST)
    order = np.random.default_rng(seed).permutation(len(z))
    learnt, tested = np.split(order, [len(z) // 2])
    if not np.ptp(v[tested]) > 0:
        raise ValueError("the coordinate never changes over the half that is tested on")
    trees = LGBMRegressor(
        min_child_samples=least_in_a_leaf(len(learnt)),
        deterministic=True,
        force_row_wise=True,
        n_jobs=workers,
        verbosity=-1,
    ).fit(z[learnt], v[learnt, 0])
    return float(trees.score(z[tested], v[tested, 0]))
