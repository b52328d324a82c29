"""The uncertainty model of a run, evaluated on each image."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ropes.errors import UserError
from ropes.methods.reader import Reader
from ropes.methods.run import TRUST_FILE
from ropes.methods.uncertainty.ood import Novelty
from ropes.methods.uncertainty.variance import Spread
from ropes.models.checkpoints import load_tree, save_tree

FORMAT = 2
#: Side that pixels are averaged down to; what is smaller than one of them is left to the network's features.
COARSE = 16
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """What is known of images before any judgement.

    Attributes:
        coordinates: (n, d).
        features: (n, f), of the network.
        pixels: (n, V·s·s), grey levels averaged over squares, in [0, 1].
        foreign: float32 (n, V, s, s), nats that speak against "nothing foreign is in this part of this view",
            −log(1 − p); None of networks that do not tell.
    """

    coordinates: Array
    features: Array
    pixels: Array
    foreign: NDArray[np.float32] | None = None

    @property
    def describing(self) -> Array:
        """What a standard deviation is read from: features, coordinates and their squares, (n, f + 2 d).

        Of a network that tells what is foreign, 2 V more: how sure it is of each view, and of how many parts of it.
        """
        shown = [self.features, self.coordinates, self.coordinates**2]
        if self.foreign is not None:
            sure, parts = self.foreign.max((2, 3)), (1 - np.exp(-self.foreign)).sum((2, 3))
            shown += [np.log1p(sure), np.log1p(parts)]
        return np.concatenate(shown, axis=1)

    @property
    def surest(self) -> Array | None:
        """Nats that speak against "nothing foreign is here", of the part that says most, (n,)."""
        return None if self.foreign is None else self.foreign.max((1, 2, 3)).astype(np.float64)

    def take(self, rows: NDArray[np.int64]) -> "Seen":
        """Only these images."""
        foreign = None if self.foreign is None else self.foreign[rows]
        return Seen(self.coordinates[rows], self.features[rows], self.pixels[rows], foreign)

    @classmethod
    def join(cls, parts: "list[Seen]") -> "Seen":
        """All images of some parts, one after the other, which one network has seen."""
        known = [name for name in cls.__dataclass_fields__ if getattr(parts[0], name) is not None]
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in known})


@dataclass(frozen=True)
class Reading:
    """What was read off images, and how far to trust it.

    Attributes:
        coordinates: (n, d), as of `ropes.inference.estimator.Estimator.coordinates`.
        deviation: (n, d), their standard deviations before any scale; None where the run knows none.
        distance: (n,), to the images of the fit, above 1 for unusual ones; None for a run without that knowledge.
        foreign: bool (n, V, s, s), whether something foreign is in a part of a view; None where the run does not tell.
    """

    coordinates: Array
    deviation: Array | None
    distance: Array | None
    foreign: NDArray[np.bool_] | None = None

    def take(self, rows: NDArray[np.int64]) -> "Reading":
        """Only these images."""
        deviation, distance = (None if each is None else each[rows] for each in (self.deviation, self.distance))
        foreign = None if self.foreign is None else self.foreign[rows]
        return Reading(self.coordinates[rows], deviation, distance, foreign)


@torch.no_grad()
def see(reader: Reader, images: Tensor) -> Seen:
    """Have a network look at images, uint8 (n, V, size, size)."""
    read = reader.read(images)
    coordinates, features = (part.double().cpu().numpy() for part in (read.coordinates, read.features))
    foreign = None if read.foreign is None else functional.softplus(read.foreign).cpu().numpy()
    return Seen(coordinates, features, coarse(images), foreign)


def coarse(images: Tensor) -> Array:
    """Grey levels averaged over squares, in [0, 1]: uint8 (n, V, size, size) → (n, V·s·s)."""
    pooled = functional.adaptive_avg_pool2d(images.float().div(255), min(COARSE, images.shape[-1]))
    return np.asarray(pooled.flatten(1).double().cpu().numpy())


@dataclass(frozen=True)
class Trust:
    """Learnt from held-out anchors, without a label, or with theirs where the method reads labels.

    Attributes:
        novelty: distance to the images of the fit.
        spread: standard deviations of the coordinates; None where the data had no complete anchors.
        scores: (n, d), |error| / σ of the held-out anchors, by a σ learnt without them; each column sorted, after its
            last one NaN; None likewise.
    """

    novelty: Novelty
    spread: Spread | None
    scores: Array | None

    def deviation(self, seen: Seen) -> Array | None:
        """Standard deviation of each coordinate and image (n, d), in the units of the coordinate."""
        return None if self.spread is None else self.spread(seen.describing)

    def distance(self, seen: Seen) -> Array:
        """How unlike the images of the fit each image is, (n,); above 1 is unusual."""
        return self.novelty(seen.features, seen.pixels, seen.surest)

    def foreign(self, seen: Seen) -> NDArray[np.bool_] | None:
        """Where something foreign is, (n, V, s, s): in one usual image of a hundred at most it is anywhere."""
        return None if seen.foreign is None else seen.foreign > self.novelty.usual[-1] * self.novelty.bound


def write_trust(folder: Path, fingerprint: str, trust: Trust) -> None:
    """Store it with the run; `fingerprint` names all that it was learnt from."""
    tree = {
        "format": FORMAT,
        "fingerprint": fingerprint,
        "novelty": trust.novelty.to_tree(),
        "spread": trust.spread and trust.spread.to_tree(),
        "scores": None if trust.scores is None else torch.from_numpy(trust.scores).float(),
    }
    save_tree(folder / TRUST_FILE, tree)


def stored_fingerprint(folder: Path) -> str | None:
    """What the stored file was learnt from; None without one.

    Raises:
        UserError: it is damaged.
    """
    return str(_read(folder)["fingerprint"]) if (folder / TRUST_FILE).exists() else None


def read_trust(folder: Path) -> Trust | None:
    """What the run in `folder` knows; None for one that was fitted before there was this stage.

    Raises:
        UserError: the file is damaged or of another version.
    """
    if not (folder / TRUST_FILE).exists():
        return None
    tree, path = _read(folder), folder / TRUST_FILE
    try:
        scores = tree["scores"]
        return Trust(
            novelty=Novelty.from_tree(tree["novelty"]),
            spread=tree["spread"] and Spread.from_tree(tree["spread"]),
            scores=None if scores is None else scores.double().numpy(),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it and run the same ropes fit command again") from error


def _read(folder: Path) -> dict[str, Any]:
    tree = load_tree(folder / TRUST_FILE)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or "fingerprint" not in tree:
        raise UserError(
            f"{folder / TRUST_FILE} is not of format {FORMAT}, which this version of ropes reads; "
            "delete it and run the same ropes fit command again"
        )
    return tree
