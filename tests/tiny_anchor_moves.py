"""A data set of anchors of the two blobs of `tests.tiny`, with frames on the way to the interventions."""

from pathlib import Path

import numpy as np

from ropes.common import png
from ropes.data import schema, writer
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
    features = schema.features(tiny.CAMERAS, (tiny.SIDE, tiny.SIDE), tiny.JOINTS)
    shards = writer.plan_shards(plans, len(tiny.CAMERAS))
    for shard in shards:
        angles = states[shard.split][shard.first_row : shard.first_row + shard.frames]
        images = [[png.encode(view) for view in pose] for pose in tiny.draw(angles)]
        writer.write_shard(path, shard, features, images, angles)
    provenance = {
        "schema": 1,
        "cameras": [{"name": name} for name in tiny.CAMERAS],
        FRAMES: frames if stated is None else stated,
        "setting": {"name": "tiny", "splits": {"train": causal.to_dict()}},
    }
    writer.finish(path, shards=shards, features=features, regimes=causal.regimes, provenance=provenance)
    return path
