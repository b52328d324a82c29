"""The estimator as one network: images in, joint angles and their uncertainty out.  It holds all that a file needs."""

import copy

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator
from torch import Tensor, nn
from torch.nn import functional

from ropes.common.arrays import Floats
from ropes.errors import UserError
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.conformal import Intervals
from ropes.methods.uncertainty.model import UncertaintyModel, pooled_levels
from ropes.methods.uncertainty.ood import OODScore
from ropes.methods.uncertainty.variance import VarianceModel
from ropes.models.alignment import eliminate
from ropes.models.registration import Registration


class ExportedEstimator(nn.Module):
    """`Estimator` as a network without a branch that depends on data, in float32.

    Args:
        estimator: of a run, with networks in float32.
        elementary: solve linear equations by elementary operators, as ONNX has no other.

    Attributes:
        outputs: names of the outputs, in their order: "angles" (radians) or "coordinates" (raw), both (n, d); where the
            run has them "std", "low" and "high" (n, d), in the same unit, "distance" (n,) and
            "out_of_distribution", bool (n,).
        shapes: of each camera's images without the batch: (side, side), or (side, side, 3) in colour.
    """

    def __init__(self, estimator: Estimator, *, elementary: bool = False) -> None:
        super().__init__()
        reader, registration = estimator.networks
        self._reader = copy.deepcopy(reader)
        self.networks = nn.ModuleList(self._reader.networks())
        if not self.networks:
            raise UserError(
                f"this run cannot be exported: the reader of method {estimator.run.method} does not name its networks"
            )
        self.registration: Registration | None = None
        if registration is not None:
            self.registration = registration.fixed(eliminate if elementary else torch.linalg.solve)
        for module in self.modules():
            _fix_spread(module)
        self.requires_grad_(False).eval()
        run = estimator.run
        self.shapes = ((reader.size, reader.size, 3)[: 3 if run.channels == 3 else 2],) * len(run.cameras)
        self.calibration = None if estimator.calibration is None else _Map(estimator.calibration)
        self.intervals = None if estimator.intervals is None else _Intervals(estimator.intervals)
        trust = estimator.trust
        self.uncertainty = None if trust is None else _Uncertainty(trust)
        self.outputs = (
            "coordinates" if estimator.calibration is None else "angles",
            *(() if estimator.intervals is None else ("std", "low", "high")),
            *(() if trust is None else ("distance", "out_of_distribution")),
        )

    def forward(self, *images: Tensor) -> tuple[Tensor, ...]:
        """Letterboxed images of each camera, uint8 (n, s, s) or (n, s, s, 3) → the outputs of `outputs`."""
        colour = images[0].ndim == 4
        planes = torch.cat([camera.permute(0, 3, 1, 2) if colour else camera[:, None] for camera in images], dim=1)
        if self.registration is not None:
            planes = self.registration(planes)
        read = self._reader.read(planes)
        coordinates = read.coordinates.float()
        outputs = [self._shown(coordinates)]
        deviation = distance = None
        if self.uncertainty is not None:
            foreign = None if read.foreign is None else functional.softplus(read.foreign)
            deviation, distance = self.uncertainty(coordinates, read.features.float(), pooled_levels(planes), foreign)
        if self.intervals is not None:
            half = self.intervals.half_width(coordinates, deviation)
            ends = torch.stack([self._shown(coordinates - half), self._shown(coordinates + half)])
            low, high = ends.amin(0), ends.amax(0)
            outputs += [self.intervals.ratio * (high - low) / 2, low, high]
        if distance is not None:
            outputs += [distance, distance > 1]
        return tuple(outputs)

    def _shown(self, coordinates: Tensor) -> Tensor:
        """Coordinates (n, d) in the unit of the output."""
        return coordinates if self.calibration is None else self.calibration(coordinates)


def _fix_spread(module: nn.Module) -> None:
    """Replace the buffer `spread` by its value: a number in the file, not an input."""
    if (spread := module._buffers.pop("spread", None)) is not None:
        vars(module)["spread"] = float(spread)


