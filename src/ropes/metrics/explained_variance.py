"""R² of a coordinate on joint angles, by boosted trees."""

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
        At most 1; below 0 where the mean of the other half would tell more, 0 of a coordinate that never changes.

    Raises:
        ValueError: fewer than 20 samples, lengths that differ, or values not finite.
    """
    from lightgbm import LGBMRegressor

    column = np.asarray(coordinate, dtype=np.float64).reshape(-1, 1)
    if column.size and not np.ptp(column) > 0:
        return 0.0
    z, v = checked(angles, column, _FEWEST)
    order = np.random.default_rng(seed).permutation(len(z))
    learnt, tested = np.split(order, [len(z) // 2])
    trees = LGBMRegressor(
        min_child_samples=least_in_a_leaf(len(learnt)),
        deterministic=True,
        force_row_wise=True,
        n_jobs=workers,
        verbosity=-1,
    ).fit(z[learnt], v[learnt, 0])
    return float(trees.score(z[tested], v[tested, 0]))
