"""Methods `ldr` (regimes alone) and `anchored` (regimes and anchors): one encoder from images to coordinates.

The log density ratio of a joint's two policies is a function of that joint's angle alone, and affine in it where the
policies have equal variance and bounds (ROPES Section 3.1).  An encoder whose coordinates discriminate the policies as
well as possible has therefore learned the joints.  Anchors add exact information: what an intervention does not move
stays the same.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ropes.common.arrays import Ints
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.batches import TrainingImages, first_anchors
from ropes.data.cache import ImageCache
from ropes.data.chains import MOVES, has_chains
from ropes.data.dataset import Dataset, Frames
from ropes.data.interventions import single_interventions
from ropes.data.layout import open_dataset
from ropes.data.moves import filmed_anchors, filmed_frames
from ropes.data.windows import WindowedImages
from ropes.errors import UserError
from ropes.methods.anchored.anchor_poses import AnchoredPoses
from ropes.methods.anchored.anchors import by_anchor, require_all_regimes
from ropes.methods.anchored.chain_poses import ChainPoses, moves_of, of_same_chains
from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.anchored.recipe import ANCHOR_FIELDS
from ropes.methods.anchored.regime_poses import RegimePoses
from ropes.methods.context import Context
from ropes.methods.passers_by.fit import cleaned, without_passers_by
from ropes.methods.policies import (
    bayes_floors,
    require_both_policies,
    require_contrast,
    warn_of_bent_moves,
    warn_of_few_images,
)
from ropes.methods.recipes import EncoderRecipe, recipe_to_dict
from ropes.methods.run import Run
from ropes.methods.student.fit import EncoderTeacher, Smoothing, fit_student
from ropes.methods.training.augmentation import JITTER
from ropes.methods.training.background import adapt_background
from ropes.methods.training.image_size import require_size
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.registration import has_one_background, register, register_to
from ropes.methods.training.run_log import RunLog
from ropes.methods.training_summary import write_training_summary
from ropes.methods.uncertainty.fit import fit_uncertainty
from ropes.models.encoder import NETWORK, ContrastNetwork

#: Versions of the objectives of `anchored`, on anchors, on chains, and on anchors with frames on the way: a training
#: under another one is not resumed.
_OBJECTIVE, _CHAIN_OBJECTIVE, _FILMED_OBJECTIVE = 5, "chains 1", "5, frames on the way 1"
#: Version of the student's targets.
_MEANS = "means 1"


def fit(
    data: Location,
    out: Path,
    recipe: EncoderRecipe,
    seed: int = 0,
    *,
    method: str = "anchored",
    precision: RequestedPrecision = "auto",
    show: bool = True,
    log: RunLog | None = None,
) -> Run:
    """Fit one encoder on the training split; for the arguments see `ropes.methods.fit.fit`.

    Deviation: method anchored also uses which images are of one anchor: a pose before and after interventions on each
    joint.  Why: the joints that move few pixels become learnable.  Effect: it uses more information than the paper's
    ROPES, which learns from distributions alone.

    Deviation: method ldr trains one encoder through density ratios, end to end.  Why: it is the encoder of anchored
    without anchors.  Effect: it is not a method of the paper, whose LDRs are the networks of Table 4, a stage of method
    ropes.

    Raises:
        UserError: the data set lacks what the method needs, the recipe is another method's, or the folder holds
            something else.
    """
    if method == "anchored" and not recipe.anchor_weight:
        raise UserError("method anchored needs an --anchor-weight above 0; to leave anchors out use --method ldr")
    if method == "ldr" and recipe.anchor_weight:
        raise UserError(
            f"method ldr leaves anchors out and cannot have an --anchor-weight of {recipe.anchor_weight:g}; "
            "to learn from them use --method anchored"
        )
    dataset = open_dataset(data)
    if method == "ldr" and has_chains(dataset):
        raise UserError(f"{data} holds chains of moves, in which interventions persist; learn from it with anchored")
    if method == "ldr" and recipe.independent:
        raise UserError("--independent is an option of method anchored; leave it out with --method ldr")
    if method == "ldr":
        require_contrast(dataset, show=show)
    elif single_interventions(dataset.regimes):
        raise UserError(
            f"{dataset.path} has one intervention on each joint, and method anchored needs two; fit with --method ldr "
            "or ropes"
        )
    else:
        require_both_policies(dataset)
    floors = bayes_floors(dataset)  # before the training: the description may be refused
    rows = _training_rows(dataset, recipe)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    run.require_same(out)
    require_size(dataset, recipe)
    with _images(dataset, recipe, show) as cache:
        images = TrainingImages(cache, dataset.frames("train"), dataset.regimes).take(rows)
        return _fit(dataset, images, run, out, floors, precision=precision, show=show, log=log)


def _fit(
    dataset: Dataset,
    images: TrainingImages,
    run: Run,
    out: Path,
    floors: dict[str, float | None],
    *,
    precision: RequestedPrecision,
    show: bool,
    log: RunLog | None,
) -> Run:
    """Fit on images that have been checked; `floors` are the Bayes floors of the contrasts."""
    recipe = run.recipe
    assert isinstance(recipe, EncoderRecipe)
    wanted = recipe.registration and has_one_background(dataset)
    images, registration = register(images, dataset.cameras, wanted=wanted, zoom=recipe.encoder.zoom, show=show)
    images, moved, between = images.still_anchors(), images.moved_anchors, None
    if run.method == "anchored" and filmed_frames(dataset):
        moves = ImageCache(dataset, MOVES, recipe.encoder.input_size, progress=show)
        between = of_same_chains(moves_of(dataset, moves), images)

    def poses_of(images: TrainingImages) -> AnchoredPoses | ChainPoses | RegimePoses:
        if run.method == "ldr":
            return RegimePoses.of(images, dataset.joints, recipe.val_fraction, run.seed)
        if has_chains(dataset):
            return ChainPoses.of(images, between, dataset.joints, recipe.val_fraction, run.seed)
        return AnchoredPoses.of(dataset, images, between, recipe.val_fraction, run.seed)

    poses_of(images)  # after all checks: data that are refused leave no run behind
    if show:
        warn_of_few_images(images.regime, dataset.regimes)
        if between is not None:
            warn_of_bent_moves(dataset)
    context = Context.begin(run, out, precision=precision, show=show, log=log, registration=registration)
    images = without_passers_by(context, images)
    if between is not None and registration is not None:
        between = cleaned(context, register_to(between, registration, show=show))
    poses = poses_of(images)
    summary, stage = _fit_encoder(context, recipe, poses)
    curves = summary["history"]
    contrasts = _contrasts(curves, floors)
    best = stage.best_record(curves)
    stages, seconds = {"encoder": curves, "ldr": contrasts}, {"encoder": summary["seconds"]}
    if recipe.foreign:
        kept, held = poses.kept.trusted_rows(), poses.held.trusted_rows()
        teacher = EncoderTeacher(stage.network.encoder, context)
        settings, smooth = (recipe.encoder, recipe.student, recipe.foreign), None
        if not isinstance(poses, RegimePoses):
            smooth = Smoothing(f"{_MEANS}, {recipe.independent}", partial(poses.smooth, stage, run.joints))
        student = fit_student(context, teacher, *settings, kept, held, smooth=smooth)
        stages["student"], seconds["student"] = student["history"], student["seconds"]
    fit_uncertainty(context, dataset, poses.kept.trusted_rows(), poses.held.trusted_anchors())
    write_training_summary(
        context,
        dataset,
        stages=stages,
        seconds=seconds,
        coordinate_contrast={joint: contrast["held_out"][best] for joint, contrast in contrasts.items()},
        **stage.steps_of(curves),
        anchors=len(np.unique(images.anchor)),
        poses=len(images),
        moved=moved,
    )
    return context.run


@contextmanager
def _images(dataset: Dataset, recipe: EncoderRecipe, show: bool) -> Iterator[ImageCache | WindowedImages]:
    """The training images while the context lasts: all in one file of the cache, or shard by shard."""
    size, window = recipe.encoder.input_size, recipe.shards_in_window
    if window is None:
        yield ImageCache(dataset, "train", size, progress=show)
        return
    if has_chains(dataset):
        raise UserError(f"{dataset.path} has chains of moves, which span shards; leave --shards-in-window out")
    if recipe.anchor_weight and filmed_anchors(dataset):
        raise UserError(
            f"{dataset.path} has frames on the way of moves, in shards of their own; leave --shards-in-window out"
        )
    with closing(WindowedImages(dataset, "train", size, window)) as windows:
        yield windows


def _training_rows(dataset: Dataset, recipe: EncoderRecipe) -> Ints:
    """Rows of the training frames that the fit uses; checks them before their images are decoded.

    Raises:
        UserError: too few anchors or, for method anchored, an anchor without one pose under each regime.
    """
    frames = dataset.frames("train")
    rows = np.flatnonzero(first_anchors(frames.anchor, recipe.anchors))
    if frames.regime.max(initial=0) >= len(dataset.regimes):  # `TrainingImages` reports it
        return rows
    selected = Frames(frames.index[rows], frames.anchor[rows], frames.regime[rows])
    if recipe.anchor_weight and not has_chains(dataset):
        by_anchor(dataset, selected)
    if recipe.anchors is not None:
        require_all_regimes(selected, frames, dataset.regimes)
    return rows


def _contrasts(curves: dict[str, list[float]], floors: dict[str, float | None]) -> dict[str, dict[str, Any]]:
    """Each joint's held-out contrast with its Bayes floor; removes the contrasts from the encoder's curves."""
    held_out = {joint: curves.pop(f"contrast_{k}") for k, joint in enumerate(floors)}
    return {
        joint: {"steps": curves["steps"], "held_out": values, "floor": floors[joint], "best": min(values)}
        for joint, values in held_out.items()
    }


def _fit_encoder(
    context: Context, recipe: EncoderRecipe, poses: AnchoredPoses | ChainPoses | RegimePoses
) -> tuple[dict[str, Any], EncoderStage]:
    """Train the encoder; returns the summary of the training, and the stage."""
    run, kept = context.run, poses.kept.trusted_rows()
    network = seeded(
        context.seed("encoder", "weights"),
        lambda: ContrastNetwork(recipe.encoder, views=len(run.cameras), joints=len(run.joints), channels=kept.channels),
    ).to(memory_format=torch.channels_last)
    adapt_background(context, network.encoder, kept)
    stage: EncoderStage
    stage, batch_at = poses.stage(context, recipe, network)
    # Registration and samples of the cleaner are part of `Context.digest`, where there is one.
    others = ("foreign", "student", "registration", "cleaner_samples", *(() if recipe.anchor_weight else ANCHOR_FIELDS))
    settings = recipe_to_dict(recipe, without=others)
    if recipe.anchor_weight:
        filmed = isinstance(poses, AnchoredPoses) and poses.moves is not None
        of_anchors = _FILMED_OBJECTIVE if filmed else _OBJECTIVE
        settings["objective"] = _CHAIN_OBJECTIVE if isinstance(poses, ChainPoses) else of_anchors
    if context.registration is not None:
        settings["jitter"] = JITTER
    fingerprint = context.digest("encoder", settings, NETWORK)
    return context.train(stage, batch_at, "encoder", fingerprint, full=False), stage
