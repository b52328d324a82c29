"""A data set of anchors of the two blobs of `tests.tiny`, with frames on the way to the interventions."""

from pathlib import Path

import numpy as np

from ropes.data import writer
from ropes.data.moves import FRAMES, anchor_plans, anchor_states
from tests import tiny


def write_data(path: Path, *, anchors: int = 16, frames: int = 2, stated: int | None = None, tests: int = 4) -> Path:
    """Write anchors with `frames` frames on the way of each move; `meta/ropes.json` may state another number."""
    causal = tiny.model()
    poses = causal.sample(np.random.default_rng(0), anchors)
    states = {
        "train": poses.reshape(-1, 2),
        "moves": anchor_states(poses, frames),
        "test-id": causal.sample_observational(np.random.default_rng(1), tests),
    }
    plans = [
        writer.SplitPlan(name="train", episodes=anchors, tasks=tuple(range(len(causal.regimes)))),
        *anchor_plans(anchors, causal.regimes, frames),
        writer.SplitPlan(name="test-id", episodes=tests, tasks=(0,)),
    ]
    return tiny.write_splits(path, plans, states, causal, {FRAMES: frames if stated is None else stated})
