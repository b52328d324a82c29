"""Pictures of a VAE: traversals of the latents, reconstructions, samples from the prior."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.files import write_arrays
from ropes.common.hardware import device_kind
from ropes.common.seeds import generator
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.evaluation.factor_latents import on_device
from ropes.evaluation.factor_tasks import PHOTOGRAPHS, FactorTask
from ropes.methods.vae.reader import VAEReader
from ropes.metrics.disentanglement.information import mutual_information

PICTURES_FILE = "pictures.npz"
#: Reconstructed images of each split; values of a latent in its traversal, in standard deviations; samples from the
#: prior.
SHOWN, _STEPS, _SAMPLES = 6, np.linspace(-2.0, 2.0, 7), 12
#: Largest number of latents that are traversed: those that vary most over images.
_TRAVERSED = 10
#: A latent with a smaller share of every factor's information encodes none of them.
_INFORMED = 0.05
Floats = NDArray[np.float64]
Images = NDArray[np.uint8]


class Encoded(NamedTuple):
    """A latent, the factor that it has most information about ("" for none), and its share of that information."""

    latent: int
    factor: str
    share: float


def encoded_factors(latents: Floats, factors: Floats, names: Sequence[str]) -> list[Encoded]:
    """The factor that each latent responds to most: argmax_j I(z_i; v_j) / H(v_j), both in bins.

    Args:
        latents: (n, k).
        factors: (n, f).
        names: names of the factors.

    Returns:
        The latents that vary most, ordered by factor and then by share, latents that encode no factor last.

    Raises:
        ValueError: as `mutual_information`.
    """
    information, entropy = mutual_information(latents, factors)
    shares = information / entropy
    varying = np.argsort(-latents.var(axis=0), kind="stable")[:_TRAVERSED]
    factor, share = shares.argmax(axis=1), shares.max(axis=1)
    place = np.where(share >= _INFORMED, factor, len(names))
    order = sorted(varying, key=lambda k: (place[k], -share[k]))
    return [Encoded(int(k), (*names, "")[place[k]], float(share[k])) for k in order]


def write_pictures(
    path: Path,
    reader: VAEReader,
    dataset: Dataset,
    task: FactorTask,
    latents: Mapping[str, Floats],
    photographs: Images | None,
) -> None:
    """Write traversals, images of each test split with their reconstructions, and samples, uint8 (…, S, S[, 3]).

    A traversal decodes the latents of the first test image, with one of them at −2 to 2 standard deviations from its
    mean over the training images.  Of several cameras only the first is shown.

    Args:
        path: the npz file.
        reader: inference wrapper of the run.
        dataset: the images.
        task: names splits and factors.
        latents: split → (n, k), of the task's images.
        photographs: images of the split `PHOTOGRAPHS`, or None.
    """
    examples = _examples(reader, dataset, task, photographs)
    colour = next(iter(examples.values())).ndim == 5
    rows = encoded_factors(latents["test-id"], task.factors["test-id"], task.names)
    order = np.array([row.latent for row in rows])
    swept = _swept(latents["test-id"][0], latents["train"], order)
    decoded = _as_bytes(reader.decoded(torch.from_numpy(swept).float().to(device_kind()), colour=colour))
    arrays: dict[str, Any] = {
        "latents": order,
        "encoded": np.array([row.factor for row in rows]),
        "information": np.array([row.share for row in rows]),
        "sweeps": decoded.reshape(len(order), len(_STEPS), *decoded.shape[1:]),
    }
    for split, images in examples.items():
        made = reader.reconstructions(on_device(images))[0]
        arrays |= {f"{split}_images": images[:, 0], f"{split}_made": _as_bytes(made)}
    with torch.random.fork_rng():
        torch.manual_seed(int(generator(0, "prior").integers(2**31)))
        arrays["drawn"] = _as_bytes(reader.drawn(_SAMPLES, colour=colour))
    write_arrays(path, arrays)


def _swept(start: Floats, trained: Floats, order: NDArray[np.int64]) -> Floats:
    """Latents (traversals × steps, k) that start at one code (k,), each with one latent moved over its range."""
    swept = np.repeat(start[None], len(order) * len(_STEPS), axis=0)
    moved = trained.mean(axis=0)[order, None] + trained.std(axis=0)[order, None] * _STEPS
    swept[np.arange(len(swept)), np.repeat(order, len(_STEPS))] = moved.ravel()
    return swept


def _examples(
    reader: VAEReader, dataset: Dataset, task: FactorTask, photographs: Images | None
) -> dict[str, NDArray[np.uint8]]:
    """Split → its first images, (n, cameras, S, S[, 3]), for every split that regressors are tested on."""
    examples = {}
    for split in dict.fromkeys(scenario.test.split for scenario in task.scenarios.values()):
        if split == PHOTOGRAPHS:
            continue
        cache = ImageCache(dataset, split, reader.size, progress=False)
        examples[split] = cache.read(np.arange(min(SHOWN, len(cache))))
    if photographs is not None:
        examples[PHOTOGRAPHS] = photographs[:SHOWN]
    return examples


def _as_bytes(images: torch.Tensor) -> Images:
    """The first camera's images: levels in [0, 1], (n, cameras, S, S[, 3]) → uint8 (n, S, S[, 3])."""
    levels: Images = (255 * images[:, 0]).round().byte().cpu().numpy()
    return levels
