"""Fits the VAEs of the disentanglement study: `beta-vae` on single images, `ada-gvae` on pairs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.causal.scm import Regime
from ropes.common.hardware import AskedPrecision
from ropes.data.batches import TrainingImages, first_anchors
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.recipes import VAERecipe, recipe_to_dict
from ropes.methods.run import Run
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.training_summary import write_story
from ropes.methods.vae_stage import VAEStage
from ropes.models.vae import VAE

#: Held-out images that a record asks.
_ASKED = 512


def fit(
    data: Path,
    out: Path,
    recipe: VAERecipe,
    seed: int = 0,
    *,
    method: str,
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit a VAE on the images of the data set `data`, without a label; the run is left in the folder `out`.

    Interrupted or killed, the same call goes on and ends with the same weights.

    A record's ELBO and reconstruction are of at most 512 held-out images, another draw for each seed; those by which
    models are compared are `ropes.evaluation.factors`'s.

    Args:
        data: the data set: colour images of one camera, or grey ones; for ada-gvae with pairs, see `pairs_of`.
        out: folder of the run.
        recipe: of that method.
        seed: of weights, splits and batches.
        method: "beta-vae" or "ada-gvae".
        precision: see `ropes.methods.fit.fit`.
        show: show progress.

    Raises:
        UserError: the data set has other images or no pairs, or the folder holds something else.
        KeyboardInterrupt: interrupted; everything so far is stored.
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
    every = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    images = every.take(np.flatnonzero(first_anchors(every.anchor, recipe.anchors)))
    kept, held = images.split_anchors(recipe.val_fraction, seed)
    rows = pairs_of(kept) if method == "ada-gvae" else np.arange(len(kept))[:, None]
    if not len(rows):
        raise UserError(
            f"{data} has no pairs: two images of one anchor, the first without intervention; beta-vae learns from "
            "single ones"
        )
    if recipe.warm_up > (steps := recipe.training.steps(rows.size)):
        raise UserError(f"warm_up takes {recipe.warm_up} steps and the training {steps}; choose fewer")
    context = Context.begin(run, out, precision=precision, show=show)
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
        held_out=torch.from_numpy(held.pixels(np.arange(min(_ASKED, len(held))))),
    )
    fingerprint = context.digest("vae", method, recipe_to_dict(recipe))
    summary = context.train(stage, batch_at, "vae", fingerprint, full=False)
    write_story(
        context,
        dataset,
        stages={"vae": summary["history"]},
        seconds={"vae": summary["seconds"]},
        anchors=len(np.unique(images.anchor)),
        poses=len(images),
    )
    return context.run


def pairs_of(images: TrainingImages) -> NDArray[np.int64]:
    """Rows of two images of the same anchor, (pairs, 2): its first one without intervention, and every other one.

    Where no joint causes another they differ in what that intervention changed alone; in finger-cube, where no image
    has an intervention that is known, in one factor.
    """
    known_free = [number for number, regime in enumerate(images.regimes) if regime == Regime()]
    free = np.flatnonzero(np.isin(images.regime, known_free))
    anchors, first = np.unique(images.anchor[free], return_index=True)
    place = np.searchsorted(anchors, images.anchor).clip(max=max(0, len(anchors) - 1))
    known = np.isin(images.anchor, anchors)
    base = free[first][place] if len(anchors) else np.zeros(len(images), np.int64)
    rows = np.flatnonzero(known & (base != np.arange(len(images))))
    return np.stack([base[rows], rows], axis=1)
