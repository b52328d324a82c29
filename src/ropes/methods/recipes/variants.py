"""Variants of a recipe: labels, anchors, image sizes, objectives, the VAE sweep."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from ropes.errors import UserError
from ropes.methods.recipes import (
    LABEL_SHARES,
    CNNRecipe,
    DeltaRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Recipe,
    RopesRecipe,
    VAERecipe,
)
from ropes.methods.registry import LABELLED_METHODS, recipe_of

#: The curves: numbers of anchors, and at how many of them images are made smaller.
NUMBERS, _AT = (250, 500, 1_000, 2_500, 5_000, 10_000), 2_500
#: Encoders of smaller images: as many cells, each of fewer pixels (the smallest window has fewer cells too).
_SMALLER: dict[int, dict[str, Any]] = {
    64: {"image_size": 64, "stem": 2, "window": 20, "window_stem": 1},
    32: {"image_size": 32, "stem": 1, "window": 12, "window_stem": 1},
}
#: Anchors of the comparison of supervisions.
COMPARED = (500, 2_000, 6_000)
#: Images that a VAE of that comparison is shown under the compact preset: its fit takes as long as one of anchored.
_SHOWN = 7_000 * 32
#: Objectives of ropes that are compared, in words: variant → what trains its coordinates.
OBJECTIVES = {
    "classifier": "the density ratios' logits themselves, no AE2",
    "logit": "reconstruction, Eq. 3 (λ .1) and the logit term",
    "reconstruction": "reconstruction alone",
    "eq3-0.001": "Eq. 3, λ .001",
    "eq3-0.01": "Eq. 3, λ .01",
    "eq3-0.1": "Eq. 3, λ .1",
    "eq3-1": "Eq. 3, λ 1",
    "eq3-10": "Eq. 3, λ 10",
    "eq3-each": "Eq. 3, λ .1, an AE2 for each joint, as in the paper",
    "eq3-noise": "Eq. 3, λ .1, density ratios of noisy codes",
    "eq3-codes": "Eq. 3, λ .1, codes whitened in 32 directions",
    "eq3-scores": "Eq. 3, λ .1, in as many directions of the score differences as joints",
    "eq3-scores-24": "Eq. 3, λ .1, in 24 directions of the score differences",
    "encoder": "reconstruction and score differences of the encoder",
    "encoder-noise": "reconstruction and score differences of the encoder, density ratios of noisy codes",
    "encoder-noise-0.3": "the same with noise of .3",
    "encoder-noise-10": "the same with noise of .2, score differences weighing 10",
    "encoder-eq3": "reconstruction, Eq. 3 (λ .1) and score differences of the encoder",
    "encoder-codes": "reconstruction and score differences of the encoder, codes whitened in 32 directions",
    "encoder-scores-24": "reconstruction and score differences of the encoder, in 24 directions of these",
}
#: Those that stand beside method ropes in Table 1: label → what tables call it.
BESIDE_ROPES = {
    "ropes@logit": "ropes+logit",
    "ropes@classifier": "classifier",
    "ropes@eq3": "ropes, Eq. 3",
    "ropes@encoder": "ropes, encoder's side",
}
#: Of all, the one that takes a training for each joint.
EACH_JOINT = "eq3-each"
#: Standard deviation of the noise of such density ratios; weight of the encoder's term.
_NOISE, _SCORE_WEIGHT = 0.2, 1.0
#: Poses that even the smallest training sees.
_POSES_AT_LEAST = 150_000


def by_labels(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
    """The method's recipe for each of the paper's shares of the labels; the one recipe of a method that reads none."""
    if method not in LABELLED_METHODS:
        yield method, recipe_of(method, preset)
        return
    for share in LABEL_SHARES:
        yield f"{method}@{100 * share:g}-percent", recipe_of(method, preset, labels=share)


def vaes(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
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


def fewer_anchors(method: str, recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer and with all anchors; under the compact preset as many steps whatever their number.

    Deviation: VAEs take half the steps that they take in the study of finger and cube, and encoders fewer than all
    anchors would be worth in Table 1.  Why: every fit of the comparison then takes as long.  Effect: all methods score
    lower than they could.
    """
    if isinstance(recipe, CNNRecipe | JointNetRecipe | DeltaRecipe):
        raise UserError(f"method {method} learns from labels; compare ada-gvae, anchored, beta-vae, ldr and ropes")
    if not isinstance(recipe, EncoderRecipe | RopesRecipe | VAERecipe):
        raise UserError(f"method {method} has no comparison of supervisions; leave it out")
    if isinstance(recipe, RopesRecipe):  # learns from all that there are
        yield f"{method}@{max(COMPARED)}-anchors", recipe
        return
    training = replace(recipe.training, min_samples=max(recipe.training.min_samples, _POSES_AT_LEAST))
    if recipe.preset == "compact":
        shown = _SHOWN if isinstance(recipe, VAERecipe) else _POSES_AT_LEAST
        training = replace(recipe.training, epochs=1, min_samples=shown)
    base = replace(recipe, training=training)
    for number in COMPARED:
        yield f"{method}@{number}-anchors", replace(base, anchors=number)


