"""One door to every method."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation, RopesRecipe
from ropes.methods.registry import OWN_METHODS, methods_of
from ropes.methods.run import Run
from tests import tiny


# Those of actions, which have data of their own, are in test_delta.
@pytest.mark.slow
@pytest.mark.parametrize("method", [method for method in OWN_METHODS if method not in methods_of("actions")])
def test_fit_dispatches_on_the_method_name(method: str, tiny_data: Path, finger_data: Path, tmp_path: Path) -> None:
    recipe, data = tiny.recipe_of(method), finger_data if method in methods_of("factors") else tiny_data
    if not isinstance(recipe, RopesRecipe):
        recipe = replace(recipe, training=Optimisation(epochs=0.5, batch=20, learning_rate=1e-3))
    run = fit(data, tmp_path / "run", recipe, 3, method=method, show=False)
    assert (run.method, run.seed, run.recipe) == (method, 3, recipe)
    assert Run.read(tmp_path / "run") == run
    assert tiny.weights(tmp_path / "run")


def test_unknown_methods_and_mismatched_recipes_are_refused(tiny_data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown method 'anchord': did you mean anchored\?"):
        fit(tiny_data, tmp_path / "run", tiny.recipe(), method="anchord", show=False)
    others = {"anchored": "ropes", "ldr": "cnn", "ropes": "anchored", "cnn": "jointnet", "jointnet": "beta-vae"}
    others |= dict.fromkeys((*methods_of("factors"), *methods_of("actions")), "ldr")
    for method, recipe in ((method, tiny.recipe_of(others[method])) for method in OWN_METHODS):
        with pytest.raises(UserError, match=f"method {method} cannot be fitted with another method's recipe"):
            fit(tiny_data, tmp_path / "run", recipe, method=method, show=False)
    assert tiny.tree(tmp_path / "run") == {}
