"""A data set of chains of moves of the two blobs of `tests.tiny`."""

from pathlib import Path

import numpy as np

from ropes.common import png
from ropes.data import schema, writer
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
    features = schema.features(tiny.CAMERAS, (tiny.SIDE, tiny.SIDE), tiny.JOINTS)
    shards = writer.plan_shards(plans, len(tiny.CAMERAS))
    for shard in shards:
        angles = states[shard.split][shard.first_row : shard.first_row + shard.frames]
        images = [[png.encode(view) for view in pose] for pose in tiny.draw(angles)]
        writer.write_shard(path, shard, features, images, angles)
    provenance = {
        "schema": 1,
        "cameras": [{"name": name} for name in tiny.CAMERAS],
        "chains": drawn.record,
        "setting": {"name": "tiny", "splits": {"train": causal.to_dict()}},
    }
    writer.finish(path, shards=shards, features=features, regimes=causal.regimes, provenance=provenance)
    return path