def objectives(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe by each of `OBJECTIVES`: all with the same AE1, and with the same density ratios unless noise is told.

    Raises:
        UserError: the recipe is not of method ropes.
    """
    if not isinstance(recipe, RopesRecipe):
        raise UserError("eq3 compares objectives of method ropes; leave the other ones out")
    plain = replace(recipe, logit_weight=0.0, score_weight=0.0, code_noise=0.0)
    eq3 = replace(plain, joint_ae2=True, sparsity_weights=(0.1,))
    encoder = replace(eq3, sparsity_weights=(0.0,), score_weight=_SCORE_WEIGHT)
    codes: dict[str, Any] = {"basis": "codes", "directions": 32}
    scores: dict[str, Any] = {"basis": "scores", "directions": 24}
    found = {
        "classifier": replace(plain, coordinates="logits"),
        "logit": replace(eq3, logit_weight=1.0),
        "reconstruction": replace(eq3, sparsity_weights=(0.0,)),
        **{f"eq3-{weight:g}": replace(eq3, sparsity_weights=(weight,)) for weight in (0.001, 0.01, 0.1, 1.0, 10.0)},
        EACH_JOINT: replace(eq3, joint_ae2=False),
        "eq3-noise": replace(eq3, code_noise=_NOISE),
        "eq3-codes": replace(eq3, **codes),
        "eq3-scores": replace(eq3, basis="scores"),
        "eq3-scores-24": replace(eq3, **scores),
        "encoder": encoder,
        "encoder-noise": replace(encoder, code_noise=_NOISE),
        "encoder-noise-0.3": replace(encoder, code_noise=0.3),
        "encoder-noise-10": replace(encoder, code_noise=_NOISE, score_weight=10.0),
        "encoder-eq3": replace(encoder, sparsity_weights=(0.1,)),
        "encoder-codes": replace(encoder, **codes),
        "encoder-scores-24": replace(encoder, **scores),
    }
    yield from ((name, found[name]) for name in OBJECTIVES)


def by_objective(method: str, recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe of a method; after that of ropes what stands beside it: Eq. 3 beside the compact preset's objective,
    which the paper preset's is, and the encoder's side of it beside that.
    """
    yield method, recipe
    if isinstance(recipe, RopesRecipe):
        found = dict(objectives(recipe))
        other = "encoder" if recipe.preset == "paper" else "eq3"
        beside = {"logit": found["logit"], "classifier": found["classifier"]}
        beside[other] = found["encoder-noise" if other == "encoder" else "eq3-0.1"]
        yield from ((f"{method}@{label}", each) for label, each in beside.items())


def curves(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer anchors, with smaller images, and with squares in training."""
    if not isinstance(recipe, EncoderRecipe):
        raise UserError("the curves are of methods anchored and ldr; leave the other ones out")
    base = replace(recipe, training=replace(recipe.training, min_samples=_POSES_AT_LEAST))
    for number in NUMBERS:
        yield f"{number}-anchors", replace(base, anchors=number)
    for side, smaller in _SMALLER.items():
        window = {} if base.encoder.window else {"window": 0}
        yield f"{side}-pixels", replace(base, anchors=_AT, encoder=replace(base.encoder, **smaller | window))
    yield "squares", replace(base, random_erasing=0.5)
