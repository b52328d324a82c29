"""The experiment on MPI3D's photographs: joints from anchors, factors from pairs."""

from collections.abc import Mapping
from pathlib import Path

from ropes.errors import UserError
from ropes.experiments.plan import Experiment
from ropes.experiments.variants import of_64_pixels
from ropes.methods.recipes import Recipe
from ropes.methods.registry import methods_of
from ropes.simulation.settings import MPI3D, MPI3D_FACTORS


def of_photographs(
    recipes: Mapping[str, Recipe], *, paper: bool, test_anchors: int, recorded: Path | None
) -> Experiment:
    """The configuration of experiment "mpi3d".

    Args:
        recipes: method → recipe.
        paper: whether the preset is the paper's.
        test_anchors: poses in each test split.
        recorded: the file, see `ropes.data.mpi3d`.

    Raises:
        UserError: no file is given, or a method has no recipe for images of 64 pixels.
    """
    if recorded is None:
        raise UserError("mpi3d is of photographs; give --data mpi3d_real.npz (docs/photographs.md)")
    factors = methods_of("factors")
    return Experiment(
        name=MPI3D,
        recipes={method: of_64_pixels(recipe) for method, recipe in recipes.items()},
        anchors={MPI3D: 10_000 if paper else 3_000, MPI3D_FACTORS: 1_000_000 if paper else 20_000},
        test_anchors=test_anchors,
        labelled=10_000,
        seeds=(0, 1, 2),
        occlusions=(0,),
        only={MPI3D: tuple(method for method in recipes if method not in factors), MPI3D_FACTORS: factors},
        recorded=str(recorded.resolve()),
    )
