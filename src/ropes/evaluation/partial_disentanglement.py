"""Partial disentanglement: how much each coordinate depends on joints that were never intervened on.

Source: ROPES, Conclusion: "disentangled only those joint angles whose interventions were used in the loss".
"""

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.data.dataset import Dataset
from ropes.evaluation.pictures import SPLITS
from ropes.evaluation.rows.kinds import FreedRow
from ropes.methods.run import Run
from ropes.metrics import correlation_matrix, explained

#: Range of a joint at rest, radians: encoder noise.
_AT_REST = 0.05


def freed_rows(run: Run, dataset: Dataset, method: str, coordinates: NDArray[np.float64]) -> tuple[FreedRow, ...]:
    """The rows of a run's coordinates on test poses in distribution; none unless another joint varies by 0.05 rad.

    Args:
        run: the run.
        dataset: data set with the angles of every joint that varies.
        method: name of the method in the rows.
        coordinates: coordinates of the split test-id, (n, d).
    """
    angles = dataset.factors(SPLITS["id"])
    vary = np.ptp(angles, axis=0) > _AT_REST
    varying = [name for name, varies in zip(dataset.state_names or (), vary, strict=True) if varies]
    if set(varying) <= set(run.joints):
        return ()
    angles = angles[:, vary]
    correlations = np.abs(correlation_matrix(coordinates, angles))
    workers = torch.get_num_threads()
    return tuple(
        FreedRow(
            setup=run.setting,
            method=method,
            joint=joint,
            seed=run.seed,
            correlations=dict(zip(varying, np.clip(correlations[k], 0, 1).tolist(), strict=True)),
            own=explained(coordinates[:, k], angles[:, [varying.index(joint)]], workers=workers),
            every=explained(coordinates[:, k], angles, workers=workers),
        )
        for k, joint in enumerate(run.joints)
        if joint in varying
    )
