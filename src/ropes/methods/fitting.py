"""One door to every method: which module fits it."""

from pathlib import Path

from ropes.errors import UserError
from ropes.methods import anchored, ropes
from ropes.methods.run import Run
from ropes.recipes import EncoderRecipe, Recipe, RopesRecipe, require_method


def fit(data: Path, out: Path, recipe: Recipe, seed: int = 0, *, method: str, show: bool = True) -> Run:
    """Fit a method on the training split of the data set `data`; the run is left in the folder `out`.

    Args:
        data: the data set; its angles are never read.
        out: folder of the run; interrupted, the same call goes on there.
        recipe: of that method, see `ropes.recipes.recipe_of`.
        seed: of weights, splits and batches.
        method: "anchored", "ldr" or "ropes".
        show: show progress.

    Raises:
        UserError: no such method, another method's recipe, or as the method's own `fit`.
        KeyboardInterrupt: interrupted; everything so far is stored.
    """
    require_method(method)
    match recipe:
        case RopesRecipe() if method == "ropes":
            return ropes.fit(data, out, recipe, seed, show=show)
        case EncoderRecipe() if method != "ropes":
            return anchored.fit(data, out, recipe, seed, method=method, show=show)
    raise UserError(f"method {method} cannot be fitted with another method's recipe; take the one of its own presets")
