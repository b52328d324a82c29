"""Metrics from mutual information: MIG and modularity of binned latents, InfoMEC of continuous ones."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.disentanglement.samples import (
    BINS,
    Classes,
    Floats,
    Undefined,
    as_classes,
    binned,
    checked,
    normalised,
)

#: Information below this is rounding error.
_ROUNDING = 1e-12
#: A latent whose range is at most this share of the largest range is inactive.
_INACTIVE = 1 / 20
#: Iterations of the logistic regression.
_ITERATIONS = 100
#: Fewest samples.
_FEWEST = 20


def mig(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = BINS,
    factor_bins: int | Literal["bins"] | None = "bins",
) -> float:
    """Mutual information gap between the best and the second best latent of each factor.

    MIG = mean over factors of (I(z_(1); v) − I(z_(2); v)) / H(v); 1 if a single latent determines each factor.

    Source: Chen et al. 2018, with latents in equal-width bins as in disentanglement_lib.

    Deviation: by default a factor with more values than bins is binned as well.  Why: with more values than bins no
    binned latent could determine it.  Effect: MIG is higher than disentanglement_lib's, which cannot exceed
    ln 20 / ln V for V values: in simulations by 9 to 17% for 30 values and by 18 to 26% for 40, where
    `factor_bins=None` gives disentanglement_lib's value; the factors of MPI3D are measured so.

    Args:
        latents: (n, k), k at least 2.
        factors: (n, f).
        bins: number of bins of each latent.
        factor_bins: bins of factors with more values; "bins" for as many as a latent has, None for one class per
            distinct value, as in disentanglement_lib.

    Returns:
        A value in [0, 1].

    Raises:
        ValueError: fewer than two latents, or as `mutual_information`.
    """
    information, entropy = mutual_information(latents, factors, bins=bins, factor_bins=factor_bins)
    if len(information) < 2:
        raise ValueError("a gap needs at least two latents, got 1")
    second, first = np.sort(information, axis=0)[-2:]
    return float(np.mean((first - second) / entropy))


def modularity(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = BINS,
    factor_bins: int | Literal["bins"] | None = "bins",
) -> float:
    """Modularity: 1 if each latent carries information about one factor only.

    For latent i with its best factor b: 1 − Σ_{f≠b} I(z_i; v_f)² / ((F − 1) I(z_i; v_b)²), averaged over latents.
    A latent without information counts 0.

    Source: Ridgeway and Mozer 2018; latents without information as in disentanglement_lib.

    Deviation: by default a factor with more values than bins is binned as well.  Why: as for MIG.  Effect: at most .006
    in simulations of latents with one factor each, of 30 or 40 values; `factor_bins=None` takes every value for a
    class.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        bins: number of bins of each latent.
        factor_bins: as in `mig`.

    Returns:
        A value in [0, 1].

    Raises:
        ValueError: fewer than two factors, or as `mutual_information`.
    """
    information, _ = mutual_information(latents, factors, bins=bins, factor_bins=factor_bins)
    if information.shape[1] < 2:
        raise ValueError("modularity needs at least two factors, got 1")
    square = information**2
    best = square.max(axis=1)
    informative = best > 0
    others = square.sum(axis=1) - best
    share = others / np.where(informative, best * (information.shape[1] - 1), 1.0)
    return float(np.where(informative, 1 - share, 0.0).mean())


def mutual_information(
    latents: ArrayLike,
    factors: ArrayLike,
    *,
    bins: int = BINS,
    factor_bins: int | Literal["bins"] | None = "bins",
) -> tuple[Floats, Floats]:
    """I(z_i; v_j) in nats, (k, f), and the factors' entropies (f,), both of binned values; arguments as of `mig`.

    Raises:
        ValueError: fewer samples than bins, without `factor_bins` a factor that takes no value twice, or as `checked`.
    """
    z, v = checked(latents, factors)
    if len(z) < bins:
        raise ValueError(f"{len(z)} samples do not fill {bins} bins; give more samples or fewer bins")
    coarse, classes = binned(z, bins), as_classes(v, bins if factor_bins == "bins" else factor_bins)
    information = np.array([[_information(one, other) for other in classes.T] for one in coarse.T])
    return information, entropies(classes)


def entropies(classes: Classes) -> Floats:
    """Entropy of each column of classes (n, f) in nats, (f,)."""
    return np.array([_information(one, one) for one in classes.T])


def _information(one: Classes, other: Classes) -> float:
    """Mutual information of two columns of classes: Σ p(a, b) log p(a, b) / (p(a) p(b))."""
    from sklearn.metrics import mutual_info_score

    information = float(mutual_info_score(one, other))
    return information if information > _ROUNDING else 0.0


@dataclass(frozen=True, kw_only=True)
class InfoMEC:
    """Results of `infomec`.

    Attributes:
        modularity: InfoM, in [0, 1]; 1 if each active latent has information about one factor only.
        compactness: InfoC, in [0, 1]; 1 if one active latent has all the information about each factor.
        explicitness: InfoE, at most 1; 1 if a linear classifier of all latents predicts each factor with certainty, 0
            at chance level, below 0 if it predicts with confidence and wrongly.
        information: (k, f) mutual information of latent and factor over the factor's entropy; 0 for inactive latents.
        active: (k,) latents that vary.

    Modularity is `Undefined`, NaN with a reason, if no latent is active, compactness if fewer than two are.
    """

    modularity: float
    compactness: float
    explicitness: float
    information: Floats
    active: NDArray[np.bool_]


def infomec(
    latents: ArrayLike, factors: ArrayLike, *, bins: int | None = BINS, neighbours: int = 10, seed: int = 0
) -> InfoMEC:
    """InfoM, InfoC and InfoE of continuous latents.

    With N_ij = I(z_i; v_j) / H(v_j) for the k' active latents and the f factors:

    InfoM = (mean_i max_j N_ij / Σ_j N_ij − 1/f) / (1 − 1/f)
    InfoC = (mean_j max_i N_ij / Σ_i N_ij − 1/k') / (1 − 1/k')
    InfoE = mean_j (H_0(v_j) − H(v_j | z)) / H_0(v_j)

    H(v_j | z) is the log loss of a logistic regression of v_j from all latents, H_0(v_j) that of a constant prediction.
    A latent is active if its range exceeds a twentieth of the largest range.  A latent or a factor without information
    counts as one whose information is spread evenly, 0.

    Source: Hsu et al. 2023 (*Disentanglement via Latent Quantization*) and the authors' code.  As there, I is estimated
    by nearest neighbours (Ross 2014).  The regression is not regularised, weights classes equally, stops after 100
    iterations, and is measured on the samples that it is fitted on.

    Deviation: by default a factor with more values than bins is divided into bins of equal width, also if it is
    discrete.  Why: joint angles take no value twice.  Effect: in simulations InfoE is higher by .04 to .05 for a factor
    of 30 values and by .07 to .09 for one of 40, InfoM and InfoC lower by up to .02; `bins=None` takes every value for
    a class, as the authors do; the factors of MPI3D are measured so.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        bins: bins of factors with more values; None for one class per distinct value, as in the authors' code.
        neighbours: neighbours of the estimate of mutual information.
        seed: seed of the noise, of a ten billionth of the scale, by which the estimate tells equal latents apart.

    Raises:
        ValueError: no neighbours, fewer than two factors, fewer than 20 samples, no more samples than neighbours,
            factors whose values or bins do not hold several samples, or as `checked`.
    """
    if neighbours < 1:
        raise ValueError(f"neighbours must be at least 1, got {neighbours}")
    z, v = checked(latents, factors, max(_FEWEST, neighbours + 1))
    if v.shape[1] < 2:
        raise ValueError("InfoM needs at least two factors, got 1")
    classes, unit = as_classes(v, bins), normalised(z)
    if any(np.bincount(column).max() < 2 for column in classes.T):
        raise ValueError(f"InfoMEC needs factors whose values or {bins} bins hold several samples; give more samples")
    extent = np.ptp(z, axis=0)
    active = extent > _INACTIVE * extent.max()
    information = np.zeros((z.shape[1], v.shape[1]))
    information[active] = _normalised_information(unit[:, active], classes, neighbours, seed)
    informative, few = information[active], f"{int(active.sum())} of {len(active)} latents vary"
    return InfoMEC(
        modularity=_largest_share(informative) if active.any() else Undefined(few),
        compactness=_largest_share(informative.T) if active.sum() > 1 else Undefined(few),
        explicitness=float(np.mean([_predicted_share(unit, column) for column in classes.T])),
        information=information,
        active=active,
    )


def _normalised_information(latents: Floats, classes: Classes, neighbours: int, seed: int) -> Floats:
    """I(z_i; v_j) / H(v_j), (k, f), by nearest neighbours."""
    from sklearn.feature_selection import mutual_info_classif

    if not latents.shape[1]:
        return np.zeros((0, classes.shape[1]))
    found = [
        mutual_info_classif(latents, column, n_neighbors=neighbours, discrete_features=False, random_state=seed)
        for column in classes.T
    ]
    return np.stack(found, axis=1) / entropies(classes)


def _largest_share(information: Floats) -> float:
    """Mean over rows of the largest entry's share of the row's sum, scaled so that even rows have 0."""
    total, even = information.sum(axis=1), 1 / information.shape[1]
    shares = np.where(total > 0, information.max(axis=1) / np.where(total > 0, total, 1.0), even)
    return float((shares.mean() - even) / (1 - even))


def _predicted_share(latents: Floats, classes: Classes) -> float:
    """1 − log loss of a logistic regression over that of a constant prediction.

    The constant prediction with equally weighted classes is the same probability for each.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss

    model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is part of the definition
        model.fit(latents, classes)
    return 1 - float(log_loss(classes, model.predict_proba(latents))) / float(np.log(len(model.classes_)))
