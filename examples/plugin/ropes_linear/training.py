"""Fits linear discriminants of small images, and computes coordinates with them."""

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from ropes.causal.scm import Regime
from ropes.common.hardware import Precision, RequestedPrecision
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.methods.context import Context
from ropes.methods.policies import require_both_policies
from ropes.methods.reader import Read, Reader
from ropes.methods.run import TRAINING_FILE, Run
from ropes.methods.training_summary import write_training_summary
from ropes.models.checkpoints import WEIGHTS, load_weights, save_weights
from ropes_linear import LinearRecipe

FILE = f"linear/{WEIGHTS}"


class Discriminants(nn.Module):
    """One linear function of the pixels for each joint."""

    mean: Tensor
    weight: Tensor

    def __init__(self, views: int, side: int, joints: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(views * side**2))
        self.register_buffer("weight", torch.zeros(joints, views * side**2))

    def forward(self, images: Tensor) -> Tensor:
        """uint8 (n, views, side, side) → (n, joints)."""
        return (_pixels(images) - self.mean) @ self.weight.T


class LinearReader(Reader):
    """Computes coordinates of images with a finished run."""

    precision: Precision = "32-true"

    def __init__(self, network: Discriminants, size: int) -> None:
        self.size: int = size
        self.network = network

    def coordinates(self, images: Tensor) -> Tensor:
        """uint8 (n, views, size, size) → (n, joints)."""
        return self.network(images.cpu())

    def read(self, images: Tensor) -> Read:
        """The coordinates; they are the features as well."""
        found = self.coordinates(images)
        return Read(found, found)


def fit(
    data: Path,
    out: Path,
    recipe: LinearRecipe,
    seed: int = 0,
    *,
    method: str = "linear",
    precision: RequestedPrecision = "auto",
    show: bool = True,
) -> Run:
    """Fit on the training split of the data set `data`; the folder `out` then contains the run."""
    dataset, began = open_dataset(data), time.monotonic()
    require_both_policies(dataset)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    context = Context.begin(run, out, precision=precision, show=show)
    if (out / TRAINING_FILE).exists():
        return context.run
    cache = ImageCache(dataset, "train", recipe.image_size, progress=show)
    kept, held = TrainingImages(cache, dataset.frames("train"), dataset.regimes).split_anchors(
        recipe.val_fraction, seed
    )
    network = Discriminants(len(run.cameras), recipe.image_size, len(run.joints))
    pixels = _pixels(torch.from_numpy(kept.pixels(np.arange(len(kept)))))
    network.mean.copy_(pixels.mean(0))
    accuracy = {}
    for column, joint in enumerate(run.joints):
        images, signs = _policies(kept, joint)
        centred = _pixels(images) - network.mean
        curvature = centred.T @ centred + recipe.ridge * len(centred) * torch.eye(centred.shape[1])
        network.weight[column] = torch.linalg.solve(curvature, centred.T @ signs)
        held_images, held_signs = _policies(held, joint)
        accuracy[joint] = float(((network(held_images)[:, column] > 0) == (held_signs > 0)).float().mean())
    save_weights(network, out / FILE)
    write_training_summary(context, dataset, stages={"linear": accuracy}, seconds={"linear": time.monotonic() - began})
    return context.run


def _policies(images: TrainingImages, joint: str) -> tuple[Tensor, Tensor]:
    """Images under both policies on a joint, and +1 or −1 for which."""
    first, second = (images.regimes.index(Regime(joint, policy)) for policy in (1, 2))
    rows = np.flatnonzero(np.isin(images.regime, (first, second)))
    signs = np.where(images.regime[rows] == first, 1.0, -1.0)
    return torch.from_numpy(images.pixels(rows)), torch.from_numpy(signs).float()


def _pixels(images: Tensor) -> Tensor:
    return images.flatten(1).float().div(255)


def reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> LinearReader:
    """The reader of a finished run."""
    network = Discriminants(len(run.cameras), run.recipe.shape.image_size, len(run.joints))
    load_weights(network, folder / FILE)
    return LinearReader(network, run.recipe.shape.image_size)


def weights(run: Run) -> list[str]:
    """The files that the reader loads."""
    return [FILE]
