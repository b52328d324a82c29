"""The papers' tables as things to run: which settings, which methods, how many anchors, which seeds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from ropes.errors import UserError
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.recipes import (
    DELTA_METHODS,
    LABEL_SHARES,
    LABELLED_METHODS,
    METHODS,
    VAE_METHODS,
    CNNRecipe,
    DeltaRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Recipe,
    RopesRecipe,
    VAERecipe,
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
from ropes.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    FINGER_CUBE,
    MANY_THINGS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
)

#: What each experiment fits unless told otherwise.
DEFAULT_METHODS = {
    "causal-triplet": DELTA_METHODS,
    "coverage": ("anchored",),
    "curves": ("anchored",),
    "demo": ("anchored",),
    "disentanglement": ("ada-gvae", "beta-vae"),
    "panda-2c": ("anchored",),
    "supervision": ("ada-gvae", "anchored", "beta-vae", "ldr", "ropes"),
    "table1": ("ropes",),
    "table2": ("anchored", "cnn", "jointnet", "ldr", "ropes"),
}
#: The curves: numbers of anchors, and at how many of them images are made smaller.
_NUMBERS, _AT = (250, 500, 1_000, 2_500, 5_000, 10_000), 2_500
#: Encoders of smaller images: as many cells, each of fewer pixels (the smallest window has fewer cells too).
_SMALLER: dict[int, dict[str, Any]] = {
    64: {"image_size": 64, "stem": 2, "window": 20, "window_stem": 1},
    32: {"image_size": 32, "stem": 1, "window": 12, "window_stem": 1},
}
#: Anchors of the comparison of supervisions.
_COMPARED = (500, 2_000, 6_000)
#: Images that a VAE of that comparison is shown under the compact preset: its fit takes as long as one of anchored.
_SHOWN = 7_000 * 32
#: Poses that even the smallest training sees.
_POSES_AT_LEAST = 150_000


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

    def fits(self, setting: str, label: str) -> bool:
        """Whether a method or variant is fitted in a setting."""
        return setting not in self.only or label in self.only[setting]

    def recipe(self, setting: str, label: str) -> Recipe:
        """The recipe of a method or variant in a setting."""
        return self.own.get(setting, {}).get(label, self.recipes[label])


def experiment(name: str, preset: str, methods: Sequence[str] = (), *, recorded: Path | None = None) -> Experiment:
    """The experiment of that name under a preset.

    Deviation: the compact preset takes fewer anchors than the paper's 10,000, to fit two CPU cores.

    Args:
        name: "causal-triplet" (actions), "coverage" (of intervals), "curves" (error against anchors), "demo",
            "disentanglement" (of finger-cube), "panda-2c" (the packaged estimator), "supervision", "table1", "table2".
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
            compact, seeds = (2_000, (0, 1, 2)) if name == "coverage" else (3_500, (0,))
            anchors = {"panda-2c-independent": 10_000 if paper else compact}
            return Experiment(
                name=name, recipes=recipes, anchors=anchors, test_anchors=2_000, seeds=seeds, occlusions=(0, 32)
            )
        case "curves":
            return Experiment(
                name=name,
                recipes={f"{method}@{label}": each for method in recipes for label, each in _curves(recipes[method])},
                anchors={"panda-2c-independent": max(_NUMBERS)},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(0, 16, 32, 64),
                data_seed=1,
            )
        case "disentanglement":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in _vaes(method, preset)},
                anchors={FINGER_CUBE: 1_000_000 if paper else 20_000},
                test_anchors=10_000 if paper else 4_000,
                seeds=tuple(range(10 if paper else 3)),
                occlusions=(),
                at_once=True,
                measures="factors",
                recorded=None if recorded is None else str(recorded.resolve()),
            )
        case "panda-2c":
            return Experiment(
                name=name,
                recipes=recipes,
                anchors={"panda-2c-independent": 10_000 if paper else 8_000},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(0, 16, 32, 64),
                data_seed=1,
            )
        case "supervision":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in _fewer_anchors(method, recipes[method])},
                anchors={"panda-1c-independent": max(_COMPARED)},
                test_anchors=2_000,
                seeds=(0,),
                occlusions=(),
                at_once=True,
                measures="factors",
            )
        case "table2":
            return Experiment(
                name=name,
                recipes={label: each for method in recipes for label, each in _by_labels(method, preset)},
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


def _by_labels(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
    """The method's recipe for each of the paper's shares of the labels; the one recipe of a method that reads none."""
    if method not in LABELLED_METHODS:
        yield method, recipe_of(method, preset)
        return
    for share in LABEL_SHARES:
        yield f"{method}@{100 * share:g}-percent", recipe_of(method, preset, labels=share)


def _vaes(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
    """The method with and without input noise; under the paper preset every combination of its sweep (Section 3)."""
    recipe = recipe_of(method, preset)
    assert isinstance(recipe, VAERecipe)
    swept = product((1.0, 2.0, 4.0), (0, 10_000, 50_000), (10, 25, 50)) if preset == "paper" else [None]
    for chosen, noise in product(swept, (False, True)):
        variant, words = replace(recipe, noise=noise), ["noise"] if noise else []
        if chosen is not None:
            beta, warm_up, latents = chosen
            variant = replace(variant, beta=beta, warm_up=warm_up, vae=replace(recipe.vae, latents=latents))
            words = [f"beta-{beta:g}", f"warm-up-{warm_up}", f"latents-{latents}", *words]
        yield "@".join(filter(None, (method, "-".join(words)))), variant


def _fewer_anchors(method: str, recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer and with all anchors; under the compact preset as many steps whatever their number.

    Deviation: there VAEs take half the steps that they take in the study of finger and cube, and encoders fewer than
    all anchors would be worth in Table 1.
    """
    if isinstance(recipe, CNNRecipe | JointNetRecipe | DeltaRecipe):
        raise UserError(f"method {method} learns from labels; compare ada-gvae, anchored, beta-vae, ldr and ropes")
    if isinstance(recipe, RopesRecipe):  # learns from all that there are
        yield f"{method}@{max(_COMPARED)}-anchors", recipe
        return
    training = replace(recipe.training, at_least=max(recipe.training.at_least, _POSES_AT_LEAST))
    if recipe.preset == "compact":
        shown = _SHOWN if isinstance(recipe, VAERecipe) else _POSES_AT_LEAST
        training = replace(recipe.training, epochs=1, at_least=shown)
    base = replace(recipe, training=training)
    for number in _COMPARED:
        yield f"{method}@{number}-anchors", replace(base, anchors=number)


def _curves(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer anchors, with smaller images, and with squares in training."""
    if not isinstance(recipe, EncoderRecipe):
        raise UserError("the curves are of methods anchored and ldr; leave the other ones out")
    base = replace(recipe, training=replace(recipe.training, at_least=_POSES_AT_LEAST))
    for number in _NUMBERS:
        yield f"{number}-anchors", replace(base, anchors=number)
    for side, smaller in _SMALLER.items():
        window = {} if base.encoder.window else {"window": 0}
        yield f"{side}-pixels", replace(base, anchors=_AT, encoder=replace(base.encoder, **smaller | window))
    yield "squares", replace(base, erased=0.5)
