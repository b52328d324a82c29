"""Fits the VAEs of the disentanglement study: `beta-vae` on single images, `ada-gvae` on pairs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.batches import TrainingImages, first_anchors
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.recipes import VAERecipe, recipe_to_dict
from ropes.methods.run import Run
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.run_log import RunLog
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training_summary import write_training_summary
from ropes.methods.vae.stage import VAEStage
from ropes.models.vae import VAE

#: Held-out images that a record evaluates.
_EVALUATED = 512


def fit(
    data: Location,
    out: Path,
    recipe: VAERecipe,
    seed: int = 0,
    *,
    method: str,
    precision: RequestedPrecision = "auto",
    show: bool = True,
    log: RunLog | None = None,
) -> Run:
    """Fit a VAE on the training images, without labels; for the arguments see `ropes.methods.fit.fit`.

    Images are in colour of one camera, or in grey; for ada-gvae with pairs, see `pairs_of`.  A record evaluates at most
    512 held-out images, which depend on the seed; models are compared by the figures of `ropes.evaluation.factors`.

    Raises:
        UserError: the data set has other images or no pairs, or the folder holds something else.
    """
    dataset = open_dataset(data)
    colour = len(dataset.image_shape) > 2
    if colour and len(dataset.cameras) > 1:
        raise UserError(
            f"{data} has colour images of {len(dataset.cameras)} cameras; method {method} reads those of one"
        )
    shape = replace(recipe.vae, channels=3 if colour else len(dataset.cameras))
    recipe = replace(recipe, vae=shape)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    run.require_same(out)
    cache = ImageCache(dataset, "train", shape.image_size, progress=show)
    images = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    images = images.take(np.flatnonzero(first_anchors(images.anchor, recipe.anchors)))
    kept, held = images.split_anchors(recipe.val_fraction, seed)
    rows = pairs_of(kept) if method == "ada-gvae" else np.arange(len(kept))[:, None]
    if not len(rows):
        raise UserError(
            f"{data} has no pairs: two images of one anchor, the first without intervention; beta-vae learns from "
            "single ones"
        )
    if recipe.warm_up > (steps := recipe.training.steps(rows.size)):
        raise UserError(f"warm_up takes {recipe.warm_up} steps and the training {steps}; choose fewer")
    context = Context.begin(run, out, precision=precision, show=show, log=log)
    order = EpochShuffle(len(rows), recipe.training.batch // rows.shape[1], context.seed("order"))

    def batch_at(step: int) -> Tensor:
        return torch.from_numpy(kept.pixels(rows[order(step)].reshape(-1)))

    network = seeded(context.seed("weights"), lambda: VAE(shape))
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    stage = VAEStage(
        network,
        recipe,
        pairs=method == "ada-gvae",
        steps=steps,
        seed=context.seed("vae"),
        held_out=torch.from_numpy(held.pixels(np.arange(min(_EVALUATED, len(held))))),
    )
    fingerprint = context.digest("vae", method, recipe_to_dict(recipe))
    summary = context.train(stage, batch_at, "vae", fingerprint, full=False)
    write_training_summary(
        context,
        dataset,
        stages={"vae": summary["history"]},
        seconds={"vae": summary["seconds"]},
        anchors=len(np.unique(images.anchor)),
        poses=len(images),
    )
    return context.run


def pairs_of(images: TrainingImages) -> NDArray[np.int64]:
    """Rows of pairs of images, (pairs, 2): an anchor's first image without intervention, and each other image of it.

    Where no joint causes another, the images of a pair differ only in what the intervention changed; in finger-cube,
    where no regime of an image is given, in one factor.
    """
    observational = [number for number, regime in enumerate(images.regimes) if regime == Regime()]
    free = np.flatnonzero(np.isin(images.regime, observational))
    anchors, first = np.unique(images.anchor[free], return_index=True)
    index = np.searchsorted(anchors, images.anchor).clip(max=max(0, len(anchors) - 1))
    base = free[first][index] if len(anchors) else np.zeros(len(images), np.int64)
    rows = np.flatnonzero(np.isin(images.anchor, anchors) & (base != np.arange(len(images))))
    return np.stack([base[rows], rows], axis=1)
