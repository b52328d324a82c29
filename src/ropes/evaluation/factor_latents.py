"""Latents of a task's images, stored beside the evaluation, and pictures that a VAE decodes from them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ropes.common.arrays import Floats, Images, Rows
from ropes.common.files import atomic_path, write_arrays
from ropes.common.hardware import device_kind
from ropes.common.seeds import generator
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.views import planes
from ropes.errors import UserError
from ropes.evaluation.factor_tasks import PHOTOGRAPHS, FactorTask
from ropes.methods.reader import Reader
from ropes.methods.vae.reader import VAEReader
from ropes.metrics.disentanglement.information import mutual_information

LATENTS_FILE, PICTURES_FILE = "latents.safetensors", "pictures.npz"
_CHUNK = 256
#: Reconstructed images of each split; values of a latent in its traversal, in standard deviations; samples from the
#: prior.
SHOWN, _STEPS, _SAMPLES = 6, np.linspace(-2.0, 2.0, 7), 12
#: Largest number of latents that are traversed: those that vary most over images.
_TRAVERSED = 10
#: A latent with a smaller share of every factor's information encodes none of them.
_INFORMED = 0.05


class Latents(NamedTuple):
    """A run's outputs for a task's images.

    Attributes:
        of: split → latents (n, k) of the task's rows.
        label_free: "elbo" and "reconstruction", nats an image; empty unless the run is a VAE.
    """

    of: Mapping[str, Floats]
    label_free: Mapping[str, float]


def make_latents(
    reader: Reader, task: FactorTask, caches: Mapping[str, ImageCache], photographs: Images | None
) -> Latents:
    """Encode every image of a task; of a VAE also measure the ELBO on held-out images.

    Args:
        reader: inference wrapper of the run.
        task: names the images.
        caches: split → images.
        photographs: images of the split `PHOTOGRAPHS`, or None.
    """
    latents = {split: encode(reader, caches[split], rows) for split, rows in task.frames.items()}
    if photographs is not None:
        latents[PHOTOGRAPHS] = encode(reader, photographs, np.arange(len(photographs)))
    return Latents(latents, _elbo(reader, caches[task.held_out.split], task.held_out.rows))


def write_latents(path: Path, latents: Latents, factors: Mapping[str, Floats], origin: Mapping[str, str]) -> None:
    """Store latents and their factors, as arrays latents/SPLIT and factors/SPLIT, with their origin as metadata.

    The metadata are one entry, since safetensors writes several in random order.
    """
    arrays = {f"latents/{split}": np.ascontiguousarray(values) for split, values in latents.of.items()}
    arrays |= {f"factors/{split}": np.ascontiguousarray(values) for split, values in factors.items()}
    arrays |= {f"label_free/{name}": np.array([value]) for name, value in latents.label_free.items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata=_as_metadata(origin))


def _as_metadata(origin: Mapping[str, str]) -> dict[str, str]:
    return {"origin": json.dumps(dict(origin), sort_keys=True)}


def stored_latents(path: Path, factors: Mapping[str, Floats], origin: Mapping[str, str]) -> Latents | None:
    """The latents in a file; None if it is missing, or of another origin or other factors.

    Raises:
        UserError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as stream:
            if stream.metadata() not in (_as_metadata(origin), dict(origin)):  # the latter in earlier files
                return None
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise UserError(f"{path} is damaged ({error}); delete it and run the same command again") from error
    kinds: dict[str, dict[str, Floats]] = {"latents": {}, "factors": {}, "label_free": {}}
    for name, values in arrays.items():
        kind, _, rest = name.partition("/")
        kinds[kind][rest] = values
    same = kinds["factors"].keys() == factors.keys() and all(
        np.array_equal(values, factors[split]) for split, values in kinds["factors"].items()
    )
    if not same:
        return None
    return Latents(kinds["latents"], {name: float(value[0]) for name, value in kinds["label_free"].items()})


@torch.no_grad()
def encode(
    reader: Reader, images: Images | ImageCache, rows: NDArray[np.int64], views: Sequence[int] | slice = slice(None)
) -> Floats:
    """The latents of some images, (n, k).

    Args:
        reader: inference wrapper of the run.
        images: of the size that it reads.
        rows: positions of the images.
        views: the run's cameras among those of the images; all by default.
    """
    read = images.read if isinstance(images, ImageCache) else images.__getitem__
    latents, start = Rows[np.float64](len(rows)), 0
    for chunk in _chunks(rows):
        latents.put(start, reader.coordinates(on_device(planes(read(chunk)[:, views]))).double().cpu().numpy())
        start += len(chunk)
    return latents.all()


def _elbo(reader: Reader, images: ImageCache, rows: NDArray[np.int64]) -> dict[str, float]:
    """ELBO and reconstruction loss, nats an image, by one draw from each posterior; empty unless the run is a VAE.

    Deviation: the ELBO is estimated by one draw from each image's posterior.  Why: the paper does not say how it is
    measured.  Effect: not measured.
    """
    if not isinstance(reader, VAEReader):
        return {}
    sums = np.zeros(2)
    with torch.random.fork_rng():
        torch.manual_seed(int(generator(0, "elbo").integers(2**31)))
        for chunk in _chunks(rows):
            sums += len(chunk) * np.array(reader.elbo_terms(on_device(planes(images.read(chunk)))))
    reconstruction, divergence = (sums / len(rows)).tolist()
    return {"elbo": -(reconstruction + divergence), "reconstruction": reconstruction}


def on_device(images: Images) -> torch.Tensor:
    """Images as a tensor on the networks' device."""
    return torch.from_numpy(images).to(device_kind())


def _chunks(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.split(rows, range(_CHUNK, len(rows), _CHUNK))


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
