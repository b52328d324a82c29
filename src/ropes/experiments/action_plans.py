"""Configurations of the experiments on actions."""

from collections.abc import Mapping
from pathlib import Path

from ropes.experiments.plan import Experiment
from ropes.methods.recipes import DeltaRecipe, Recipe, delta_recipe
from ropes.methods.recipes.delta_variants import (
    ABLATED,
    CROPPED,
    FROM_POSES,
    OF_A_RESNET,
    cropped,
    delta_variants,
    of_a_resnet,
    options,
)
from ropes.methods.registry import DELTA_METHODS
from ropes.simulation.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    DRAWN_HOLD_OUTS,
    MANY_THINGS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
)


def other_deltas(name: str, recipes: Mapping[str, Recipe], paper: bool) -> Experiment:
    """Other readings of the paper's losses, on single objects and in scenes; or other held-out objects, by seed."""
    images, hold_outs = 200_000 if paper else 16_000, name == "hold-outs"
    return Experiment(
        name=name,
        recipes=dict(recipes) if hold_outs else {**recipes, **options(recipes)},
        anchors=dict.fromkeys(DRAWN_HOLD_OUTS if hold_outs else (ACTION_PAIRS, MANY_THINGS), images),
        test_anchors=10_000 if paper else 2_000,
        seeds=(0,) if hold_outs else tuple(range(5 if paper else 3)),
        at_once=True,
        measures="actions",
    )


def actions(recipes: Mapping[str, Recipe], paper: bool, recorded: Path | None) -> Experiment:
    """All methods and variants on single objects; global and patch deltas in scenes; deltas of an arm."""
    base = recipes.get("cde-global")
    variants = {**delta_variants(base), **cropped(recipes)} if isinstance(base, DeltaRecipe) else {}
    anchors = {ACTION_PAIRS: 200_000, MANY_THINGS: 200_000, ARM_ACTIONS: 100_000}
    if not paper:
        anchors = {ACTION_PAIRS: 16_000, MANY_THINGS: 16_000, ARM_ACTIONS: 48_000}
    if recorded is not None:
        anchors = {RECORDED_PAIRS: 0, RECORDED_SCENES: 0}
    of_objects = (*DELTA_METHODS, *ABLATED, *CROPPED.values(), OF_A_RESNET)
    return Experiment(
        name="causal-triplet",
        recipes={**recipes, **variants},
        anchors=anchors,
        test_anchors=10_000 if paper else 2_000,
        seeds=tuple(range(5 if paper else 3)),
        at_once=True,
        measures="actions",
        only={
            **dict.fromkeys((ACTION_PAIRS, RECORDED_PAIRS), of_objects),
            **dict.fromkeys((MANY_THINGS, RECORDED_SCENES), DELTA_METHODS),
            ARM_ACTIONS: (OF_A_RESNET, FROM_POSES),
        },
        # Arms are rendered at the packaged estimator's 128 pixels; the paper's ResNet takes larger images.
        own={ARM_ACTIONS: {OF_A_RESNET: of_a_resnet(delta_recipe("cde-global", "compact"))}},
        recorded=None if recorded is None else str(recorded.resolve()),
    )
