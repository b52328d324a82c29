"""Plans of the experiments on actions."""

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
    """Other readings of the paper's losses, on single things and in scenes; or other things held out, drawn by seed."""
    images, drawn = 200_000 if paper else 16_000, name == "hold-outs"
    return Experiment(
        name=name,
        recipes=dict(recipes) if drawn else {**recipes, **options(recipes)},
        anchors=dict.fromkeys(DRAWN_HOLD_OUTS if drawn else (ACTION_PAIRS, MANY_THINGS), images),
        test_anchors=10_000 if paper else 2_000,
        seeds=(0,) if drawn else tuple(range(5 if paper else 3)),
        occlusions=(),
        at_once=True,
        measures="actions",
    )


def actions(recipes: Mapping[str, Recipe], paper: bool, recorded: Path | None) -> Experiment:
    """Every method on single things, with variants; deltas of wholes and of patches in scenes; deltas of an arm."""
    ours = recipes.get("cde-global")
    variants = {**delta_variants(ours), **cropped(recipes)} if isinstance(ours, DeltaRecipe) else {}
    of_things, scenes = (*DELTA_METHODS, *ABLATED, *CROPPED.values(), OF_A_RESNET), DELTA_METHODS
    anchors = {ACTION_PAIRS: 200_000, MANY_THINGS: 200_000, ARM_ACTIONS: 100_000}
    if not paper:
        anchors = {ACTION_PAIRS: 16_000, MANY_THINGS: 16_000, ARM_ACTIONS: 48_000}
    if recorded is not None:
        anchors = {RECORDED_PAIRS: 0, RECORDED_SCENES: 0}
    only: dict[str, tuple[str, ...]] = dict.fromkeys((ACTION_PAIRS, RECORDED_PAIRS), of_things)
    only |= dict.fromkeys((MANY_THINGS, RECORDED_SCENES), scenes)
    return Experiment(
        name="causal-triplet",
        recipes={**recipes, **variants},
        anchors=anchors,
        test_anchors=10_000 if paper else 2_000,
        seeds=tuple(range(5 if paper else 3)),
        occlusions=(),
        at_once=True,
        measures="actions",
        only={**only, ARM_ACTIONS: (OF_A_RESNET, FROM_POSES)},
        # An arm is filmed with 128 pixels, as the packaged estimator reads it; the paper's ResNet would ask for more.
        own={ARM_ACTIONS: {OF_A_RESNET: of_a_resnet(delta_recipe("cde-global", "compact"))}},
        recorded=None if recorded is None else str(recorded.resolve()),
    )