class _Map(nn.Module):
    """`Calibration.angles`."""

    slope: Tensor
    intercept: Tensor
    knots: Tensor
    powers: Tensor
    beyond: Tensor

    def __init__(self, calibration: Calibration) -> None:
        super().__init__()
        self.bent = calibration.knots is not None
        _keep(self, slope=calibration.slope, intercept=calibration.intercept)
        if calibration.knots is not None:
            knots = calibration.knots
            powers = np.stack([PchipInterpolator(*pair).c.T for pair in knots])  # (d, k - 1, 4), the cubic first
            ends = np.diff(knots[:, 1])[:, [0, -1]] / np.diff(knots[:, 0])[:, [0, -1]]
            _keep(self, knots=knots[:, 0], powers=powers, beyond=ends)

    def forward(self, coordinates: Tensor) -> Tensor:
        """(n, d) → radians (n, d)."""
        line = coordinates * self.slope + self.intercept
        if not self.bent:
            return line
        first, last = self.knots[:, 0], self.knots[:, -1]
        inside = line.clamp(first, last)
        piece = (inside[..., None] >= self.knots[:, 1:-1]).sum(-1)
        joint = torch.arange(len(first), device=line.device)
        step = inside - self.knots[joint, piece]
        cubic, square, linear, constant = self.powers[joint, piece].unbind(-1)
        bent = ((cubic * step + square) * step + linear) * step + constant
        return bent + (line - inside) * torch.where(line < first, self.beyond[:, 0], self.beyond[:, 1])


class _Intervals(nn.Module):
    """`Intervals.around`."""

    quantile: Tensor
    ratio: Tensor

    def __init__(self, intervals: Intervals) -> None:
        super().__init__()
        self.by_image = intervals.by_image
        _keep(self, quantile=intervals.quantile, ratio=intervals.ratio)

    def half_width(self, coordinates: Tensor, deviation: Tensor | None) -> Tensor:
        """Half an interval in units of the coordinate, (n, d)."""
        if not self.by_image:
            return self.quantile.expand_as(coordinates)
        assert deviation is not None  # Estimator.intervals checks it
        return self.quantile * deviation


class _Uncertainty(nn.Module):
    """`UncertaintyModel`: standard deviations (n, d), None without a variance model, and the distance (n,)."""

    def __init__(self, model: UncertaintyModel) -> None:
        super().__init__()
        self.variance = None if model.variance is None else _Variance(model.variance)
        self.ood = _Distance(model.ood)

    def forward(
        self, coordinates: Tensor, features: Tensor, pixels: Tensor, foreign: Tensor | None
    ) -> tuple[Tensor | None, Tensor]:
        """As the methods of `UncertaintyModel`, of the fields of `ImageFeatures`."""
        columns, greatest = [features, coordinates, coordinates**2], None
        if foreign is not None:
            greatest = foreign.amax((2, 3))
            columns += [greatest.log1p(), (1 - (-foreign).exp()).sum((2, 3)).log1p()]
            greatest = greatest.amax(1)
        deviation = None if self.variance is None else self.variance(torch.cat(columns, dim=1))
        return deviation, self.ood(features, pixels, greatest)


class _Variance(nn.Module):
    """`VarianceModel`."""

    centre: Tensor
    scale: Tensor
    weights: Tensor
    level: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, model: VarianceModel) -> None:
        super().__init__()
        _keep(self, **{name: getattr(model, name) for name in VarianceModel.__dataclass_fields__})

    def forward(self, features: Tensor) -> Tensor:
        """Features (n, f) → standard deviations (n, d)."""
        log_variance = self.level + (features - self.centre) / self.scale @ self.weights
        return (log_variance.clamp(self.lowest, self.highest) / 2).exp()


class _Distance(nn.Module):
    """`OODScore`."""

    centre: Tensor
    root: Tensor
    low: Tensor
    high: Tensor
    usual: Tensor

    def __init__(self, score: OODScore) -> None:
        super().__init__()
        _keep(
            self,
            centre=score.centre,
            root=score.root,
            low=score.low,
            high=score.high,
            usual=np.asarray(score.usual) * score.bound,
        )

    def forward(self, features: Tensor, pixels: Tensor, foreign: Tensor | None) -> Tensor:
        """Score of each image, (n,)."""
        offset = (features - self.centre) @ self.root
        outside = torch.maximum(self.low - pixels, pixels - self.high).clamp(min=0)
        third = [] if foreign is None else [foreign]
        parts = torch.stack([offset.square().sum(1), outside.square().sum(1), *third], dim=1)
        return (parts / self.usual).amax(1)


def _keep(module: nn.Module, **arrays: Floats) -> None:
    """Store arrays as float32 buffers."""
    for name, array in arrays.items():
        module.register_buffer(name, torch.from_numpy(np.asarray(array, dtype=np.float32).copy()))
