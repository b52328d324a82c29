"""Experiment robot-hours: what is recorded in the same robot time, and how long fits train on it."""

from dataclasses import replace

import numpy as np
import pytest

from ropes.causal.scm import CausalModel
from ropes.data.batches import held_out_anchors
from ropes.data.chains import Chains
from ropes.data.recorder.plan import draw_plan
from ropes.data.recorder.protocols import AnchorProtocol
from ropes.errors import UserError
from ropes.experiments.plans import experiment
from ropes.experiments.variants import SECONDS_OF_CHAIN, as_long_as_chains
from ropes.methods.recipes import CNNRecipe, EncoderRecipe, encoder_recipe


def test_robot_hours_compares_anchors_and_chains_of_the_same_robot_time() -> None:
    plan = experiment("robot-hours", "compact")
    chains, filmed = "panda-2c-independent+chains", "panda-2c-independent+moves"
    arm = plan.arm(chains)
    assert arm is not None
    assert arm == plan.arm(filmed) == plan.arm("panda-2c-independent")
    assert (dict(plan.chains), dict(plan.filmed)) == ({chains: arm.name}, {filmed: arm.name})
    seconds = _robot_seconds(arm.splits["train"])
    for dataset, of_one, count in zip((arm.name, chains, filmed), seconds, (8, 6, 3), strict=True):
        assert len(plan.only[dataset]) == count
        for label in plan.only[dataset]:
            recipe = plan.recipe(dataset, label)
            assert isinstance(recipe, EncoderRecipe if "anchored" in label else CNNRecipe)
            assert recipe.anchors is not None
            hours = int(label.split("@")[1].removesuffix("-hours").split("-")[-1])
            assert recipe.anchors * of_one == pytest.approx(hours * 3600, rel=0.03)
            assert recipe.anchors <= plan.anchors[dataset]
    assert experiment("robot-hours", "compact", ["cnn"]).filmed == {}
    with pytest.raises(UserError, match="experiment robot-hours compares methods anchored and cnn"):
        experiment("robot-hours", "compact", ["ldr"])


def test_longer_training_on_anchors_has_the_steps_of_chains() -> None:
    """A tenth of the chains is held out; each move of the others has two poses and two frames on its way."""
    plan = experiment("robot-hours", "compact", ["anchored"])
    recipes = {label: each for label, each in plan.recipes.items() if isinstance(each, EncoderRecipe)}
    longer = {label: each for label, each in recipes.items() if "longer" in label}
    assert list(longer) == ["anchored@longer-4-hours", "anchored@longer-8-hours"]
    for label, each in longer.items():
        chains = recipes[label.replace("longer", "chains")]
        assert chains.anchors is not None
        assert each.anchors is not None
        kept = chains.anchors - round(0.1 * chains.anchors)
        steps = chains.training.steps(2 * kept * 5 * 6 * 2)
        assert each.training.steps(13 * each.anchors) == steps
        assert each.anchors == recipes[label.replace("longer-", "")].anchors


def test_training_as_long_as_on_few_chains_counts_those_that_a_fit_keeps() -> None:
    """At least one chain is held out, however small the share is."""
    fraction, recipe = 1e-6, encoder_recipe("compact")
    found = dict(as_long_as_chains(replace(recipe, val_fraction=fraction), joints=6))
    assert len(found) == 2
    for label, each in found.items():
        chains = np.arange(int(int(label.removesuffix("-hours")) * 3600 / SECONDS_OF_CHAIN))
        kept = len(chains) - len(held_out_anchors(chains, fraction, 0))
        assert each.training.min_samples == recipe.training.epochs * 2 * kept * 5 * 6 * 2


def _robot_seconds(model: CausalModel) -> tuple[float, float, float]:
    """Seconds of an anchor in the recorder's order, of a chain, and of a filmed anchor, with .5 s in each pose."""
    plan = draw_plan(AnchorProtocol(model), 40, 0, np.ones(len(model.joints)))
    path = np.array([stop.pose for stops in plan.route(range(40)) for stop in stops])
    chains = Chains.draw(model, 100, 0, seed=0).poses
    poses = model.sample(np.random.default_rng(0), 100)
    rest = np.broadcast_to(poses[:, :1], poses[:, 1:].shape)
    there_and_back = np.stack([rest, poses[:, 1:]], axis=2).reshape(-1, poses.shape[-1])
    return (
        plan.travel(path) / 40 + 0.5 * 13,
        plan.travel(chains.reshape(-1, chains.shape[-1])) / 100 + 0.5 * 31,
        plan.travel(there_and_back) / 100 + 0.5 * 13,
    )
