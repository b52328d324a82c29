"""The experiment on MPI3D's photographs: joints from anchors, factors from pairs, and axes by both."""

from collections.abc import Mapping
from pathlib import Path

from ropes.experiments.plan import Experiment
from ropes.experiments.variants import of_64_pixels
from ropes.methods.recipes import Recipe
from ropes.methods.registry import methods_of
from ropes.simulation.settings import MPI3D, MPI3D_FACTORS, MPI3D_GRID


def of_photographs(
    recipes: Mapping[str, Recipe], *, paper: bool, test_anchors: int, recorded: Path | None
) -> Experiment:
    """The configuration of experiment "mpi3d": every fit is measured on its own test images and on common points.

    Args:
        recipes: method → recipe.
        paper: whether the preset is the paper's.
        test_anchors: poses in each test split.
        recorded: the file, see `ropes.data.mpi3d`, without which the experiment cannot run.
    """
    factors = methods_of("factors")
    joints = tuple(method for method in recipes if method not in factors)
    return Experiment(
        name=MPI3D,
        recipes={method: of_64_pixels(recipe) for method, recipe in recipes.items()},
        anchors={MPI3D: 10_000 if paper else 3_000, MPI3D_FACTORS: 1_000_000 if paper else 20_000, MPI3D_GRID: 0},
        test_anchors=test_anchors,
        labelled=10_000,
        seeds=(0, 1, 2),
        occlusions=(0,),
        only={MPI3D: joints, MPI3D_FACTORS: factors, MPI3D_GRID: ()},
        transfers={MPI3D: dict.fromkeys(joints, (MPI3D_GRID,)), MPI3D_FACTORS: dict.fromkeys(factors, (MPI3D_GRID,))},
        recorded=None if recorded is None else str(recorded.resolve()),
    )
