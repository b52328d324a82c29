"""Variants of a recipe for experiments: labels, anchors, image sizes, the VAE sweep."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from ropes.data.chains import ON_THE_WAY, TURNS, training_samples
from ropes.data.held_out import held_out_count
from ropes.errors import UserError
from ropes.evaluation.benchmark.task import ANCHOR_SECONDS
from ropes.evaluation.paper import TWO_CAMERAS
from ropes.methods.recipes import (
    LABEL_FRACTIONS,
    CNNRecipe,
    DeltaRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Recipe,
    RopesRecipe,
    VAERecipe,
)
from ropes.methods.registry import method_named, recipe_of

#: Numbers of anchors of experiment curves, and the number at which images are made smaller; 10,000: panda-2c.
NUMBERS, _ANCHORS_OF_SMALLER = (250, 500, 1_000, 2_500, 5_000), 2_500
#: Encoders of smaller images: as many cells of fewer pixels (the smallest window also has fewer cells).
_SMALLER: dict[int, dict[str, Any]] = {
    64: {"image_size": 64, "stem": 2, "window": 20, "window_stem": 1},
    32: {"image_size": 32, "stem": 1, "window": 12, "window_stem": 1},
}
#: Side of the images that windows are cut from → the encoder's window, of half the usual area.
_LARGER: dict[int, dict[str, Any]] = {
    side: {"window_image_size": side, "window": 28, "window_stem": 1} for side in (256, 512)
}
#: Side of the rendered images in experiment resolution.
LARGEST = max(_LARGER)
#: Numbers of anchors of experiment supervision.
COMPARED = (500, 2_000, 6_000)
#: Hours of robot time of experiment robot-hours.
ROBOT_HOURS = (2, 4, 8)
#: Seconds of robot time of an anchor and of a chain of the Panda's six joints: moves at 1 rad/s, with .2 s to speed up
#: and to slow down, in the recorder's order, and a dwell of .5 s in each pose.  Where an anchor's moves are filmed, the
#: arm returns after each to the pose without intervention.
SECONDS_OF_ANCHOR, SECONDS_OF_FILMED_ANCHOR, SECONDS_OF_CHAIN = ANCHOR_SECONDS[TWO_CAMERAS], 31.7, 50.9
#: Numbers of anchors of experiment cameras.
CAMERA_ANCHORS = (1_000, 4_000)
#: Images seen by a VAE in that experiment under the compact preset: as long a fit as one of anchored.
_VAE_IMAGES = 7_000 * 32
_MIN_POSES = 150_000
#: Poses for the student of a demonstration.
_QUICK_STUDENT = 62_400


def by_labels(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
    """The recipe for each of the paper's fractions of the labels; for a label-free method its only recipe."""
    if not method_named(method).reads_labels:
        yield method, recipe_of(method, preset)
        return
    for share in LABEL_FRACTIONS:
        yield f"{method}@{100 * share:g}-percent", recipe_of(method, preset, labels=share)


def vaes(method: str, preset: str) -> Iterator[tuple[str, Recipe]]:
    """The recipe with and without input noise; under the paper preset every combination of its sweep (Section 3).

    Deviation: the sweep's values (β of 1, 2 and 4, a warm-up over 0, 10,000 and 50,000 steps, and 10, 25 and 50
    latents) are those of arXiv 2010.14407 as we know it; they could not be checked.  Why: the copy at hand has lost
    them.  Effect: not known; they make the paper's 108 configurations.
    """
    recipe = recipe_of(method, preset)
    assert isinstance(recipe, VAERecipe)
    sweep = product((1.0, 2.0, 4.0), (0, 10_000, 50_000), (10, 25, 50)) if preset == "paper" else [None]
    for point, noise in product(sweep, (False, True)):
        variant, words = replace(recipe, noise=noise), ["noise"] if noise else []
        if point is not None:
            beta, warm_up, latents = point
            variant = replace(variant, beta=beta, warm_up=warm_up, vae=replace(recipe.vae, latents=latents))
            words = [f"beta-{beta:g}", f"warm-up-{warm_up}", f"latents-{latents}", *words]
        yield "@".join(filter(None, (method, "-".join(words)))), variant


