"""Pictures of a VAE: reconstructions, latent traversals, samples from the prior."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.files import write_arrays
from ropes.common.hardware import device_kind
from ropes.common.seeds import generator
from ropes.evaluation.factor_latents import on_device
from ropes.methods.vae.reader import VAEReader

PICTURES_FILE = "pictures.npz"
#: Reconstructed images of each split; values of a latent in its traversal; samples from the prior.
SHOWN, _SWEEP, _SAMPLES = 6, np.linspace(-2.0, 2.0, 7), 12
#: Largest number of latents that are traversed, in the order of their variance over images.
_TRAVERSED = 10


def write_pictures(
    path: Path, reader: VAEReader, examples: Mapping[str, NDArray[np.uint8]], latents: NDArray[np.float64]
) -> None:
    """Write images of each test split with their reconstructions, traversals, and samples, uint8 (…, S, S[, 3]).

    Of several cameras only the first is shown.

    Args:
        path: the npz file.
        reader: inference wrapper of the run.
        examples: split → images (n, cameras, S, S[, 3]).
        latents: (n, k), of test images; traversals start from the first.
    """
    arrays: dict[str, Any] = {}
    colour = next(iter(examples.values())).ndim == 5
    for split, images in examples.items():
        made = reader.reconstructions(on_device(images))[0]
        arrays |= {f"{split}_images": images[:, 0], f"{split}_made": _as_bytes(made)}
    order = np.argsort(-latents.var(axis=0))[:_TRAVERSED]
    swept = np.repeat(latents[:1], len(order) * len(_SWEEP), axis=0)
    swept[np.arange(len(swept)), np.repeat(order, len(_SWEEP))] = np.tile(_SWEEP, len(order))
    decoded = _as_bytes(reader.decoded(torch.from_numpy(swept).float().to(device_kind()), colour=colour))
    arrays |= {"latents": order, "sweeps": decoded.reshape(len(order), len(_SWEEP), *decoded.shape[1:])}
    with torch.random.fork_rng():
        torch.manual_seed(int(generator(0, "prior").integers(2**31)))
        arrays["drawn"] = _as_bytes(reader.drawn(_SAMPLES, colour=colour))
    write_arrays(path, arrays)


def _as_bytes(images: torch.Tensor) -> NDArray[np.uint8]:
    """The first camera's images: levels in [0, 1], (n, cameras, S, S[, 3]) → uint8 (n, S, S[, 3])."""
    levels: NDArray[np.uint8] = (255 * images[:, 0]).round().byte().cpu().numpy()
    return levels
