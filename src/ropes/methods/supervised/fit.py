"""Supervised baselines: `cnn`, and `jointnet` (I-JEPA and JointNet, ROPES Section 4.4).

They are an upper reference for the methods without labels, on the same images, test poses and occlusions.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.common.files import sha256
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.passers_by.fit import without_passers_by
from ropes.methods.recipe import anchors_of
from ropes.methods.recipes import JointNetRecipe, LabelledRecipe, recipe_to_dict
from ropes.methods.run import Run, require_pretraining_precision
from ropes.methods.supervised.labels import Labels, angles_checksum, choose_labels
from ropes.methods.supervised.stages import AngleStage, PretrainingStage
from ropes.methods.training.augmentation import JITTER, jitter_of
from ropes.methods.training.background import adapt_background
from ropes.methods.training.image_size import require_size
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import SUMMARY, is_finished, link_training
from ropes.methods.training.registration import has_one_background, register
from ropes.methods.training.run_log import RunLog
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.validation_split import held_out_frames
from ropes.methods.training_summary import write_training_summary
from ropes.methods.uncertainty.fit import fit_uncertainty
from ropes.models.angles import AngleCNN, AngleTransformer, angle_network
from ropes.models.checkpoints import WEIGHTS
from ropes.models.encoder import NETWORK
from ropes.models.jepa import JEPA, collapse

#: Held-out poses, and held-out images of single cameras, that a record evaluates.
_EVALUATED_POSES, _EVALUATED_IMAGES = 2_048, 1_024
_PRETRAINING = "pretraining"


def fit(
    data: Location,
    out: Path,
    recipe: LabelledRecipe,
    seed: int = 0,
    *,
    method: str,
    pretrained: Path | None = None,
    precision: RequestedPrecision = "auto",
    show: bool = True,
    log: RunLog | None = None,
) -> Run:
    """Fit `cnn` or `jointnet` on a share of the labels; for the arguments see `ropes.methods.fit.fit`.

    `pretrained` is a run of jointnet, with the same data, seed and settings, whose pre-training is reused.

    Raises:
        UserError: the data set has no angles, no joints or too few labels, the folder holds something else, or
            `pretrained` is another pre-training.
    """
    dataset = open_dataset(data)
    if dataset.state_names is None:
        raise UserError(
            f"{data} has no joint angles (observation.state); method {method} needs them, anchored does not"
        )
    if not dataset.labelled_joints:
        raise UserError(f"{data} has actions or factors and no joints; method {method} learns the angles of joints")
    labels = choose_labels(dataset, recipe.labels, recipe.val_fraction, seed, anchors_of(recipe))
    checksum = angles_checksum(dataset.states("train"))
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed, angles_checksum=checksum)
    require_size(dataset, recipe)
    run.require_same(out)
    cache = ImageCache(dataset, "train", recipe.shape.image_size, progress=show)
    images = TrainingImages(cache, dataset.frames("train"), dataset.regimes).take(labels.poses)
    wanted = recipe.registration and has_one_background(dataset)
    images, registration = register(images, dataset.cameras, wanted=wanted, show=show)
    if isinstance(recipe, JointNetRecipe) and pretrained is not None:
        fingerprint = _pretraining_digest(Context(run, out, show, registration=registration), recipe)
        if is_finished(out / _PRETRAINING, fingerprint):
            pretrained = None  # it is reused already
        else:
            _require_pretraining(pretrained, fingerprint)
            require_pretraining_precision(pretrained, run.in_precision(out, precision).precision)
    # After all checks: data that are refused leave no run behind.
    context = Context.begin(run, out, precision=precision, show=show, log=log, registration=registration)
    context.pretrained = pretrained  # its cleaner is reused as well; its training on labels is not
    images = without_passers_by(context, images)
    context.pretrained = None
    held_out = held_out_frames(run, dataset)[labels.poses]
    kept, held = images.split(held_out)
    stages: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    more: dict[str, Any] = {}
    network = seeded(
        context.seed("angles", "weights"),
        lambda: angle_network(recipe.shape, views=len(run.cameras), joints=len(run.joints), channels=images.channels),
    )
    if pretrained is not None:
        link_training(pretrained / _PRETRAINING, out / _PRETRAINING)
    if isinstance(recipe, JointNetRecipe):
        stages["pretraining"], seconds["pretraining"] = _pretrain(context, recipe, kept, held, network)
        more["collapse"] = _collapse(stages["pretraining"])
    if isinstance(network, AngleCNN):
        adapt_background(context, network.encoder, kept)
    summary, stage = _fit_angles(context, recipe, network, images, labels)
    stages["angles"], seconds["angles"] = summary["history"], summary["seconds"]
    fit_uncertainty(context, dataset, kept, held, labels.held_angles(np.flatnonzero(held_out)))
    write_training_summary(
        context,
        dataset,
        stages=stages,
        seconds=seconds,
        **stage.steps_of(summary["history"]),
        labelled_poses=len(labels),
        labelled_poses_held_out=len(labels.held),
        labelled_images=len(labels) * len(run.cameras),
        anchors=len(np.unique(images.anchor)),
        poses=len(images),
        **more,
    )
    return context.run


def _collapse(curves: dict[str, list[float]]) -> dict[str, Any] | None:
    """The last signs of collapse of a pre-training, with the fault, if any, which is also printed as a warning.

    None where too few images were held out to measure them.
    """
    if "rank" not in curves:
        return None
    signs = {name: curves[name][-1] for name in ("rank", "spread")}
    fault = collapse(**signs)
    if fault is not None:
        print(f"ropes: warning: pre-training collapsed: {fault}; lower --pretraining.learning-rate", file=sys.stderr)
    return {**signs, "fault": fault}


def _pretraining_digest(context: Context, recipe: JointNetRecipe) -> str:
    """Digest of all inputs of the pre-training, which labels and JointNet are not."""
    content = recipe_to_dict(recipe)
    settings = {key: content[key] for key in ("vit", "pretraining", "momentum", "crop")}
    for of_jointnet in ("hidden", "rounds"):
        del settings["vit"][of_jointnet]
    return context.digest(_PRETRAINING, settings)


def _require_pretraining(run: Path, fingerprint: str) -> None:
    """Raise `UserError` unless a run has finished this pre-training."""
    folder = run / _PRETRAINING
    if not ((folder / SUMMARY).exists() and (folder / WEIGHTS).exists()):
        raise UserError(f"{run} holds no finished pre-training of method jointnet; leave --pretrained out")
    if not is_finished(folder, fingerprint):
        raise UserError(
            f"{run} was pre-trained on other data, with another seed or other settings; leave --pretrained out"
        )


def _pretrain(
    context: Context, recipe: JointNetRecipe, kept: TrainingImages, held: TrainingImages, network: AngleTransformer
) -> tuple[dict[str, list[float]], float]:
    """Pre-train by I-JEPA and load its target encoder into `network`; returns curves and seconds."""
    fingerprint = _pretraining_digest(context, recipe)
    views = len(context.run.cameras)
    steps = recipe.pretraining.steps(len(kept) * views)
    order = EpochShuffle(len(kept) * views, recipe.pretraining.batch, context.seed("pretraining", "order"))

    def single_images(poses: TrainingImages, indices: np.ndarray[Any, Any]) -> Tensor:
        pose, view = np.divmod(indices, views)
        pixels = torch.from_numpy(poses.pixels(pose)).unflatten(1, (views, kept.channels))
        return pixels[torch.arange(len(pose)), torch.from_numpy(view)]

    evaluated = EpochShuffle(len(held) * views, min(_EVALUATED_IMAGES, len(held) * views), context.seed("held out"))(0)
    jepa = seeded(context.seed("pretraining", "weights"), lambda: JEPA(recipe.vit, kept.channels))
    stage = PretrainingStage(
        jepa,
        recipe,
        steps=steps,
        seed=context.seed("pretraining"),
        held_out=single_images(held, evaluated),
        camera=torch.from_numpy(evaluated % views),
    )
    summary = context.train(stage, lambda step: single_images(kept, order(step)), _PRETRAINING, fingerprint, full=False)
    network.encoder.load_state_dict(jepa.average.state_dict())
    return summary["history"], summary["seconds"]


def _fit_angles(
    context: Context,
    recipe: LabelledRecipe,
    network: AngleCNN | AngleTransformer,
    images: TrainingImages,
    labels: Labels,
) -> tuple[dict[str, Any], AngleStage]:
    """Train on the labels; returns the summary of the training, and the stage."""
    kept, held = images.take(labels.kept), images.take(labels.held)
    angles = torch.from_numpy(labels.angles[labels.kept]).float()
    network.radians.adapt(angles)
    if isinstance(recipe, JointNetRecipe) and isinstance(network, AngleTransformer) and recipe.frozen:
        network.encoder.requires_grad_(False)
    order = EpochShuffle(len(kept), min(recipe.training.batch, len(kept)), context.seed("angles", "order"))

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        rows = order(step)
        return torch.from_numpy(kept.pixels(rows)), angles[torch.from_numpy(rows)]

    evaluated = EpochShuffle(len(held), min(len(held), _EVALUATED_POSES), context.seed("asked"))(0)
    stage = AngleStage(
        network,
        recipe.training,
        steps=recipe.training.steps(len(kept)),
        seed=context.seed("angles"),
        erased=recipe.random_erasing,
        channels=images.channels,
        held_out=(
            torch.from_numpy(held.pixels(evaluated)),
            torch.from_numpy(labels.angles[labels.held[evaluated]]).float(),
        ),
        jitter=jitter_of(context.registration) if isinstance(network, AngleCNN) else None,
    )
    version = [NETWORK] if isinstance(network, AngleCNN) else []
    # Registration and samples of the cleaner are part of `Context.digest`, where there is one.
    settings = recipe_to_dict(recipe, without=("registration", "cleaner_samples"))
    if stage.jitter is not None:
        settings["jitter"] = JITTER
    fingerprint = context.digest("angles", settings, context.run.angles_checksum, *version)
    inputs = {}
    if isinstance(recipe, JointNetRecipe):
        inputs[_PRETRAINING] = sha256(context.folder / _PRETRAINING / WEIGHTS)
    return context.train(stage, batch_at, "angles", fingerprint, full=False, inputs=inputs), stage
