"""Supervised baselines: `cnn`, and `jointnet` (I-JEPA and JointNet, ROPES Section 4.4).

They say what labels are worth: the same images, test poses and occlusions as for the methods that read none.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.common.files import read_json
from ropes.common.hardware import AskedPrecision
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.image_size import require_size
from ropes.methods.labelled import Labelled, angles_checksum, choose_labels
from ropes.methods.recipes import JointNetRecipe, LabelledRecipe, recipe_to_dict
from ropes.methods.run import Run, require_pretrained_in
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.supervised_stage import AngleStage, PretrainingStage
from ropes.methods.training.loop import SUMMARY, take_over
from ropes.methods.training_summary import write_story
from ropes.methods.uncertainty.fit import fit_uncertainty
from ropes.methods.validation_split import not_learnt_from
from ropes.models.angles import AngleCNN, AngleTransformer, angle_network
from ropes.models.checkpoints import WEIGHTS
from ropes.models.encoder import NETWORK
from ropes.models.jepa import JEPA, collapse

#: Held-out poses that a record asks, and images of single cameras; and images that tell the background.
_ASKED, _ASKED_IMAGES, _ADAPTED_TO = 2_048, 1_024, 256
_PRETRAINING = "pretraining"


def fit(
    data: Path,
    out: Path,
    recipe: LabelledRecipe,
    seed: int = 0,
    *,
    method: str,
    pretrained: Path | None = None,
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit a supervised baseline on a share of the labels of the data set `data`; the run is left in the folder `out`.

    Interrupted or killed, the same call goes on and ends with the same weights.

    Args:
        data: the data set.
        out: folder of the run.
        recipe: of that method.
        seed: of weights, splits and batches.
        method: "cnn" or "jointnet".
        pretrained: run of `jointnet` whose pre-training is taken over: of the same data, seed and settings.
        precision: see `ropes.methods.fit.fit`.
        show: show progress.

    Raises:
        UserError: the data set has no angles, no interventions or too few labels, the folder holds something else, or
            `pretrained` is another pre-training.
        KeyboardInterrupt: interrupted; everything so far is stored.
    """
    dataset = open_dataset(data)
    if dataset.state_names is None:
        raise UserError(
            f"{data} has no joint angles (observation.state); method {method} needs them, anchored does not"
        )
    if not dataset.joints:
        raise UserError(f"{data} has no interventions, which name the joints to be read; mark them (docs/data.md)")
    labels = choose_labels(dataset, recipe.labels, recipe.val_fraction, seed)
    checksum = angles_checksum(labels.angles)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed, angles_checksum=checksum)
    require_size(dataset, recipe)
    if isinstance(recipe, JointNetRecipe) and pretrained is not None:
        fingerprint = _pretraining_digest(Context(run, out, show), recipe)
        if _holds(out / _PRETRAINING, fingerprint):
            pretrained = None  # it was taken over before
        else:
            _require_pretraining(pretrained, fingerprint)
            require_pretrained_in(pretrained, run.in_precision(out, precision).precision)
    run.require_same(out)
    cache = ImageCache(dataset, "train", recipe.shape.image_size, progress=show)
    images = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    # Only now: what the data lack must not leave a run behind.
    context = Context.begin(run, out, precision=precision, show=show)
    fresh = not_learnt_from(run, dataset)
    learnt_from, held = images.split(fresh)
    stages: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    more: dict[str, Any] = {}
    network = seeded(
        context.seed("angles", "weights"),
        lambda: angle_network(recipe.shape, views=len(run.cameras), joints=len(run.joints)),
    )
    if pretrained is not None:
        take_over(pretrained / _PRETRAINING, out / _PRETRAINING)
    if isinstance(recipe, JointNetRecipe):
        stages["pretraining"], seconds["pretraining"] = _pretrain(context, recipe, learnt_from, held, network)
        more["collapse"] = _signs(stages["pretraining"])
    if isinstance(network, AngleCNN):
        few = EpochShuffle(len(learnt_from), min(len(learnt_from), _ADAPTED_TO), context.seed("background"))
        network.encoder.adapt(torch.from_numpy(learnt_from.pixels(few(0))))
    summary, stage = _fit_angles(context, recipe, network, images, labels)
    stages["angles"], seconds["angles"] = summary["history"], summary["seconds"]
    fit_uncertainty(context, dataset, learnt_from, held, labels.held_angles(np.flatnonzero(fresh)))
    write_story(
        context,
        dataset,
        stages=stages,
        seconds=seconds,
        best_step=int(summary["history"]["steps"][stage.kept_record(summary["history"])]),
        planned_steps=stage.steps,
        labelled_poses=len(labels),
        labelled_poses_held_out=len(labels.held),
        labelled_images=len(labels) * len(run.cameras),
        **more,
    )
    return context.run


