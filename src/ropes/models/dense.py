"""Linear directions of codes, and an AE2 that works in them."""

from itertools import pairwise
from typing import Self

import torch
from torch import Tensor, nn

from ropes.models.autoencoder import Standardise
from ropes.models.shapes import CODE_SIDE

_HIDDEN = 256
#: Lower bound on the scale of a direction, relative to the greatest.
_LEAST = 0.01


class Directions(nn.Module):
    """Linear map of standardised codes y to coordinates of unit variance along a few directions, and back.

        y' = T (y − μ),    y ≈ μ + B y',    ∇_y' f = Bᵀ ∇_y f,    T B = 1

    If f depends on y only through these directions, Bᵀ ∇_y f contains its whole gradient.

    Attributes:
        centre: (D,), μ, with D = V·64 entries of a code of V views.
        toward: (k, D), T.
        back: (D, k), B.
    """

    centre: Tensor
    toward: Tensor
    back: Tensor

    def __init__(self, views: int, count: int) -> None:
        super().__init__()
        entries = views * CODE_SIDE**2
        self.views = views
        self.register_buffer("centre", torch.zeros(entries))
        self.register_buffer("toward", torch.zeros(count, entries))
        self.register_buffer("back", torch.zeros(entries, count))

    @classmethod
    def of(cls, codes: Tensor, count: int, scores: Tensor | None = None) -> Self:
        """Fit the principal directions of codes, or of score differences.

        These are the leading eigenvectors of the covariance of y, or of Σ_i E Δs_i Δs_iᵀ. Within their span the
        coordinates are uncorrelated over the codes. Each is divided by its standard deviation, but at least by a
        hundredth of the greatest, so that directions of little variance are not amplified.

        Args:
            codes: (n, V, 8, 8).
            count: number of directions.
            scores: (n, joints, V, 8, 8), for directions of score differences; None for those of codes.
        """
        directions, flat = cls(codes.shape[1], count), codes.flatten(1).double()
        centre = flat.mean(0)
        covariance = torch.cov(flat.T)
        moment = covariance
        if scores is not None:
            each = scores.flatten(2).flatten(0, 1).double()
            moment = each.T @ each / len(codes)
        span = torch.linalg.eigh(moment).eigenvectors[:, -count:]
        variance, rotation = torch.linalg.eigh(span.T @ covariance @ span)
        axes, deviation = span @ rotation, variance.clamp_min(_LEAST**2 * float(variance[-1])).sqrt()
        directions.centre.copy_(centre)
        directions.toward.copy_((axes / deviation).T)
        directions.back.copy_(axes * deviation)
        return directions

    def forward(self, codes: Tensor) -> Tensor:
        """Standardised codes (B, V, 8, 8) → (B, k)."""
        return (codes.flatten(1) - self.centre) @ self.toward.T

    def inverse(self, along: Tensor) -> Tensor:
        """(B, k) → codes (B, V, 8, 8) with these coordinates, equal to the mean in all other directions."""
        return (self.centre + along @ self.back.T).unflatten(1, (self.views, CODE_SIDE, CODE_SIDE))

    def gradients(self, scores: Tensor) -> Tensor:
        """Gradients with respect to codes, (..., V, 8, 8) → along the directions, (..., k)."""
        return scores.flatten(-3) @ self.back


class DenseAE2(nn.Module):
    """Autoencoder of dense layers from codes along a few directions to one coordinate per joint and back.

    Deviation: with `basis`, as in the compact preset, AE2 works in linear directions of the codes, scaled to unit
    variance, where Table 5 has convolutions on the codes.  Why: directions of small variance, along which the hand's
    joints move the codes, then count as much as those of large variance.  Effect: with two cameras joint 4's error
    falls from .164 to .040 rad², joint 3's from .171 to .107 (docs/log.md, whitened codes; also more steps).
    """

    def __init__(self, *, views: int, joints: int, directions: int, layers: int = 2) -> None:
        super().__init__()
        self.encoder, self.decoder = _dense(directions, joints, layers), _dense(joints, directions, layers)
        self.directions = Directions(views, directions)
        self.standardise = Standardise(views)

    def initialise(self, standardise: Standardise, directions: Directions) -> None:
        """Copy the scale of the codes, and the directions."""
        self.standardise.load_state_dict(standardise.state_dict())
        self.directions.load_state_dict(directions.state_dict())

    def encode(self, along: Tensor) -> Tensor:
        """(B, k) → coordinates (B, d)."""
        coordinates: Tensor = self.encoder(along)
        return coordinates

    def decode(self, coordinates: Tensor) -> Tensor:
        """Coordinates (B, d) → (B, k)."""
        along: Tensor = self.decoder(coordinates)
        return along

    def read(self, codes: Tensor) -> Tensor:
        """Codes of AE1, (B, V, 8, 8) → coordinates (B, d)."""
        return self.encode(self.directions(self.standardise(codes)))

    def rebuilt(self, codes: Tensor) -> Tensor:
        """Reconstruct codes of AE1, (B, V, 8, 8)."""
        return self.standardise.inverse(self.directions.inverse(self.decode(self.read(codes))))


def _dense(inputs: int, outputs: int, layers: int) -> nn.Sequential:
    """A number of hidden layers; smooth, because objectives differentiate the network."""
    sizes = [inputs, *[_HIDDEN] * layers]
    hidden = (part for pair in pairwise(sizes) for part in (nn.Linear(*pair), nn.SiLU()))
    return nn.Sequential(*hidden, nn.Linear(sizes[-1], outputs))
