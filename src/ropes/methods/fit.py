"""`fit`: dispatches to the method's own fit."""

from pathlib import Path
from typing import Any

from ropes.common.hardware import AskedPrecision
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
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit a method on the training split of the data set `data`; the run is left in the folder `out`.

    Args:
        data: the data set; its angles are read by the methods of `ropes.methods.registry.LABELLED_METHODS` alone.
        out: folder of the run; interrupted, the same call goes on there.
        recipe: of that method, see `ropes.methods.registry.recipe_of`.
        seed: of weights, splits and batches.
        method: one of `ropes.methods.registry.METHODS`.
        pretrained: a run to take over first stages of: the pre-training of `jointnet`, or AE1 and the LDRs of `ropes`;
            of the same method, and of these methods alone.
        precision: "bf16-mixed" (bf16 autocast), "32-true" (float32), or "auto": the one that this machine is fast in.
            A run that is gone on with keeps the one that it was begun in.  Stages that measure score differences take
            float32 whatever is asked for.
        show: show progress.

    Raises:
        UserError: no such method, another method's recipe, another precision than the run was begun in, or as the
            method's own `fit`.
        KeyboardInterrupt: interrupted; everything so far is stored.
    """
    chosen = method_named(method)
    if pretrained is not None and not chosen.pretrained:
        able = " and ".join(name for name in METHODS if method_named(name).pretrained)
        raise UserError(f"method {method} is not pre-trained; leave --pretrained out, which goes with {able}")
    if not isinstance(recipe, chosen.recipe_type):
        raise UserError(f"method {method} cannot be fitted with another method's recipe; take the one of its presets")
    options: dict[str, Any] = {"method": method, "precision": precision, "show": show}
    if chosen.pretrained:
        options["pretrained"] = pretrained
    run: Run = chosen.load("fit")(Path(data), Path(out), recipe, seed, **options)
    return run
