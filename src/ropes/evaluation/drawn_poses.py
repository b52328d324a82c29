"""The test poses that an evaluation of joint angles draws under each condition."""

from collections.abc import Mapping, Sequence
from itertools import chain, product

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.pictures import SPLITS
from ropes.methods.run import Run
from ropes.methods.uncertainty.coverage import Condition
from ropes.metrics import ProtocolSizes
from ropes.metrics.calibration import draws


def generator_of(seed: int, condition: Condition) -> np.random.Generator:
    """A new generator for a condition, so that every measurement draws the same poses."""
    return generator(seed, "evaluation", *condition)


def require_moving_joints(
    run: Run,
    dataset: Dataset,
    angles: Mapping[str, Floats],
    *,
    seed: int,
    sizes: ProtocolSizes,
    occlusions: Sequence[int] = (0,),
) -> None:
    """Check that every joint moves within the poses of each draw, without which a correlation is undefined.

    Args:
        run: the evaluated run.
        dataset: data set with the test splits, for the message.
        angles: split → (n, d), radians.
        seed: seed of the draws.
        sizes: sizes of the draws.
        occlusions: sides of the occluding squares; each condition has draws of its own.

    Raises:
        UserError: a joint does not; names it and the split.
    """
    for (split, values), occlusion in product(angles.items(), occlusions):
        drawn = draws(generator_of(seed, (split, occlusion)), len(values), sizes.repeats, sizes.fit, sizes.test)
        for rows in chain.from_iterable(drawn):
            if len(still := np.flatnonzero(np.ptp(values[rows], axis=0) == 0)):
                raise UserError(
                    f"{dataset.path}: joint {run.joints[still[0]]} has one angle in all {len(rows)} poses that are "
                    f"drawn from split {SPLITS[split]}, so its correlation is undefined; record test poses in which it "
                    "moves"
                )