def fewer_anchors(method: str, recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer and with all anchors; under the compact preset all take the same number of steps.

    Deviation: VAEs take half the steps that they take in the study of finger and cube, and encoders fewer steps than
    Table 1 takes for the same number of anchors.  Why: every fit of the comparison then takes as long.  Effect: all
    methods score lower than they could.
    """
    if isinstance(recipe, CNNRecipe | JointNetRecipe | DeltaRecipe):
        raise UserError(f"method {method} learns from labels; compare ada-gvae, anchored, beta-vae, ldr and ropes")
    if not isinstance(recipe, EncoderRecipe | RopesRecipe | VAERecipe):
        raise UserError(f"method {method} is not part of the comparison of supervisions; leave it out")
    if isinstance(recipe, RopesRecipe):  # always trained on all anchors
        yield f"{method}@{max(COMPARED)}-anchors", recipe
        return
    training = replace(recipe.training, min_samples=max(recipe.training.min_samples, _MIN_POSES))
    if recipe.preset == "compact":
        samples = _VAE_IMAGES if isinstance(recipe, VAERecipe) else _MIN_POSES
        training = replace(recipe.training, epochs=1, min_samples=samples)
    for number in COMPARED:
        yield f"{method}@{number}-anchors", replace(recipe, training=training, anchors=number)


def quick(recipe: Recipe) -> Recipe:
    """The recipe with half as many steps of its student, for a demonstration; as it is if it has none."""
    if not isinstance(recipe, EncoderRecipe):
        return recipe
    return replace(recipe, student=replace(recipe.student, min_samples=_QUICK_STUDENT))


def of_64_pixels(recipe: Recipe) -> Recipe:
    """The recipe for images of 64 pixels, which MPI3D's photographs have.

    Raises:
        UserError: the method has no such recipe.
    """
    if isinstance(recipe, VAERecipe):
        return replace(recipe, vae=replace(recipe.vae, image_size=64))
    if not isinstance(recipe, EncoderRecipe | CNNRecipe):
        raise UserError("mpi3d compares methods ada-gvae, anchored, beta-vae, cnn and ldr; leave the other ones out")
    window = {} if recipe.encoder.window else {"window": 0}
    return replace(recipe, encoder=replace(recipe.encoder, **_SMALLER[64] | window))


def resolutions(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe, and windows cut from larger images; the whole image has the same number of pixels in all of them."""
    if not isinstance(recipe, EncoderRecipe) or not recipe.encoder.window:
        raise UserError("experiment resolution is of method anchored, whose encoder has a window; leave the others out")
    yield f"{recipe.encoder.image_size}-pixels", recipe
    for side, larger in _LARGER.items():
        yield f"{side}-pixels", replace(recipe, encoder=replace(recipe.encoder, **larger))


def robot_hours(recipe: Recipe, seconds: float) -> Iterator[tuple[str, EncoderRecipe | CNNRecipe]]:
    """The recipe with as many anchors or chains, of `seconds` each, as a robot records in each of `ROBOT_HOURS`.

    Raises:
        UserError: the recipe is of another method than anchored and cnn.
    """
    learns_from_chains = isinstance(recipe, CNNRecipe) or (isinstance(recipe, EncoderRecipe) and recipe.anchor_weight)
    if not isinstance(recipe, EncoderRecipe | CNNRecipe) or not learns_from_chains:
        raise UserError("experiment robot-hours compares methods anchored and cnn; leave the others out")
    base = replace(recipe, training=replace(recipe.training, min_samples=_MIN_POSES))
    for hours in ROBOT_HOURS:
        yield f"{hours}-hours", replace(base, anchors=int(hours * 3600 / seconds))


def as_long_as_chains(recipe: EncoderRecipe, joints: int) -> Iterator[tuple[str, EncoderRecipe]]:
    """Anchors of each of `ROBOT_HOURS` with as many training steps as chains take, where these take more.

    Args:
        recipe: of anchored.
        joints: that move in a chain.
    """
    chains = dict(robot_hours(recipe, SECONDS_OF_CHAIN))
    for label, each in robot_hours(recipe, SECONDS_OF_ANCHOR):
        assert isinstance(each, EncoderRecipe)  # as `recipe`
        count = chains[label].anchors or 0
        kept = count - held_out_count(count, recipe.val_fraction)
        samples = training_samples(kept * TURNS * joints, ON_THE_WAY)
        training = replace(each.training, min_samples=round(each.training.epochs * samples))
        if training.min_samples > each.training.min_samples:
            yield label, replace(each, training=training)


def by_anchors(method: str, recipe: Recipe) -> Iterator[tuple[str, EncoderRecipe | CNNRecipe]]:
    """The recipe with the first anchors alone and with all of them; fits on few anchors take more epochs, as in curves.

    Raises:
        UserError: the method always learns from all anchors.
    """
    if not isinstance(recipe, EncoderRecipe | CNNRecipe):
        raise UserError("cameras compares methods anchored, cnn and ldr; leave the other ones out")
    training = replace(recipe.training, min_samples=max(recipe.training.min_samples, _MIN_POSES))
    for number in CAMERA_ANCHORS:
        yield f"{method}@{number}-anchors", replace(recipe, training=training, anchors=number)


def curves(recipe: Recipe) -> Iterator[tuple[str, Recipe]]:
    """The recipe with fewer anchors, and with smaller images; the longest fit comes last."""
    if not isinstance(recipe, EncoderRecipe):
        raise UserError("the curves are of methods anchored and ldr; leave the other ones out")
    base = replace(recipe, training=replace(recipe.training, min_samples=_MIN_POSES))
    *fewer, most = NUMBERS
    for number in fewer:
        yield f"{number}-anchors", replace(base, anchors=number)
    for side, smaller in _SMALLER.items():
        window = {} if base.encoder.window else {"window": 0}
        encoder = replace(base.encoder, **smaller | window)
        yield f"{side}-pixels", replace(base, anchors=_ANCHORS_OF_SMALLER, encoder=encoder)
    yield f"{most}-anchors", replace(base, anchors=most)
