"""InfoMEC: modularity, compactness and explicitness as normalised information, each from 0 to 1."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.metrics.disentanglement.information import entropies
from ropes.metrics.disentanglement.samples import BINS, Classes, Floats, as_classes, checked, normalised
from ropes.metrics.disentanglement.undefined import Undefined

#: A latent whose range is at most this share of the largest range is inactive.
_INACTIVE = 1 / 20
#: Iterations of the logistic regression.
_ITERATIONS = 100
_FEWEST = 20


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
    latents: ArrayLike, factors: ArrayLike, *, bins: int = BINS, neighbours: int = 10, seed: int = 0
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

    Deviation: a factor with more values than bins is divided into bins of equal width.  Why: the paper's factors are
    discrete; joint angles are not.  Effect: not measured.

    Args:
        latents: (n, k).
        factors: (n, f), f at least 2.
        bins: bins of factors with more values.
        neighbours: neighbours of the estimate of mutual information.
        seed: seed of the noise, of a ten billionth of the scale, by which the estimate tells equal latents apart.

    Raises:
        ValueError: no neighbours, fewer than two factors, fewer than 20 samples, no more samples than neighbours, or as
            `checked`.
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
