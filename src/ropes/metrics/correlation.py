"""Mean correlation coefficient between coordinates and joint angles."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Method = Literal["pearson", "spearman"]
Matching = Literal["identity", "hungarian"]
Floats = NDArray[np.float64]


def correlation_matrix(estimates: ArrayLike, angles: ArrayLike, method: Method = "pearson") -> Floats:
    """Absolute correlation of every estimated coordinate with every joint angle.

    |rho_ij| = |sum_n (ẑ_ni - mean)(z_nj - mean)| / (norm_i norm_j); for Spearman the same on ranks, ties at their
    average rank.  The correlation of a constant coordinate is 0.

    Args:
        estimates: (n, k) estimated coordinates, any unit.
        angles: (n, d) true angles, radians.
        method: "pearson" for affine relations, "spearman" for monotonic ones.

    Returns:
        (k, d) values in [0, 1].

    Raises:
        ValueError: shapes disagree, fewer than two samples, values not finite, a constant angle, or an unknown method.
    """
    estimate, angle = paired(estimates, angles)
    if estimate.shape[0] < 2:
        raise ValueError(f"correlation needs at least two samples, got {estimate.shape[0]}")
    constant = np.flatnonzero(np.ptp(angle, axis=0) == 0)
    if constant.size:
        raise ValueError(f"angle column {constant[0]} never changes, so its correlation is undefined")
    if method not in get_args(Method):
        raise ValueError(f'unknown correlation "{method}": choose pearson or spearman')
    if method == "spearman":
        from scipy.stats import rankdata

        estimate, angle = rankdata(estimate, axis=0), rankdata(angle, axis=0)
    product = np.abs(_unit_columns(estimate).T @ _unit_columns(angle))
    return np.minimum(product, 1.0)


def assignment(matrix: ArrayLike, matching: Matching = "identity") -> NDArray[np.intp]:
    """Assign a coordinate to each joint.

    Args:
        matrix: (k, d) scores, higher is better; k >= d (k = d for "identity").
        matching: "identity" assigns coordinate i to joint i; "hungarian" maximises the total score one-to-one, for
            methods whose coordinates have no fixed order.

    Returns:
        (d,) index of the coordinate for each joint.

    Raises:
        ValueError: too few coordinates, or an unknown matching.
    """
    scores = np.asarray(matrix, dtype=np.float64)
    coordinates, joints = scores.shape
    if matching not in get_args(Matching):
        raise ValueError(f'unknown matching "{matching}": choose identity or hungarian')
    if matching == "identity" and coordinates != joints:
        raise ValueError(f"identity needs one coordinate a joint, got {coordinates} for {joints}")
    if coordinates < joints:
        raise ValueError(f"{coordinates} coordinates cannot be assigned to {joints} joints")
    if matching == "identity":
        return np.arange(joints)
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(scores, maximize=True)
    return np.asarray(rows)[np.argsort(columns)]


def mcc(estimates: ArrayLike, angles: ArrayLike, method: Method = "pearson", matching: Matching = "identity") -> Floats:
    """Correlation coefficient per joint; its mean over joints is the MCC.

    Source: ROPES, Section 4 "Evaluation Metrics", after Khemakhem et al. 2020.

    Deviation: coordinate i is compared with joint i.  Why: interventions on joint i train coordinate i, while
    Khemakhem et al. use the best one-to-one assignment.  Effect: stricter; a permutation of the coordinates lowers it,
    but not the value of the best assignment.  Rows and pages give the latter beside it (`mcc_matched`); studies of
    disentanglement, where latents have no names, give the latter alone.

    Args:
        estimates: (n, k) estimated coordinates, any unit.
        angles: (n, d) true angles, radians.
        method: see `correlation_matrix`.
        matching: see `assignment`.

    Returns:
        (d,) values in [0, 1].

    Raises:
        ValueError: as `correlation_matrix` and `assignment`.
    """
    matrix = correlation_matrix(estimates, angles, method)
    return matrix[assignment(matrix, matching), np.arange(matrix.shape[1])]


def paired(estimates: ArrayLike, angles: ArrayLike) -> tuple[Floats, Floats]:
    """Check two arrays (n, k) and (n, d); return them as float64.

    Raises:
        ValueError: shapes disagree, or values not finite.
    """
    estimate, angle = np.asarray(estimates, dtype=np.float64), np.asarray(angles, dtype=np.float64)
    if estimate.ndim != 2 or angle.ndim != 2 or len(estimate) != len(angle):
        raise ValueError(f"expected (n, k) and (n, d) values, got {estimate.shape} and {angle.shape}")
    for name, values in (("estimates", estimate), ("angles", angle)):
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            raise ValueError(f"{name} are not finite: row {bad[0, 0]}, column {bad[0, 1]}")
    return estimate, angle


def _unit_columns(values: Floats) -> Floats:
    """Columns centred and scaled to length 1; a constant column becomes 0."""
    constant = np.ptp(values, axis=0) == 0
    centred = values - values.mean(axis=0)
    # Dividing by the largest entry keeps the squares of very small or very large values in range.
    centred /= np.where(constant, 1.0, np.abs(centred).max(axis=0))
    centred[:, constant] = 0.0
    return centred / np.where(constant, 1.0, np.linalg.norm(centred, axis=0))
