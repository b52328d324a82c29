"""Both presets take two optimiser steps of every stage, at their full widths."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common.files import read_json
from ropes.inference.estimator import Estimator
from ropes.methods.recipes import Optimisation, RopesRecipe, ropes_recipe
from ropes.methods.ropes.fit import fit
from tests import tiny


def two_steps(optimisation: Optimisation, samples: int) -> Optimisation:
    """The same optimiser and schedule for two steps of two samples."""
    return replace(optimisation, batch=2, epochs=4 / samples, min_samples=0)


def shortened(preset: str, poses: int, views: int) -> RopesRecipe:
    """The preset for two steps on this many training poses, two of them under each pair of policies."""
    recipe = ropes_recipe(preset)
    return replace(
        recipe,
        ae1_training=two_steps(recipe.ae1_training, poses * views),
        ldr_training=two_steps(recipe.ldr_training, 2),
        ae2_training=two_steps(recipe.ae2_training, poses),
        student=two_steps(recipe.student, poses),
        sparsity_weights=recipe.sparsity_weights[:1],
    )


@pytest.mark.parametrize(
    ("preset", "joints", "views"),
    [
        ("compact", 2, 2),
        pytest.param("paper", 1, 1, marks=[pytest.mark.slow, pytest.mark.any_processor]),
    ],
)
def test_every_stage_takes_two_steps(preset: str, joints: int, views: int, tmp_path: Path, cache_home: Path) -> None:
    regimes = tiny.model().regimes[: 1 + 2 * joints]
    poses = tiny.model().sample(np.random.default_rng(0), 2)[:, : len(regimes)]
    images = {"train": tiny.draw(poses, side=128)[:, :, :views]}
    data = tiny.write_data(
        tmp_path / "data",
        described=False,
        images=images,
        states=None,
        regimes=regimes,
        cameras=tiny.CAMERAS[:views],
    )
    fit(data, tmp_path / "run", shortened(preset, len(regimes), views), 0, show=False)
    stages = read_json(tmp_path / "run" / "training.json")["stages"]
    students = [stages["student"]] if preset == "compact" else []  # the paper has none
    curves: list[dict[str, Any]] = [stages["ae1"], *stages["ldr"].values(), *stages["ae2"].values(), *students]
    assert len(curves) == (5 if preset == "compact" else 3)
    assert [curve["steps"] for curve in curves] == [[1, 2]] * len(curves)
    estimator = Estimator.load(tmp_path / "run")
    assert isinstance(estimator.run.recipe, RopesRecipe)
    assert estimator.run.recipe.ae1 == ropes_recipe(preset).ae1  # at full width
    assert estimator.coordinates(np.zeros((1, views, 128, 128), np.uint8)).shape == (1, joints)


def test_presets_keep_the_values_of_the_paper() -> None:
    paper, compact = map(ropes_recipe, ("paper", "compact"))
    rates = (paper.ae1_training, paper.ldr_training, paper.ae2_training)
    assert [part.learning_rate for part in rates] == [1e-4, 1e-3, 7e-5]  # Tables 3 to 5
    assert {(part.schedule, part.weight_decay, part.clip) for part in rates} == {("constant", 0.0, None)}
    assert (paper.joint_ae2, paper.logit_weight, paper.sparsity_rows) == (False, 0.0, 0)
    assert paper.ae2_training.batch >= 256  # the expectation is inside the norm
    assert paper.ae1.revive == 0.0
    assert compact.ae1.image_size == 64
