"""The papers' tables as things to run: which settings, which methods, how many anchors, which seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ropes.errors import UserError
from ropes.recipes import EncoderRecipe, Recipe, recipe_of

#: What each experiment fits unless told otherwise.
DEFAULT_METHODS = {"demo": ("anchored",), "panda-2c": ("anchored",), "table1": ("ropes",)}
#: Share of the steps of the demo's few that are left to regimes alone: a joint whose policies are not yet told apart
#: when anchors begin to weigh never is.
_DEMO_ALONE = 0.35


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table of the paper as something to run: settings × methods × training seeds.

    Attributes:
        name: as results files carry it.
        recipes: method → recipe of its fits; the methods to fit are its keys.
        anchors: setting → training anchors.
        test_anchors: poses in each test split.
        seeds: training seeds.
        occlusions: sides of the white squares in pixels.
        data_seed: seed of the simulation.
    """

    name: str
    recipes: dict[str, Recipe]
    anchors: dict[str, int]
    test_anchors: int
    seeds: tuple[int, ...]
    occlusions: tuple[int, ...]
    data_seed: int = 0


def experiment(name: str, preset: str, methods: Sequence[str] = ()) -> Experiment:
    """The experiment of that name under a preset.

    Deviation: the compact preset takes fewer anchors than the paper's 10,000, to fit two CPU cores.

    Args:
        name: "demo", "panda-2c" (the estimator that comes with the package) or "table1".
        preset: "compact" or "paper".
        methods: what to fit instead of `DEFAULT_METHODS`.

    Raises:
        UserError: no such experiment, preset or method.
    """
    if name not in DEFAULT_METHODS:
        raise UserError(f"unknown experiment {name!r}: choose one of {', '.join(DEFAULT_METHODS)}")
    recipes = {method: recipe_of(method, preset) for method in methods or DEFAULT_METHODS[name]}
    paper = preset == "paper"
    match name:
        case "demo":
            if not paper:
                recipes = {method: _patient(recipe) for method, recipe in recipes.items()}
            anchors = {"panda-2c-independent": 10_000 if paper else 2_500}
            return Experiment(
                name=name, recipes=recipes, anchors=anchors, test_anchors=2_000, seeds=(0,), occlusions=(0, 32)
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


def _patient(recipe: Recipe) -> Recipe:
    return replace(recipe, alone=_DEMO_ALONE) if isinstance(recipe, EncoderRecipe) else recipe
