"""The papers' tables as things to run: which settings, which methods, how many anchors, which seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ropes.errors import UserError
from ropes.hardware import AskedPrecision
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.recipes import (
    DELTA_METHODS,
    METHODS,
    VAE_METHODS,
    DeltaRecipe,
    EncoderRecipe,
    Recipe,
    delta_recipe,
    recipe_of,
)
from ropes.recipes.delta_variants import (
    ABLATED,
    CROPPED,
    FROM_POSES,
    OF_A_RESNET,
    cropped,
    delta_variants,
    of_a_resnet,
)
from ropes.recipes.variants import (
    COMPARED,
    EACH_JOINT,
    NUMBERS,
    by_labels,
    curves,
    fewer_anchors,
    objectives,
    vaes,
)
from ropes.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    FINGER_CUBE,
    INDEPENDENT,
    MANY_THINGS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
    SceneName,
)

#: What each experiment fits unless told otherwise.
DEFAULT_METHODS = {
    "causal-triplet": DELTA_METHODS,
    "coverage": ("anchored",),
    "curves": ("anchored",),
    "demo": ("anchored",),
    "disentanglement": ("ada-gvae", "beta-vae"),
    "eq3": ("ropes",),
    "panda-2c": ("anchored",),
    "supervision": ("ada-gvae", "anchored", "beta-vae", "ldr", "ropes"),
    "table1": ("ropes",),
    "table2": ("anchored", "cnn", "jointnet", "ldr", "ropes"),
}


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table of the paper as something to run: settings × methods × training seeds.

    Attributes:
        name: as results files carry it.
        recipes: method, or METHOD@VARIANT (see `ropes.recipes.method_of`) → recipe of its fits.
        anchors: setting → training anchors, or training images of finger-cube.
        test_anchors: poses in each test split.
        seeds: training seeds.
        occlusions: sides of the white squares in pixels.
        data_seed: seed of the simulation.
        at_once: whether several fits at once, a process each, end sooner than one after the other.
        measures: "joints" (`ropes.evaluation`), "factors" (`ropes.factor_evaluation`) or "actions"
            (`ropes.delta_evaluation`).
        only: setting → the only methods and variants that are fitted there; all where it is not named.
        own: setting → method or variant → recipe that is its own there.
        recorded: what is not simulated: recordings to learn from, or photographs to test on.
        sizes: of the protocol's draws, where joint angles are measured.
        scene: behind arms, see `ropes.settings.SceneName`.
        precision: that networks are trained and measured in, see `ropes.hardware.precision_of`.
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


def experiment(name: str, preset: str, methods: Sequence[str] = (), *, recorded: Path | None = None) -> Experiment:
    """The experiment of that name under a preset.

    Deviation: the compact preset takes fewer anchors than the paper's 10,000, except in "panda-2c" and "curves".  Why:
    it is made for two CPU cores.  Effect: larger errors; docs/curves.md shows how they fall with the number of anchors.

    Args:
        name: "causal-triplet" (actions), "coverage" (of intervals), "curves" (error against anchors), "demo",
            "disentanglement" (of finger-cube), "eq3" (objectives of method ropes), "panda-2c" (the packaged estimator),
            "supervision", "table1", "table2".
        preset: "compact" or "paper".
        methods: what to fit instead of `DEFAULT_METHODS`.
        recorded: see `Experiment`.

    Raises:
        UserError: no such experiment, preset or method.
    """
    if name not in DEFAULT_METHODS:
        raise UserError(f"unknown experiment {name!r}: choose one of {', '.join(DEFAULT_METHODS)}")
    if recorded is not None and name not in ("causal-triplet", "disentanglement"):
        raise UserError(f"{name} is simulated; recordings go with causal-triplet and disentanglement")
    of_states = [method for method in METHODS if method not in DELTA_METHODS]
    of_joints = [method for method in of_states if method not in VAE_METHODS]
    known = {"causal-triplet": DELTA_METHODS, "disentanglement": VAE_METHODS, "supervision": of_states}
    fitting = known.get(name, of_joints)
    if odd := [method for method in methods if method in METHODS and method not in fitting]:
        raise UserError(f"{name} is not for method {odd[0]}; choose among {', '.join(fitting)}")
    recipes = {method: recipe_of(method, preset) for method in methods or DEFAULT_METHODS[name]}
    paper = preset == "paper"
    match name:
        case "causal-triplet":
            return _actions(recipes, paper, recorded)
        case "coverage" | "demo":
            compact, seeds = (2_000, (0, 1, 2)) if name == "coverage" else (1_250, (0,))
            anchors = {"panda-2c-independent": 10_000 if paper else compact}
            return Experiment(
                name=name, recipes=recipes, anchors=anchors, test_anchors=2_000, seeds=seeds, occlusions=(0, 32)
            )
        case "curves":
            return Experiment(
                name=name,
                recipes={f"{method}@{label}": each for method in recipes for label, each in curves(recipes[method])},
                anchors={"panda-2c-independent": max(NUMBERS)},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(0, 16, 32, 64),
                data_seed=1,
            )
        case "disentanglement":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in vaes(method, preset)},
                anchors={FINGER_CUBE: 1_000_000 if paper else 20_000},
                test_anchors=10_000 if paper else 4_000,
                seeds=tuple(range(10 if paper else 3)),
                occlusions=(),
                at_once=True,
                measures="factors",
                recorded=None if recorded is None else str(recorded.resolve()),
            )
        case "eq3":
            return _objectives(recipes, paper)
        case "panda-2c":
            return Experiment(
                name=name,
                recipes=recipes,
                anchors={"panda-2c-independent": 10_000},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(0, 16, 32, 64),
                data_seed=1,
            )
        case "supervision":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in fewer_anchors(method, recipes[method])},
                anchors={"panda-1c-independent": max(COMPARED)},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(),
                at_once=True,
                measures="factors",
            )
        case "table2":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in by_labels(method, preset)},
                anchors={"panda-2c-independent": 10_000 if paper else 3_000},
                test_anchors=10_000 if paper else 2_000,
                seeds=(0, 1),
                occlusions=(0, 16, 32, 64),
            )
        case _:
            anchors = dict.fromkeys(("panda-1c-independent", "panda-2c-independent", "panda-2c-causal"), 10_000)
            if not paper:
                anchors = {"panda-1c-independent": 6_000, "panda-2c-independent": 5_000, "panda-2c-causal": 5_000}
            return Experiment(
                name=name,
                recipes=recipes,
                anchors=anchors,
                test_anchors=10_000 if paper else 2_000,
                seeds=(0, 1),
                occlusions=(0, 16, 32, 64),
            )


def _objectives(recipes: Mapping[str, Recipe], paper: bool) -> Experiment:
    """Objectives of method ropes; the one that trains an AE2 for each joint with one camera alone."""
    variants = {f"{method}@{label}": each for method in recipes for label, each in objectives(recipes[method])}
    anchors = {"panda-1c-independent": 4_000, "panda-2c-independent": 3_000, "panda-2c-causal": 3_000}
    quick = tuple(label for label in variants if not label.endswith(EACH_JOINT))
    return Experiment(
        name="eq3",
        recipes=variants,
        anchors=dict.fromkeys(anchors, 10_000) if paper else anchors,
        test_anchors=2_000,
        seeds=(0, 1, 2),
        occlusions=(0,),
        at_once=True,
        only={setting: quick for setting in anchors if setting != "panda-1c-independent"},
    )


def _actions(recipes: Mapping[str, Recipe], paper: bool, recorded: Path | None) -> Experiment:
    """Every method on single things, with variants; deltas of wholes and of patches in scenes; deltas of an arm."""
    ours = recipes.get("cde-global")
    variants = {**delta_variants(ours), **cropped(recipes)} if isinstance(ours, DeltaRecipe) else {}
    of_things, scenes = (*DELTA_METHODS, *ABLATED, *CROPPED.values(), OF_A_RESNET), ("cde-global", "cde-patch")
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
