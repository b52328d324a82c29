"""The VAEs of the disentanglement study: `beta-vae` on single images, `ada-gvae` on pairs that differ in one factor."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.image_size import require_colour
from ropes.methods.run import Run
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.story import write_story
from ropes.methods.vae_stage import VAEStage
from ropes.models.vae import VAE
from ropes.recipes import VAERecipe
from ropes.scm import Regime

#: Held-out images that a record asks.
_ASKED = 512


def fit(data: Path, out: Path, recipe: VAERecipe, seed: int = 0, *, method: str, show: bool = True) -> Run:
    """Fit a VAE on the images of the data set `data`, without a label; the run is left in the folder `out`.

    Interrupted or killed, the same call goes on and ends with the same weights.

    Args:
        data: the data set: colour images of one camera; for ada-gvae each training episode is a pair of them.
        out: folder of the run.
        recipe: of that method.
        seed: of weights, splits and batches.
        method: "beta-vae" or "ada-gvae".
        show: show progress.

    Raises:
        UserError: the data set has other images or no pairs, or the folder holds something else.
        KeyboardInterrupt: interrupted; everything so far is stored.
    """
    dataset = open_dataset(data)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    run.require_same(out)
    require_colour(dataset, recipe.vae.image_size)
    frames = dataset.frames("train")
    if len(dataset.cameras) != 1:
        raise UserError(f"{data} has {len(dataset.cameras)} cameras; method {method} reads images of one")
    pairs = method == "ada-gvae"
    if pairs and not _in_pairs(frames.anchor):
        raise UserError(f"{data} has no pairs of training images; beta-vae learns from single ones")
    if recipe.warm_up > (steps := recipe.training.steps(len(frames))):
        raise UserError(f"warm_up takes {recipe.warm_up} steps and the training {steps}; choose fewer")
    cache = ImageCache(dataset, "train", recipe.vae.image_size, progress=show)
    context = Context.begin(run, out, show=show)
    images = TrainingImages(cache, frames, [Regime()])
    kept, held = images.split_anchors(recipe.held_out, seed)
    each = 2 if pairs else 1
    order = EpochShuffle(len(kept) // each, recipe.training.batch // each, context.seed("order"))

    def batch_at(step: int) -> Tensor:
        rows = each * order(step)[:, None] + np.arange(each)
        return torch.from_numpy(kept.pixels(rows.reshape(-1))[:, 0])

    network = seeded(context.seed("weights"), lambda: VAE(recipe.vae))
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    stage = VAEStage(
        network,
        recipe,
        pairs=pairs,
        steps=steps,
        seed=context.seed("vae"),
        held_out=torch.from_numpy(held.pixels(np.arange(min(_ASKED, len(held))))[:, 0]),
    )
    fingerprint = context.digest("vae", method, asdict(recipe))
    summary = context.train(stage, batch_at, "vae", fingerprint, full=False)
    write_story(context, dataset, stages={"vae": summary["history"]}, seconds={"vae": summary["seconds"]})
    return run


def _in_pairs(anchor: np.ndarray) -> bool:
    """Whether every two frames one after the other, and no others, are of one episode."""
    return len(anchor) % 2 == 0 and bool((anchor[::2] == anchor[1::2]).all() and (np.diff(anchor[::2]) != 0).all())
