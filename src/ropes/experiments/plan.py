"""The configuration of an experiment: settings, methods, anchors, seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ropes.common.hardware import RequestedPrecision
from ropes.methods.recipes import EncoderRecipe, Recipe
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.simulation.settings import SceneName, find_setting


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment of settings × methods × training seeds.

    Attributes:
        name: name in results files.
        recipes: method, or METHOD@VARIANT (see `ropes.methods.registry.method_of`) → recipe of its fits.
        anchors: setting → number of training anchors; of training images in settings without an arm.
        test_anchors: poses in each test split.
        seeds: training seeds.
        occlusions: sides of the occluding squares, pixels.
        data_seed: seed of the simulation.
        at_once: whether several fits run at once, one process each.
        measures: "joints" (`ropes.evaluation.joints`), "factors" (`ropes.evaluation.factors`) or "actions"
            (`ropes.evaluation.actions`).
        only: setting → the methods and variants that are fitted there; all if the setting is missing.
        own: setting → method or variant → recipe that replaces `recipes` there.
        recorded: recordings to train on instead of simulated data, or photographs to test on.
        sizes: sizes of the protocol's draws, for joint angles.
        precision: precision of training and evaluation, see `ropes.common.hardware.resolve_precision`.
        scene: background of arms, see `ropes.simulation.settings.SceneName`.
        full_meshes: whether arms are rendered with all their triangles.
        labelled: of finger-cube, images in each split that regressors are fitted on; None for `test_anchors`.
    """

    name: str
    recipes: Mapping[str, Recipe]
    anchors: Mapping[str, int]
    test_anchors: int = 2_000
    seeds: tuple[int, ...] = (0,)
    occlusions: tuple[int, ...] = ()
    data_seed: int = 0
    at_once: bool = False
    measures: Literal["joints", "factors", "actions"] = "joints"
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Recipe]] = field(default_factory=dict)
    recorded: str | None = None
    sizes: ProtocolSizes = PAPER_SIZES
    precision: RequestedPrecision = "auto"
    scene: SceneName = "white"
    full_meshes: bool = False
    labelled: int | None = None

    def fits(self, setting: str, label: str) -> bool:
        """Whether a method or variant is fitted in a setting."""
        return setting not in self.only or label in self.only[setting]

    def recipe(self, setting: str, label: str) -> Recipe:
        """The recipe of a method or variant in a setting; method `anchored` knows whether joints are independent."""
        recipe = self.own.get(setting, {}).get(label, self.recipes[label])
        arm = find_setting(setting)
        independent = arm is not None and arm.independent
        if independent and isinstance(recipe, EncoderRecipe) and recipe.anchor_weight:
            return replace(recipe, independent=True)
        return recipe
