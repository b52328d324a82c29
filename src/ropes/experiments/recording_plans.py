"""The experiments on how images are recorded: renderers and cameras' faults, anchors and chains of moves."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import get_args

from ropes.experiments.plan import Experiment, Rendering
from ropes.experiments.variants import (
    CAMERA_ANCHORS,
    SECONDS_OF_ANCHOR,
    SECONDS_OF_CHAIN,
    SECONDS_OF_FILMED_ANCHOR,
    as_long_as_chains,
    by_anchors,
    robot_hours,
)
from ropes.methods.recipes import CNNRecipe, EncoderRecipe, Recipe
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.camera_levels import LevelName
from ropes.simulation.settings import setting_named

_TWO_CAMERAS = "panda-2c-independent"
#: Scenes of experiment cameras, one for each renderer.
_SCENES: tuple[SceneName, ...] = ("panda-gym", "room")


def of_cameras(recipes: Mapping[str, Recipe], test_anchors: int) -> Experiment:
    """The same poses by each renderer and camera level, on few and on all anchors.

    All fits also read clean images of the other renderer; those of all clean images of a renderer also its webcam.
    """
    variants = [(label, each) for method in recipes for label, each in by_anchors(method, recipes[method])]
    renderings = [
        Rendering(setting=_TWO_CAMERAS, scene=scene, camera=level)
        for scene, level in product(_SCENES, get_args(LevelName))
    ]
    transfers: dict[str, dict[str, tuple[str, ...]]] = {}
    for each in renderings:
        elsewhere = [other.dataset for other in renderings if other.scene != each.scene and other.camera == "clean"]
        webcam = replace(each, camera="webcam").dataset
        transfers[each.dataset] = {
            label: (*([webcam] if each.camera == "clean" and recipe.anchors == max(CAMERA_ANCHORS) else []), *elsewhere)
            for label, recipe in variants
        }
    return Experiment(
        name="cameras",
        recipes=dict(variants),
        anchors={each.dataset: max(CAMERA_ANCHORS) for each in renderings},
        test_anchors=test_anchors,
        occlusions=(0,),
        renderings={each.dataset: each for each in renderings},
        transfers=transfers,
    )


def of_robot_hours(recipes: Mapping[str, Recipe], test_anchors: int) -> Experiment:
    """As many anchors, with and without frames on the way, and as many chains as a robot records in some hours.

    Method cnn has the labels of all poses of plain anchors and of chains; it does not see the frames on the way, which
    anchored reads.  Chains take more training steps; plain anchors are also trained for as many.
    """
    filmed, chains = (f"{_TWO_CAMERAS}+{kind}" for kind in ("moves", "chains"))
    joints = len(setting_named(_TWO_CAMERAS).splits["train"].joints)
    of: dict[str, dict[str, EncoderRecipe | CNNRecipe]] = {_TWO_CAMERAS: {}, filmed: {}, chains: {}}
    for method, recipe in recipes.items():
        found = [
            (_TWO_CAMERAS, "", robot_hours(recipe, SECONDS_OF_ANCHOR)),
            (chains, "chains-", robot_hours(recipe, SECONDS_OF_CHAIN)),
        ]
        if isinstance(recipe, EncoderRecipe):
            found.append((_TWO_CAMERAS, "longer-", as_long_as_chains(recipe, joints)))
            found.append((filmed, "filmed-", robot_hours(recipe, SECONDS_OF_FILMED_ANCHOR)))
        for dataset, prefix, variants in found:
            of[dataset] |= {f"{method}@{prefix}{label}": each for label, each in variants}
    of = {dataset: variants for dataset, variants in of.items() if variants}
    return Experiment(
        name="robot-hours",
        recipes={label: each for variants in of.values() for label, each in variants.items()},
        anchors={dataset: max(each.anchors or 0 for each in variants.values()) for dataset, variants in of.items()},
        test_anchors=test_anchors,
        seeds=(0, 1, 2),
        occlusions=(0, 32),
        only={dataset: tuple(variants) for dataset, variants in of.items()},
        chains={chains: _TWO_CAMERAS},
        filmed={filmed: _TWO_CAMERAS} if filmed in of else {},
    )
