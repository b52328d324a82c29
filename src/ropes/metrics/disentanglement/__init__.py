"""Disentanglement metrics of the literature. Numpy in.

Latents (n, k) and factors (n, f) of the same samples; every function takes a seed where chance has a part.
"""

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
