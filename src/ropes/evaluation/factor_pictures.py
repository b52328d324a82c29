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
from ropes.methods.vae_reader import VAEReader

PICTURES_FILE = "pictures.npz"
#: Images of each split that are shown with what the decoder makes of them; how a latent is swept; draws of the prior.
SHOWN, _SWEEP, _DRAWN = 6, np.linspace(-2.0, 2.0, 7), 12
#: Latents that are swept at most, those first that vary most over images.
_SWEPT = 10


def write_pictures(
    path: Path, reader: VAEReader, examples: Mapping[str, NDArray[np.uint8]], latents: NDArray[np.float64]
) -> None:
    """Write images of each test split with their reconstructions, sweeps, and draws, uint8 (…, S, S[, 3]).

    Of several cameras the first one's.

    Args:
        path: the npz file.
        reader: of the run.
        examples: split → images (n, cameras, S, S[, 3]).
        latents: (n, k), of test images: the first one is swept.
    """
    shown: dict[str, Any] = {}
    colour = next(iter(examples.values())).ndim == 5
    for split, found in examples.items():
        made = reader.reconstructions(on_device(found))[0]
        shown |= {f"{split}_images": found[:, 0], f"{split}_made": _as_bytes(made)}
    order = np.argsort(-latents.var(axis=0))[:_SWEPT]
    swept = np.repeat(latents[:1], len(order) * len(_SWEEP), axis=0)
    swept[np.arange(len(swept)), np.repeat(order, len(_SWEEP))] = np.tile(_SWEEP, len(order))
    drawn = _as_bytes(reader.decoded(torch.from_numpy(swept).float().to(device_kind()), colour=colour))
    shown |= {"latents": order, "sweeps": drawn.reshape(len(order), len(_SWEEP), *drawn.shape[1:])}
    with torch.random.fork_rng():
        torch.manual_seed(int(generator(0, "prior").integers(2**31)))
        shown["drawn"] = _as_bytes(reader.drawn(_DRAWN, colour=colour))
    write_arrays(path, shown)


def _as_bytes(made: torch.Tensor) -> NDArray[np.uint8]:
    """Levels in [0, 1] of the first camera, (n, cameras, S, S[, 3]) → uint8 (n, S, S[, 3])."""
    levels: NDArray[np.uint8] = (255 * made[:, 0]).round().byte().cpu().numpy()
    return levels
