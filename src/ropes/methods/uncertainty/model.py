"""The uncertainty model of a run: standard deviation, out-of-distribution score and foreign objects for each image."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ropes.common.arrays import AnyFloats, Floats, Rows
from ropes.errors import UserError
from ropes.methods.reader import Reader
from ropes.methods.run import UNCERTAINTY_FILE
from ropes.methods.uncertainty.drift import Drift
from ropes.methods.uncertainty.ood import OODScore
from ropes.methods.uncertainty.variance import VarianceModel
from ropes.models.checkpoints import load_tree, save_tree

FORMAT = 2
#: Side of the downsampled images.
_SIDE = 16


@dataclass(frozen=True)
class ImageFeatures:
    """Network outputs and downsampled pixels of n images: the input of the uncertainty model.

    Attributes:
        coordinates: (n, d).
        features: float32 (n, f), of the network.
        pixels: float32 (n, P·s·s), downsampled levels of all planes in [0, 1].
        foreign: float32 (n, V, s, s), −log(1 − p) in nats, where p is the predicted probability of a foreign object in
            this part of this view; None for networks without a detector.
    """

    coordinates: Floats
    features: AnyFloats
    pixels: AnyFloats
    foreign: NDArray[np.float32] | None = None

    @property
    def variance_inputs(self) -> Floats:
        """Inputs of the variance model: features, coordinates and squared coordinates, (n, f + 2 d).

        A network with a detector adds 2 V columns: its greatest evidence in each view, and the expected number of
        foreign parts.
        """
        columns: list[AnyFloats] = [self.features, self.coordinates, self.coordinates**2]
        if self.foreign is not None:
            greatest, parts = self.foreign.max((2, 3)), (1 - np.exp(-self.foreign)).sum((2, 3))
            columns += [np.log1p(greatest), np.log1p(parts)]
        return np.concatenate(columns, axis=1, dtype=np.float64)

    @property
    def max_foreign(self) -> Floats | None:
        """Greatest evidence of a foreign object in any part of any view, nats, (n,)."""
        return None if self.foreign is None else self.foreign.max((1, 2, 3)).astype(np.float64)

    def take(self, rows: NDArray[np.int64]) -> "ImageFeatures":
        """The images in `rows`."""
        foreign = None if self.foreign is None else self.foreign[rows]
        return ImageFeatures(self.coordinates[rows], self.features[rows], self.pixels[rows], foreign)

    @classmethod
    def join(cls, parts: "Iterable[ImageFeatures]", count: int) -> "ImageFeatures":
        """Concatenate the features of `count` images that one network computed in several batches."""
        whole, start = {name: Rows[Any](count) for name in cls.__dataclass_fields__}, 0
        for part in parts:
            for name, rows in whole.items():
                if (values := getattr(part, name)) is not None:
                    rows.put(start, values)
            start += len(part.coordinates)
        return cls(**{name: rows.values for name, rows in whole.items() if rows.values is not None})


@dataclass(frozen=True)
class Reading:
    """Predicted coordinates of n images with their uncertainty.

    Attributes:
        coordinates: (n, d), see `ropes.inference.estimator.Estimator.coordinates`.
        deviation: (n, d), standard deviations before any scale; None for a run without a variance model.
        distance: (n,), out-of-distribution score, above 1 for out-of-distribution images; None for a run without
            uncertainty model.
        foreign: bool (n, V, s, s), parts of a view with a foreign object, detected by the student or removed by the
            cleaner of a recording's passers-by; None for a run without either.
        drift: None if not requested, and for a run on renderings, which have no usual range.
    """

    coordinates: Floats
    deviation: Floats | None
    distance: Floats | None
    foreign: NDArray[np.bool_] | None = None
    drift: Drift | None = None

    def take(self, rows: NDArray[np.int64]) -> "Reading":
        """The images in `rows`."""
        deviation, distance = (None if each is None else each[rows] for each in (self.deviation, self.distance))
        foreign = None if self.foreign is None else self.foreign[rows]
        drift = None if self.drift is None else self.drift.take(rows)
        return Reading(self.coordinates[rows], deviation, distance, foreign, drift)


@torch.no_grad()
def extract_features(reader: Reader, images: Tensor) -> ImageFeatures:
    """Features of images, uint8 (n, P, size, size)."""
    read = reader.read(images)
    coordinates, features = read.coordinates.double().cpu().numpy(), read.features.float().cpu().numpy()
    foreign = None if read.foreign is None else functional.softplus(read.foreign).cpu().numpy()
    return ImageFeatures(coordinates, features, downsample(images), foreign)


def downsample(images: Tensor) -> NDArray[np.float32]:
    """`pooled_levels` as an array."""
    return np.asarray(pooled_levels(images).cpu().numpy())


def pooled_levels(images: Tensor) -> Tensor:
    """Levels of all planes averaged over squares, in [0, 1]: uint8 (n, P, size, size) → float32 (n, P·s·s)."""
    pooled = functional.adaptive_avg_pool2d(images.float().div(255), min(_SIDE, images.shape[-1]))
    return pooled.flatten(1)


@dataclass(frozen=True)
class UncertaintyModel:
    """Uncertainty fitted on held-out anchors; on their labels where the method learns from labels.

    Attributes:
        ood: out-of-distribution score.
        variance: standard deviations of the coordinates; None where the data had no complete anchors.
        scores: (n, d), nonconformity scores |error| / σ of the held-out anchors, each by a σ fitted without it; each
            column is sorted, with NaN at its end; None where `variance` is.
    """

    ood: OODScore
    variance: VarianceModel | None
    scores: Floats | None

    def deviation(self, images: ImageFeatures) -> Floats | None:
        """Standard deviation of each coordinate and image (n, d), in the units of the coordinate."""
        return None if self.variance is None else self.variance(images.variance_inputs)

    def distance(self, images: ImageFeatures) -> Floats:
        """Out-of-distribution score of each image, (n,); above 1 for out-of-distribution images."""
        return self.ood(images.features, images.pixels, images.max_foreign)

    def foreign(self, images: ImageFeatures) -> NDArray[np.bool_] | None:
        """Parts with a foreign object, (n, V, s, s); at most one in-distribution image in a hundred has any."""
        return None if images.foreign is None else images.foreign > self.ood.usual[-1] * self.ood.bound


def write_uncertainty(folder: Path, fingerprint: str, model: UncertaintyModel) -> None:
    """Store the model with the run; `fingerprint` identifies all its inputs."""
    tree = {
        "format": FORMAT,
        "fingerprint": fingerprint,
        "novelty": model.ood.to_tree(),
        "spread": model.variance and model.variance.to_tree(),
        "scores": None if model.scores is None else torch.from_numpy(model.scores).float(),
    }
    save_tree(folder / UNCERTAINTY_FILE, tree)


def stored_fingerprint(folder: Path) -> str | None:
    """Fingerprint of the stored model; None without one.

    Raises:
        UserError: the file is damaged.
    """
    return str(_read(folder)["fingerprint"]) if (folder / UNCERTAINTY_FILE).exists() else None


def read_uncertainty(folder: Path) -> UncertaintyModel | None:
    """The stored model of the run in `folder`; None for a run fitted before this stage existed.

    Raises:
        UserError: the file is damaged or of another version.
    """
    if not (folder / UNCERTAINTY_FILE).exists():
        return None
    tree, path = _read(folder), folder / UNCERTAINTY_FILE
    try:
        scores = tree["scores"]
        return UncertaintyModel(
            ood=OODScore.from_tree(tree["novelty"]),
            variance=tree["spread"] and VarianceModel.from_tree(tree["spread"]),
            scores=None if scores is None else scores.double().numpy(),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it and run the same ropes fit command again") from error


def _read(folder: Path) -> dict[str, Any]:
    tree = load_tree(folder / UNCERTAINTY_FILE)
    if not isinstance(tree, dict) or tree.get("format") != FORMAT or "fingerprint" not in tree:
        raise UserError(
            f"{folder / UNCERTAINTY_FILE} is not of format {FORMAT}, which this version of ropes reads; "
            "delete it and run the same ropes fit command again"
        )
    return tree
