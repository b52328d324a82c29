"""A data set of drawn pairs of images with what was done between them, and recipes whose fits take a moment."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.png import encode
from ropes.data import schema, writer
from ropes.data.writer import SplitPlan
from ropes.methods.recipes import DeltaRecipe, Optimisation
from ropes.methods.registry import recipe_of
from ropes.simulation.actions import Action, symmetric_antonyms

SIDE = 16
ACTIONS = tuple(Action(verb, noun) for noun in ("left", "right") for verb in ("fill", "empty"))


def recipe(method: str, **changes: Any) -> DeltaRecipe:
    small = recipe_of(method, "compact")
    assert isinstance(small, DeltaRecipe)
    shape = replace(small.delta, image_size=SIDE, patch=4, width=16, depth=1, heads=2, widths=(4, 8), latents=8)
    training = Optimisation(epochs=12, batch=16, learning_rate=5e-3)
    given: dict[str, Any] = {"preset": "tiny", "delta": shape, "training": training}
    return replace(small, **(given | changes))


def pair(action: Action, rng: np.random.Generator) -> list[list[bytes]]:
    """A bright square on one side that comes or goes, on a background of its own."""
    empty = np.full((SIDE, SIDE, 3), rng.integers(0, 80), np.uint8)
    full = empty.copy()
    first, left = rng.integers(2, 8), 1 if action.noun == "left" else 9
    full[first : first + 6, left : left + 6] = rng.integers(180, 256, 3)
    order = (empty, full) if action.verb == "fill" else (full, empty)
    return [[encode(image)] for image in order]


def write_pairs(
    path: Path, counts: dict[str, int], *, tasks: tuple[int, ...] = (0, 0), only: int | None = None
) -> Path:
    rng = np.random.default_rng(0)
    chosen = {
        split: rng.integers(len(ACTIONS), size=n) if only is None else np.full(n, only) for split, n in counts.items()
    }
    plans = [
        SplitPlan(name=split, episodes=len(own), tasks=tasks, actions=tuple(own.tolist()))
        for split, own in chosen.items()
    ]
    features = schema.features(("front",), (SIDE, SIDE, 3), None)
    shards = writer.plan_shards(plans, 1)
    for shard in shards:
        views = [view for own in shard.tasks for view in (pair(ACTIONS[own[0]], rng) * 2)[: len(tasks)]]
        writer.write_shard(path, shard, features, views, None)
    provenance = {"schema": 1, "cameras": [{"name": "front"}], "antonyms": symmetric_antonyms([("fill", "empty")])}
    writer.finish(path, shards=shards, features=features, regimes=ACTIONS, provenance=provenance)
    return path
