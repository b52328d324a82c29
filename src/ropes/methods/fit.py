"""`fit`: dispatches to the method's own fit."""

from pathlib import Path

from ropes.common.hardware import AskedPrecision
from ropes.errors import UserError
from ropes.methods import anchored, delta, ropes, supervised, vae
from ropes.methods.recipes import (
    DELTA_METHODS,
    VAE_METHODS,
    CNNRecipe,
    DeltaRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Recipe,
    RopesRecipe,
    VAERecipe,
    require_method,
)
from ropes.methods.run import Run


def fit(
    data: Path,
    out: Path,
    recipe: Recipe,
    seed: int = 0,
    *,
    method: str,
    pretrained: Path | None = None,
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit a method on the training split of the data set `data`; the run is left in the folder `out`.

    Args:
        data: the data set; its angles are read by the methods of `ropes.methods.recipes.LABELLED_METHODS` alone.
        out: folder of the run; interrupted, the same call goes on there.
        recipe: of that method, see `ropes.methods.recipes.recipe_of`.
        seed: of weights, splits and batches.
        method: one of `ropes.methods.recipes.METHODS`.
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
    require_method(method)
    if pretrained is not None and method not in ("jointnet", "ropes"):
        raise UserError(
            f"method {method} is not pre-trained; leave --pretrained out, which goes with jointnet and ropes"
        )
    match recipe:
        case RopesRecipe() if method == "ropes":
            return ropes.fit(data, out, recipe, seed, pretrained=pretrained, precision=precision, show=show)
        case EncoderRecipe() if method in ("anchored", "ldr"):
            return anchored.fit(data, out, recipe, seed, method=method, precision=precision, show=show)
        case CNNRecipe() if method == "cnn":
            return supervised.fit(data, out, recipe, seed, method=method, precision=precision, show=show)
        case JointNetRecipe() if method == "jointnet":
            return supervised.fit(
                data, out, recipe, seed, method=method, pretrained=pretrained, precision=precision, show=show
            )
        case VAERecipe() if method in VAE_METHODS:
            return vae.fit(data, out, recipe, seed, method=method, precision=precision, show=show)
        case DeltaRecipe() if method in DELTA_METHODS:
            return delta.fit(data, out, recipe, seed, method=method, precision=precision, show=show)
    raise UserError(f"method {method} cannot be fitted with another method's recipe; take the one of its own presets")