def _signs(curves: dict[str, list[float]]) -> dict[str, Any] | None:
    """How a pre-training ended: its last signs of collapse, and what is wrong with them, on standard error too.

    None where too few images were held out to tell.
    """
    if "rank" not in curves:
        return None
    signs = {name: curves[name][-1] for name in ("rank", "spread")}
    fault = collapse(**signs)
    if fault is not None:
        print(f"ropes: warning: pre-training collapsed: {fault}; lower --pretraining.learning-rate", file=sys.stderr)
    return {**signs, "fault": fault}


def _pretraining_digest(context: Context, recipe: JointNetRecipe) -> str:
    """Of all that pre-training depends on: neither labels nor JointNet are part of it."""
    content = recipe_to_dict(recipe)
    settings = {key: content[key] for key in ("vit", "pretraining", "momentum", "crop")}
    for of_jointnet in ("hidden", "rounds"):
        del settings["vit"][of_jointnet]
    return context.digest(_PRETRAINING, settings)


def _holds(folder: Path, fingerprint: str) -> bool:
    """Whether a folder holds this very pre-training, finished."""
    summary = folder / SUMMARY
    done = summary.exists() and (folder / WEIGHTS).exists()
    return done and read_json(summary).get("fingerprint") == fingerprint


def _require_pretraining(run: Path, fingerprint: str) -> None:
    """Check that the run in a folder has finished the very pre-training that is asked for.

    Raises:
        UserError: it has not.
    """
    folder = run / _PRETRAINING
    if not ((folder / SUMMARY).exists() and (folder / WEIGHTS).exists()):
        raise UserError(f"{run} holds no finished pre-training of method jointnet; leave --pretrained out")
    if not _holds(folder, fingerprint):
        raise UserError(
            f"{run} was pre-trained on other data, with another seed or other settings; leave --pretrained out"
        )


def _pretrain(
    context: Context, recipe: JointNetRecipe, kept: TrainingImages, held: TrainingImages, network: AngleTransformer
) -> tuple[dict[str, list[float]], float]:
    """Give `network` the encoder that I-JEPA leaves, the moving average; returns curves and seconds."""
    fingerprint = _pretraining_digest(context, recipe)
    views = len(context.run.cameras)
    steps = recipe.pretraining.steps(len(kept) * views)
    order = EpochShuffle(len(kept) * views, recipe.pretraining.batch, context.seed("pretraining", "order"))

    def of_one_camera(poses: TrainingImages, drawn: np.ndarray[Any, Any]) -> Tensor:
        pose, view = np.divmod(drawn, views)
        return torch.from_numpy(poses.pixels(pose)[np.arange(len(pose)), view][:, None])

    asked = EpochShuffle(len(held) * views, min(_ASKED_IMAGES, len(held) * views), context.seed("held out"))(0)
    jepa = seeded(context.seed("pretraining", "weights"), lambda: JEPA(recipe.vit))
    stage = PretrainingStage(
        jepa,
        recipe,
        steps=steps,
        seed=context.seed("pretraining"),
        held_out=of_one_camera(held, asked),
        camera=torch.from_numpy(asked % views),
    )
    summary = context.train(stage, lambda step: of_one_camera(kept, order(step)), _PRETRAINING, fingerprint, full=False)
    network.encoder.load_state_dict(jepa.average.state_dict())
    return summary["history"], summary["seconds"]


def _fit_angles(
    context: Context,
    recipe: LabelledRecipe,
    network: AngleCNN | AngleTransformer,
    images: TrainingImages,
    labels: Labelled,
) -> tuple[dict[str, Any], AngleStage]:
    """The summary of the training on labels, and what was trained."""
    kept, held = images.take(labels.kept), images.take(labels.held)
    every = torch.from_numpy(labels.angles[labels.kept]).float()
    network.radians.adapt(every)
    if isinstance(recipe, JointNetRecipe) and isinstance(network, AngleTransformer) and recipe.frozen:
        network.encoder.requires_grad_(False)
    order = EpochShuffle(len(kept), min(recipe.training.batch, len(kept)), context.seed("angles", "order"))

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        drawn = order(step)
        return torch.from_numpy(kept.pixels(drawn)), every[torch.from_numpy(drawn)]

    asked = EpochShuffle(len(held), min(len(held), _ASKED), context.seed("asked"))(0)
    stage = AngleStage(
        network,
        recipe.training,
        steps=recipe.training.steps(len(kept)),
        seed=context.seed("angles"),
        erased=recipe.random_erasing,
        held_out=(torch.from_numpy(held.pixels(asked)), torch.from_numpy(labels.angles[labels.held[asked]]).float()),
    )
    counted = [NETWORK] if isinstance(network, AngleCNN) else []
    fingerprint = context.digest("angles", recipe_to_dict(recipe), context.run.angles_checksum, *counted)
    return context.train(stage, batch_at, "angles", fingerprint, full=False), stage
