"""Latents of a task's images, stored beside the evaluation so that they are computed once."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ropes.common.files import atomic_path
from ropes.common.hardware import device_kind
from ropes.common.seeds import generator
from ropes.data.cache import ImageCache
from ropes.data.views import planes
from ropes.errors import UserError
from ropes.evaluation.factor_tasks import PHOTOGRAPHS, FactorTask
from ropes.methods.reader import Reader
from ropes.methods.vae.reader import VAEReader

LATENTS_FILE = "latents.safetensors"
Floats = NDArray[np.float64]
Images = NDArray[np.uint8]
_CHUNK = 256


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
    latents = {split: _encode(reader, caches[split], rows) for split, rows in task.frames.items()}
    if photographs is not None:
        latents[PHOTOGRAPHS] = _encode(reader, photographs, np.arange(len(photographs)))
    return Latents(latents, _elbo(reader, caches[task.held_out.split], task.held_out.rows))


def write_latents(path: Path, latents: Latents, factors: Mapping[str, Floats], origin: Mapping[str, str]) -> None:
    """Store latents and their factors, as arrays latents/SPLIT and factors/SPLIT, with their origin as metadata."""
    arrays = {f"latents/{split}": np.ascontiguousarray(values) for split, values in latents.of.items()}
    arrays |= {f"factors/{split}": np.ascontiguousarray(values) for split, values in factors.items()}
    arrays |= {f"label_free/{name}": np.array([value]) for name, value in latents.label_free.items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata=dict(origin))


def stored_latents(path: Path, factors: Mapping[str, Floats], origin: Mapping[str, str]) -> Latents | None:
    """The latents in a file; None if it is missing, or of another origin or other factors.

    Raises:
        UserError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as stream:
            if stream.metadata() != dict(origin):
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
def _encode(reader: Reader, images: Images | ImageCache, rows: NDArray[np.int64]) -> Floats:
    """The latents of some images, (n, k)."""
    read = images.read if isinstance(images, ImageCache) else images.__getitem__
    parts = [reader.coordinates(on_device(planes(read(chunk)))) for chunk in _chunks(rows)]
    return torch.cat(parts).double().cpu().numpy()


def _elbo(reader: Reader, images: ImageCache, rows: NDArray[np.int64]) -> dict[str, float]:
    """ELBO and reconstruction loss, nats an image, by one draw from each posterior; empty unless the run is a VAE."""
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
