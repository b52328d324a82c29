"""`fit`: the entry point of every method's training."""

from pathlib import Path
from typing import Any

from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError
from ropes.methods.recipes import Recipe
from ropes.methods.registry import METHODS, method_named
from ropes.methods.run import Run


def fit(
    data: Path | str,
    out: Path | str,
    recipe: Recipe,
    seed: int = 0,
    *,
    method: str = "anchored",
    pretrained: Path | None = None,
    precision: RequestedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit a method on the training split of the data set `data`, in the folder `out`.

    To resume an interrupted or killed fit, call it again: it ends with the same weights.

    Args:
        data: the data set; only methods of `ropes.methods.registry.LABELLED_METHODS` read its angles.
        out: folder of the run.
        recipe: of the method, see `ropes.methods.registry.recipe_of`.
        seed: of weights, splits and batches.
        method: one of `ropes.methods.registry.METHODS`.
        pretrained: a run of the same method whose first stages are reused: the pre-training of `jointnet`, or AE1 and
            the LDRs of `ropes`.  Other methods have none.
        precision: "bf16-mixed" (bf16 autocast), "32-true" (float32), or "auto": the faster one on this machine.  A
            resumed run keeps its precision.  Stages that compute score differences always use float32.
        show: show progress.

    Raises:
        UserError: no such method, another method's recipe, another precision than the stored run's, or as the method's
            own `fit`.
        KeyboardInterrupt: interrupted; the state is stored.
    """
    entry = method_named(method)
    if pretrained is not None and not entry.pretrained:
        names = " and ".join(name for name in METHODS if method_named(name).pretrained)
        raise UserError(f"method {method} is not pre-trained; leave --pretrained out, which is an option of {names}")
    if not isinstance(recipe, entry.recipe_type):
        raise UserError(f"method {method} cannot be fitted with another method's recipe; use one of its presets")
    options: dict[str, Any] = {"method": method, "precision": precision, "show": show}
    if entry.pretrained:
        options["pretrained"] = pretrained
    run: Run = entry.load("fit")(Path(data), Path(out), recipe, seed, **options)
    return run
