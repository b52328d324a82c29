"""Latents of a task's images, stored beside the evaluation so that they are computed once."""

from collections.abc import Iterator, Mapping
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
from ropes.errors import UserError
from ropes.evaluation.factor_tasks import PHOTOGRAPHS, FactorTask
from ropes.methods.reader import Reader
from ropes.methods.vae_reader import VAEReader

LATENTS_FILE = "latents.safetensors"
Floats = NDArray[np.float64]
Images = NDArray[np.uint8]
_CHUNK = 256


class Latents(NamedTuple):
    """What a run makes of a task's images.

    Attributes:
        of: split → latents (n, k), of the rows that the task names.
        label_free: "elbo" and "reconstruction", nats an image; nothing of what is no VAE.
    """

    of: Mapping[str, Floats]
    label_free: Mapping[str, float]


def make_latents(
    reader: Reader, task: FactorTask, caches: Mapping[str, ImageCache], photographs: Images | None
) -> Latents:
    """Read every image of a task; and of a VAE measure the ELBO of those that no training saw.

    Args:
        reader: of the run.
        task: which images.
        caches: of the splits.
        photographs: of the split `PHOTOGRAPHS`, where the task has it.
    """
    found = {split: _read(reader, caches[split], rows) for split, rows in task.frames.items()}
    if photographs is not None:
        found[PHOTOGRAPHS] = _read(reader, photographs, np.arange(len(photographs)))
    return Latents(found, _elbo(reader, caches[task.judged.split], task.judged.rows))


def write_latents(path: Path, latents: Latents, factors: Mapping[str, Floats], about: Mapping[str, str]) -> None:
    """Keep latents with their factors, as arrays latents/SPLIT and factors/SPLIT, and what they are of."""
    arrays = {f"latents/{split}": np.ascontiguousarray(values) for split, values in latents.of.items()}
    arrays |= {f"factors/{split}": np.ascontiguousarray(values) for split, values in factors.items()}
    arrays |= {f"label_free/{name}": np.array([value]) for name, value in latents.label_free.items()}
    with atomic_path(path) as temporary:
        save_file(arrays, temporary, metadata=dict(about))


def kept_latents(path: Path, factors: Mapping[str, Floats], about: Mapping[str, str]) -> Latents | None:
    """The latents that are kept there; None where there are none, or only those of something else or other factors.

    Raises:
        UserError: the file is damaged.
    """
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as stream:
            if stream.metadata() != dict(about):
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
def _read(reader: Reader, images: Images | ImageCache, rows: NDArray[np.int64]) -> Floats:
    """What a reader makes of some images, (n, k)."""
    read = images.read if isinstance(images, ImageCache) else images.__getitem__
    found = [reader.coordinates(on_device(read(chunk))) for chunk in _chunks(rows)]
    return torch.cat(found).double().cpu().numpy()


def _elbo(reader: Reader, images: ImageCache, rows: NDArray[np.int64]) -> dict[str, float]:
    """ELBO and reconstruction loss, nats an image, by one draw of each posterior; nothing of what is no VAE."""
    if not isinstance(reader, VAEReader):
        return {}
    sums = np.zeros(2)
    with torch.random.fork_rng():
        torch.manual_seed(int(generator(0, "elbo").integers(2**31)))
        for chunk in _chunks(rows):
            sums += len(chunk) * np.array(reader.elbo_terms(on_device(images.read(chunk))))
    reconstruction, divergence = (sums / len(rows)).tolist()
    return {"elbo": -(reconstruction + divergence), "reconstruction": reconstruction}


def on_device(images: Images) -> torch.Tensor:
    """Images where networks are computed."""
    return torch.from_numpy(images).to(device_kind())


def _chunks(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    return (rows[first : first + _CHUNK] for first in range(0, len(rows), _CHUNK))
