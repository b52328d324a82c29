"""Disentanglement metrics of the literature, from latents (n, k) and factors (n, f) of the same samples."""

from ropes.metrics.disentanglement.information import mig, modularity
from ropes.metrics.disentanglement.interventional import Undefined, beta_vae_score, factor_vae_score
from ropes.metrics.disentanglement.predictive import DCI, dci, explicitness, sap

__all__ = [
    "DCI",
    "Undefined",
    "beta_vae_score",
    "dci",
    "explicitness",
    "factor_vae_score",
    "mig",
    "modularity",
    "sap",
]
