"""Partial disentanglement: how much each coordinate depends on joints that were never intervened on.

Source: ROPES, Conclusion: "disentangled only those joint angles whose interventions were used in the loss".
"""

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.evaluation.pictures import SPLITS
from ropes.evaluation.rows.partial import FreedRow
from ropes.methods.run import Run
from ropes.metrics import correlation_matrix, explained

Floats = NDArray[np.float64]
#: Radians that an encoder's noise or a joint that holds still may cover.
_STILL = 0.05


def freed_rows(run: Run, dataset: Dataset, called: str, coordinates: Floats) -> tuple[FreedRow, ...]:
    """The rows of a run's coordinates of the poses in distribution; none where no other joint varies by .05 rad.

    Args:
        run: whose coordinates.
        dataset: with the angles of every joint that varies.
        called: what the other rows call the method.
        coordinates: of the split test-id, (n, d).
    """
    names = dataset.state_names or ()
    angles = dataset.factors(SPLITS["id"])
    vary = np.ptp(angles, axis=0) > _STILL
    varying = [name for name, varies in zip(names, vary, strict=True) if varies]
    if set(varying) <= set(run.joints):
        return ()
    angles = angles[:, vary]
    correlations = np.abs(correlation_matrix(coordinates, angles))
    workers, rows = torch.get_num_threads(), []
    for k, joint in enumerate(run.joints):
        if joint not in varying:
            continue
        own = angles[:, [varying.index(joint)]]
        rows.append(
            FreedRow(
                setup=run.setting,
                method=called,
                joint=joint,
                seed=run.seed,
                correlations=dict(zip(varying, np.clip(correlations[k], 0, 1).tolist(), strict=True)),
                own=explained(coordinates[:, k], own, workers=workers),
                every=explained(coordinates[:, k], angles, workers=workers),
            )
        )
    return tuple(rows)
