"""Metrics of estimated angles, factors and graphs against the truth. Takes NumPy arrays; imports nothing of ropes."""

from ropes.metrics.calibration import (
    PAPER_SIZES,
    ProtocolSizes,
    commanded_calibration,
    few_labels,
    linear_calibration,
    protocol,
)
from ropes.metrics.correlation import assignment, correlation_matrix, mcc
from ropes.metrics.disentanglement import (
    beta_vae_score,
    dci,
    dci_es,
    explicitness,
    factor_vae_score,
    infomec,
    mig,
    modularity,
    sap,
    tmex,
)
from ropes.metrics.graph import structural_hamming_distance
from ropes.metrics.joints import Evaluation
from ropes.metrics.monotone import bend, matched_means, posterior_shrinkage
from ropes.metrics.transfer import explained

__all__ = [
    "PAPER_SIZES",
    "Evaluation",
    "ProtocolSizes",
    "assignment",
    "bend",
    "beta_vae_score",
    "commanded_calibration",
    "correlation_matrix",
    "dci",
    "dci_es",
    "explained",
    "explicitness",
    "factor_vae_score",
    "few_labels",
    "infomec",
    "linear_calibration",
    "matched_means",
    "mcc",
    "mig",
    "modularity",
    "posterior_shrinkage",
    "protocol",
    "sap",
    "structural_hamming_distance",
    "tmex",
]
