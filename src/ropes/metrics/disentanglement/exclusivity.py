"""T-MEX: whether each latent measures its own factor and no other, by tests of conditional independence."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.correlation import assignment
from ropes.metrics.disentanglement.samples import Floats, association, checked, indicators, require_columns

#: Residuals below this share of a column's norm are rounding error.
_ROUNDING = 1e-8
#: Fewest samples.
_FEWEST = 20


@dataclass(frozen=True, kw_only=True)
class TMEX:
    """Results of `tmex`.

    Attributes:
        score: number of entries in which `dependent` and `expected` differ, 0 to m f; 0 is best.
        latents: (m,) index of each measured latent.
        expected: (m, f) whether the measurement model says that the latent depends on the factor given all others.
        dependent: (m, f) whether the test finds that it does.
        p_values: (m, f) of the tests.
    """

    score: int
    latents: NDArray[np.int64]
    expected: NDArray[np.bool_]
    dependent: NDArray[np.bool_]
    p_values: Floats


def tmex(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    categorical: Iterable[int] = (),
    expected: ArrayLike | None = None,
    level: float = 0.05,
    regressor: Any = None,
) -> TMEX:
    """Test-based measurement exclusivity, T-MEX = Σ_ij 1(Ŵ_ij ≠ W_ij).

    W_ij is 1 if, by the assumed measurement model, latent i depends on factor j given all other factors.  Ŵ_ij is 1 if
    a test at `level` rejects that z_i and v_j are independent given all other factors.  The test is the generalised
    covariance measure (Shah and Peters 2020): z_i and v_j are regressed on the other factors, and the mean product of
    both residuals, divided by its standard error, is compared with a standard normal distribution.  For a categorical
    factor, v_j is a vector of indicators, and the statistic is compared with a χ² distribution.

    Every departure is found if there are enough samples; compare models on the same number of samples.

    Deviation: for a categorical factor, the components are tested together by a χ² distribution.  Why: Shah and Peters
    compare the largest of them with its distribution by a multiplier bootstrap, which depends on random draws.  Effect:
    dependence that many classes share is found more often, and that of a single class less often.

    Source: Yao et al. 2025 (*The Third Pillar of Causal Analysis?*).  The test with linear regressions is that of the
    authors' demonstration.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        categorical: columns of factors that are classes without an order.
        expected: W, (k, f); by default one latent measures each factor, after the best one-to-one assignment by
            absolute correlation, or by η for categorical factors (the square root of the share of a latent's variance
            that lies between the classes), on the same samples; other latents are left out.
        level: level of each test.
        regressor: scikit-learn regressor of the residuals, fitted anew on all samples for each of them; by default a
            linear regression.  Give a nonlinear one, such as boosted trees, if factors depend on one another
            nonlinearly.

    Raises:
        ValueError: fewer than two factors, fewer latents than factors without `expected`, `expected` of another shape,
            a level outside (0, 1), fewer than 20 samples, or as `checked`.
    """
    z, v = checked(latents, factors, _FEWEST)
    classes = require_columns(categorical, v)
    if v.shape[1] < 2:
        raise ValueError("tests given the other factors need at least two factors, got 1")
    if not 0 < level < 1:
        raise ValueError(f"the level of a test lies between 0 and 1, got {level}")
    if expected is None and z.shape[1] < v.shape[1]:
        raise ValueError(f"{z.shape[1]} latents cannot measure {v.shape[1]} factors one by one; give expected")
    if expected is None:
        measured = assignment(association(z, v, classes), "hungarian").astype(np.int64)
        model = np.eye(v.shape[1], dtype=bool)
    else:
        measured, model = np.arange(z.shape[1]), np.asarray(expected, dtype=bool)
        if model.shape != (z.shape[1], v.shape[1]):
            raise ValueError(f"expected dependences must be {(z.shape[1], v.shape[1])}, got {model.shape}")
    columns = [indicators(column)[:, 1:] if j in classes else column[:, None] for j, column in enumerate(v.T)]
    p_values = np.empty(model.shape)
    for j, column in enumerate(columns):
        others = np.hstack(columns[:j] + columns[j + 1 :])
        both = np.hstack([z[:, measured], column])
        residuals = _residuals(both, others, regressor)
        mine = residuals[:, len(measured) :]
        p_values[:, j] = [_p_value(one, mine) for one in residuals[:, : len(measured)].T]
    dependent = p_values < level
    return TMEX(
        score=int(np.sum(dependent != model)),
        latents=measured,
        expected=model,
        dependent=dependent,
        p_values=p_values,
    )


def _residuals(targets: Floats, others: Floats, regressor: Any) -> Floats:
    """Residuals of each column of `targets` (n, t) after regression on `others` (n, o); rounding error becomes 0."""
    centred = targets - targets.mean(axis=0)
    if regressor is None:
        given = others - others.mean(axis=0)
        residuals = centred - given @ np.linalg.lstsq(given, centred, rcond=None)[0]
    else:
        from sklearn.base import clone

        columns = [target - clone(regressor).fit(others, target).predict(others) for target in centred.T]
        residuals = np.stack(columns, axis=1)
    faint = np.linalg.norm(residuals, axis=0) <= _ROUNDING * np.linalg.norm(centred, axis=0)
    return np.where(faint, 0.0, residuals)


def _p_value(one: Floats, other: Floats) -> float:
    """p-value of the generalised covariance measure of residuals (n,) and (n, d): n r̄ᵀ Σ⁻¹ r̄ of the products, χ²_d."""
    from scipy.stats import chi2

    products = one[:, None] * other
    mean = products.mean(axis=0)
    covariance = np.atleast_2d(np.cov(products.T, bias=True))
    rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
    if rank == 0:
        return 1.0
    statistic = len(products) * mean @ np.linalg.pinv(covariance, hermitian=True) @ mean
    return float(chi2.sf(statistic, rank))
