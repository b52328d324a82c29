"""Computes all disentanglement metrics of one model, with a reason for each undefined one."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.errors import UserError
from ropes.metrics import beta_vae_score, dci, explicitness, factor_vae_score, mig, modularity, sap
from ropes.metrics.disentanglement import Undefined

Floats = NDArray[np.float64]


def disentanglement(
    latents: Floats,
    factors: Floats,
    names: Sequence[str],
    *,
    categorical: Iterable[int] = (),
    complete: bool = True,
    seed: int = 0,
    workers: int | None = None,
) -> dict[str, Any]:
    """The fields `scores`, `reasons` and `informativeness` of a `ModelRow`, but for what no metric tells.

    Args:
        latents: (n, k).
        factors: (n, f).
        names: of the factors.
        categorical: columns of factors that are classes without an order.
        complete: whether every combination of the factors' values exists.
        seed: of all draws.
        workers: threads; None for all cores.

    Raises:
        UserError: too few samples, or a factor that never changes.
    """
    try:
        told = dci(latents, factors, categorical=categorical, seed=seed, workers=workers)
        found: dict[str, float] = {
            "dci": told.disentanglement,
            "completeness": told.completeness,
            "informativeness": told.informativeness,
            "mig": mig(latents, factors),
            "sap": sap(latents, factors, categorical=categorical, seed=seed),
            "modularity": modularity(latents, factors),
            "explicitness": explicitness(latents, factors, seed=seed),
            "beta_vae": beta_vae_score(latents, factors, complete=complete, seed=seed),
            "factor_vae": factor_vae_score(latents, factors, complete=complete, seed=seed),
        }
    except ValueError as error:
        raise UserError(f"disentanglement cannot be measured: {error}") from error
    reasons = {name: score.reason for name, score in found.items() if isinstance(score, Undefined)}
    return {
        "scores": {name: None if name in reasons else float(score) for name, score in found.items()},
        "reasons": reasons,
        "informativeness": dict(zip(names, told.informativeness_of.tolist(), strict=True)),
    }
