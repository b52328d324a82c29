"""Label efficiency of calibration: the protocol's draws with fewer labelled poses."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ropes.metrics.calibration import calibrated_mse, draws, linear_calibration
from ropes.metrics.correlation import Floats, paired


def few_labels(
    estimates: ArrayLike,
    angles: ArrayLike,
    rng: np.random.Generator,
    counts: Sequence[int],
    *,
    known: Callable[[Floats], Floats] | None = None,
    repeats: int = 15,
    fit: int = 1000,
    test: int = 500,
) -> dict[int, tuple[Floats, Floats]]:
    """The error of `ropes.metrics.protocol` with lines fitted on the first `count` of its `fit` poses only.

    Args:
        estimates: (n, d) coordinates.
        angles: (n, d) true angles, radians.
        rng: in the state that `protocol` was given it in, so that the same poses are tested.
        counts: labelled poses for the lines, each from 2 to `fit`.
        known: from coordinates (n, d) to radians (n, d), having taken no label; tested as count 0.
        repeats: as of `protocol`.
        fit: as of `protocol`.
        test: as of `protocol`.

    Returns:
        Count → mean and standard deviation over the repeats (population form), (d,) each, rad².

    Raises:
        ValueError: a count out of range, too few poses, shapes disagree, or values not finite.
    """
    estimate, angle = paired(estimates, angles)
    if wrong := [count for count in counts if not 2 <= count <= fit]:
        raise ValueError(f"a line needs 2 to {fit} labelled poses, got {wrong[0]}")
    if len(estimate) < fit + test:
        raise ValueError(f"the evaluation needs {fit + test} poses ({fit} to fit, {test} to test), got {len(estimate)}")
    errors: dict[int, list[Floats]] = {count: [] for count in ((0,) if known else ()) + tuple(counts)}
    for fitting, testing in draws(rng, len(estimate), repeats, fit, test):
        for count, found in errors.items():
            if known and count == 0:
                found.append(np.mean((known(estimate[testing]) - angle[testing]) ** 2, axis=0))
                continue
            few = fitting[:count]
            chosen = linear_calibration(estimate[few], angle[few])
            found.append(calibrated_mse(estimate[testing], angle[testing], *chosen))
    return {count: (np.mean(found, axis=0), np.std(found, axis=0)) for count, found in errors.items()}
