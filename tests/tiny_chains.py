"""A data set of chains of moves of the two blobs of `tests.tiny`."""

from pathlib import Path

import numpy as np

from ropes.data import writer
from ropes.data.chains import Chains
from tests import tiny


def write_data(
    path: Path, *, chains: int = 8, frames: int = 2, tests: int = tiny.TESTED, rest: int | None = None
) -> Path:
    """Write `chains` chains, with `frames` frames on the way of each move; pose `rest` of each claims to be free."""
    causal = tiny.model()
    drawn = Chains.draw(causal, chains, frames, seed=0)
    if rest is not None:
        drawn.regimes[:, rest] = 0
    states = {**drawn.states, "test-id": causal.sample_observational(np.random.default_rng(1), tests)}
    plans = [*drawn.plans, writer.SplitPlan(name="test-id", episodes=tests, tasks=(0,))]
    return tiny.write_splits(path, plans, states, causal, {"chains": drawn.record})
