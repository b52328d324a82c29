"""Objectives of method ropes that experiments eq3 and table1 compare."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ropes.errors import UserError
from ropes.methods.recipes import Recipe, RopesRecipe, ropes_recipe, with_convolutions

_EQ3: dict[str, Any] = {"joint_ae2": True, "sparsity_weights": (0.1,)}
_MEAN: dict[str, Any] = {**_EQ3, "sparsity_weights": (1.0,), "sparsity_of_mean": True}
_ENCODER: dict[str, Any] = {"joint_ae2": True, "sparsity_weights": (0.0,), "score_weight": 1.0}
_NOISE: dict[str, Any] = {"code_noise": 0.2}
_CODES: dict[str, Any] = {"basis": "codes", "directions": 32}
_SCORES: dict[str, Any] = {"basis": "scores", "directions": 24}
#: Six times as many steps, of all rows, as in the compact preset; steps of dense layers are quicker.
_LONGER: dict[str, Any] = {"sparsity_rows": 0, "ae2_training": ropes_recipe("compact").ae2_training}
_WHITENED: dict[str, Any] = {"basis": "whitened", **_LONGER}
_ENCODER_WHITENED: dict[str, Any] = {**_ENCODER, **_WHITENED, "score_weight": 30.0}
_DEEP: dict[str, Any] = {**_ENCODER_WHITENED, "dense_layers": 3}
_SMOOTHED: dict[str, Any] = {**_DEEP, "softplus_beta": 50.0}
#: Variant of ropes → the objective that trains its coordinates, in words; changes of a recipe without extra terms.
_OBJECTIVES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "classifier": ("the density ratios' logits themselves, no AE2", {"coordinates": "logits"}),
    "logit": ("reconstruction, Eq. 3 (λ .1) and the logit term", {**_EQ3, "logit_weight": 1.0}),
    "reconstruction": ("reconstruction alone", {**_EQ3, "sparsity_weights": (0.0,)}),
    "eq3-0.001": ("Eq. 3, λ .001", {**_EQ3, "sparsity_weights": (0.001,)}),
    "eq3-0.01": ("Eq. 3, λ .01", {**_EQ3, "sparsity_weights": (0.01,)}),
    "eq3-0.1": ("Eq. 3, λ .1", _EQ3),
    "eq3-1": ("Eq. 3, λ 1", {**_EQ3, "sparsity_weights": (1.0,)}),
    "eq3-10": ("Eq. 3, λ 10", {**_EQ3, "sparsity_weights": (10.0,)}),
    "eq3-longer": (
        "Eq. 3, λ 1, six times as many steps, each with the terms of all joints",
        {**_EQ3, **_LONGER, "sparsity_weights": (1.0,)},
    ),
    "eq3-each": ("Eq. 3, λ .1, an AE2 for each joint, as in the paper", {**_EQ3, "joint_ae2": False}),
    "eq3-later": ("Eq. 3, λ .1, after half of the steps by reconstruction alone", {**_EQ3, "sparsity_start": 0.5}),
    "eq3-decoded": (
        "Eq. 3, λ .1, and decoded codes with the logits of the codes",
        {**_EQ3, "decoded_logit_weight": 1.0},
    ),
    "eq3-noise": ("Eq. 3, λ .1, density ratios of noisy codes", {**_EQ3, **_NOISE}),
    "eq3-codes": ("Eq. 3, λ .1, codes whitened in 32 directions", {**_EQ3, **_CODES}),
    "eq3-scores": (
        "Eq. 3, λ .1, in as many directions of the score differences as joints",
        {**_EQ3, "basis": "scores"},
    ),
    "eq3-scores-24": ("Eq. 3, λ .1, in 24 directions of the score differences", {**_EQ3, **_SCORES}),
    "eq3-whitened": ("Eq. 3, λ .1, whitened codes", {**_EQ3, **_WHITENED}),
    "eq3-mean": ("reconstruction and the mean of the score differences, λ 1", _MEAN),
    "eq3-mean-whitened": (
        "reconstruction and the mean of the score differences, λ 1, whitened codes",
        {**_MEAN, **_WHITENED},
    ),
    "encoder": ("reconstruction and score differences of the encoder", _ENCODER),
    "encoder-noise": (
        "reconstruction and score differences of the encoder, density ratios of noisy codes",
        {**_ENCODER, **_NOISE},
    ),
    "encoder-noise-0.3": (
        "reconstruction and score differences of the encoder, density ratios of codes with noise of .3 or .6 "
        "instead of .2 or .4",
        {**_ENCODER, "code_noise": 0.3},
    ),
    "encoder-noise-10": (
        "reconstruction and score differences of the encoder, weighing 10, density ratios of noisy codes",
        {**_ENCODER, **_NOISE, "score_weight": 10.0},
    ),
    "encoder-eq3": (
        "reconstruction, Eq. 3 (λ .1) and score differences of the encoder",
        {**_ENCODER, "sparsity_weights": (0.1,)},
    ),
    "encoder-codes": (
        "reconstruction and score differences of the encoder, codes whitened in 32 directions",
        {**_ENCODER, **_CODES},
    ),
    "encoder-scores-24": (
        "reconstruction and score differences of the encoder, in 24 directions of the score differences",
        {**_ENCODER, **_SCORES},
    ),
    "encoder-whitened": (
        "reconstruction and score differences of the encoder, weighing 30, whitened codes",
        _ENCODER_WHITENED,
    ),
    "encoder-whitened-deep": (
        "reconstruction and score differences of the encoder, weighing 30, whitened codes, three hidden layers",
        _DEEP,
    ),
    "encoder-whitened-softplus": (
        "reconstruction and score differences of the encoder, weighing 30, whitened codes, three hidden layers, "
        "smoothed density ratios",
        _SMOOTHED,
    ),
    "encoder-whitened-noise": (
        "reconstruction and score differences of the encoder, weighing 30, density ratios of noisy codes, whitened",
        {**_ENCODER_WHITENED, **_NOISE},
    ),
    "encoder-whitened-softplus-noise": (
        "reconstruction and score differences of the encoder, weighing 30, whitened codes, three hidden layers, "
        "smoothed density ratios of codes with noise of .05 or .1",
        {**_SMOOTHED, "code_noise": 0.05},
    ),
}
OBJECTIVES = {variant: words for variant, (words, _) in _OBJECTIVES.items()}
#: Variants of ropes in Table 1: label → its name in tables.
ROPES_VARIANTS = {
    "ropes@logit": "ropes+logit",
    "ropes@classifier": "classifier",
    "ropes@eq3": "ropes, Eq. 3",
    "ropes@encoder": "ropes, encoder's side",
}
#: The variant that trains one AE2 for each joint.
EACH_JOINT = "eq3-each"


def objectives(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with each of `OBJECTIVES`: the same AE1 and, unless the noise differs, the same density ratios.

    Raises:
        UserError: the recipe is not of method ropes.
    """
    if not isinstance(recipe, RopesRecipe):
        raise UserError("eq3 compares objectives of method ropes; leave the other ones out")
    plain = with_convolutions(recipe)
    for variant, (_, changes) in _OBJECTIVES.items():
        yield variant, replace(plain, **changes)


def by_objective(method: str, recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe of a method; for ropes also the variants of Table 1.  The classifier has a student if `ropes` has.

    Under the compact preset these include Eq. 3, with λ chosen as under the paper preset; under the paper preset, whose
    `ropes` is trained by Eq. 3, the encoder's side of it.
    All share the density ratios of `ropes`, except the encoder's side, whose own learn from codes with noise.
    """
    yield method, recipe
    if isinstance(recipe, RopesRecipe):
        variants = dict(objectives(recipe))
        other = ("encoder", "encoder-noise") if recipe.preset == "paper" else ("eq3", "eq3-0.1")
        for label, variant in (("logit", "logit"), ("classifier", "classifier"), other):
            changes: dict[str, Any] = {} if label == "encoder" else {"code_noise": recipe.code_noise}
            if label == "eq3":
                changes["sparsity_weights"] = ropes_recipe("paper").sparsity_weights
            if label == "classifier":
                changes |= {name: getattr(recipe, name) for name in ("foreign", "student", "student_encoder")}
            yield f"{method}@{label}", replace(variants[variant], **changes)
