"""Disentanglement metrics of the literature, from latents (n, k) and factors (n, f) of the same samples."""

from ropes.metrics.disentanglement.exclusivity import TMEX, tmex
from ropes.metrics.disentanglement.information import InfoMEC, infomec, mig, modularity
from ropes.metrics.disentanglement.interventional import beta_vae_score, factor_vae_score
from ropes.metrics.disentanglement.loss_capacity import DCIES, dci_es
from ropes.metrics.disentanglement.predictive import DCI, dci, explicitness, sap
from ropes.metrics.disentanglement.samples import Undefined, association

__all__ = [
    "DCI",
    "DCIES",
    "TMEX",
    "InfoMEC",
    "Undefined",
    "association",
    "beta_vae_score",
    "dci",
    "dci_es",
    "explicitness",
    "factor_vae_score",
    "infomec",
    "mig",
    "modularity",
    "sap",
    "tmex",
]
