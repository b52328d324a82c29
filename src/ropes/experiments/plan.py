"""The configuration of an experiment: settings, methods, anchors, seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ropes.common.hardware import AskedPrecision
from ropes.methods.recipes import EncoderRecipe, Recipe
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.simulation.settings import INDEPENDENT, SceneName


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table of the paper as something to run: settings × methods × training seeds.

    Attributes:
        name: as results files carry it.
        recipes: method, or METHOD@VARIANT (see `ropes.methods.registry.method_of`) → recipe of its fits.
        anchors: setting → training anchors, or training images of finger-cube.
        test_anchors: poses in each test split.
        full_meshes: whether arms are drawn with all their triangles.
        labelled: of finger-cube: images of each split that regressors learn from; None for as many as of a test split.
        seeds: training seeds.
        occlusions: sides of the white squares in pixels.
        data_seed: seed of the simulation.
        at_once: whether several fits at once, a process each, end sooner than one after the other.
        measures: "joints" (`ropes.evaluation.joints`), "factors" (`ropes.evaluation.factors`) or "actions"
            (`ropes.evaluation.actions`).
        only: setting → the only methods and variants that are fitted there; all where it is not named.
        own: setting → method or variant → recipe that is its own there.
        recorded: what is not simulated: recordings to learn from, or photographs to test on.
        sizes: of the protocol's draws, where joint angles are measured.
        scene: behind arms, see `ropes.simulation.settings.SceneName`.
        precision: that networks are trained and measured in, see `ropes.common.hardware.precision_of`.
    """

    name: str
    recipes: dict[str, Recipe]
    anchors: dict[str, int]
    test_anchors: int
    seeds: tuple[int, ...]
    occlusions: tuple[int, ...]
    data_seed: int = 0
    at_once: bool = False
    measures: Literal["joints", "factors", "actions"] = "joints"
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Recipe]] = field(default_factory=dict)
    recorded: str | None = None
    sizes: ProtocolSizes = PAPER_SIZES
    precision: AskedPrecision = "auto"
    scene: SceneName = "white"
    full_meshes: bool = False
    labelled: int | None = None

    def fits(self, setting: str, label: str) -> bool:
        """Whether a method or variant is fitted in a setting."""
        return setting not in self.only or label in self.only[setting]

    def recipe(self, setting: str, label: str) -> Recipe:
        """The recipe of a method or variant in a setting.

        Where a setting commands each joint by itself, method `anchored` is told so.
        """
        recipe = self.own.get(setting, {}).get(label, self.recipes[label])
        if setting in INDEPENDENT and isinstance(recipe, EncoderRecipe) and recipe.anchor_weight:
            return replace(recipe, independent=True)
        return recipe
