"""Linear directions of codes, and an AE2 that works in them."""

from typing import Self

import torch
from torch import Tensor, nn

from ropes.models.autoencoder import Standardise
from ropes.models.shapes import CODE_SIDE

_HIDDEN = 256
#: Standard deviations along directions count as at least this share of the greatest.
_LEAST = 0.01


class Directions(nn.Module):
    """Standardised codes y as coordinates of unit variance along a few directions, and back.

        y' = T (y − μ),    y ≈ μ + B y',    ∇_y' f = Bᵀ ∇_y f,    T B = 1

    Where a function depends on y through these directions alone, Bᵀ ∇_y f says all of its gradient.

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
        """The directions in which codes vary most, or in which score differences do.

        The principal directions of E y yᵀ, centred, or of Σ_i E Δs_i Δs_iᵀ; within their span coordinates are those in
        which codes are uncorrelated, each divided by its standard deviation, but by no less than a hundredth of the
        greatest: what hardly varies is not blown up.

        Args:
            codes: (n, V, 8, 8).
            count: how many.
            scores: (n, joints, V, 8, 8).
        """
        found, flat = cls(codes.shape[1], count), codes.flatten(1).double()
        centre = flat.mean(0)
        covariance = torch.cov(flat.T)
        if scores is None:
            about = covariance
        else:
            each = scores.flatten(2).flatten(0, 1).double()
            about = each.T @ each / len(codes)
        span = torch.linalg.eigh(about).eigenvectors[:, -count:]
        variance, turned = torch.linalg.eigh(span.T @ covariance @ span)
        axes, deviation = span @ turned, variance.clamp_min(_LEAST**2 * float(variance[-1])).sqrt()
        found.centre.copy_(centre)
        found.toward.copy_((axes / deviation).T)
        found.back.copy_(axes * deviation)
        return found

    def forward(self, codes: Tensor) -> Tensor:
        """Standardised codes (B, V, 8, 8) → (B, k)."""
        return (codes.flatten(1) - self.centre) @ self.toward.T

    def inverse(self, along: Tensor) -> Tensor:
        """(B, k) → the codes (B, V, 8, 8) with these coordinates and, in all other directions, those of the mean."""
        return (self.centre + along @ self.back.T).unflatten(1, (self.views, CODE_SIDE, CODE_SIDE))

    def gradients(self, scores: Tensor) -> Tensor:
        """Gradients in the space of codes, (..., V, 8, 8) → along the directions, (..., k)."""
        return scores.flatten(-3) @ self.back


class DenseAE2(nn.Module):
    """Autoencoder from codes along a few directions to one coordinate a joint and back, of dense layers.

    Deviation: with `basis`, never in a preset, AE2 works in linear directions of the codes, scaled to unit variance,
    where Table 5 has convolutions on the codes.  Why: what moves the code little then counts as much in the
    reconstruction as what moves it much, and Eq. 1 can be asked in as many dimensions as there are joints.  Effect: see
    docs/eq3.md.
    """

    def __init__(self, *, views: int, joints: int, directions: int) -> None:
        super().__init__()
        self.encoder, self.decoder = _dense(directions, joints), _dense(joints, directions)
        self.directions = Directions(views, directions)
        self.standardise = Standardise(views)

    def initialise(self, standardise: Standardise, directions: Directions) -> None:
        """Adopt the scale of the codes, and the directions."""
        self.standardise.load_state_dict(standardise.state_dict())
        self.directions.load_state_dict(directions.state_dict())

    def encode(self, along: Tensor) -> Tensor:
        """(B, k) → coordinates (B, d)."""
        found: Tensor = self.encoder(along)
        return found

    def decode(self, coordinates: Tensor) -> Tensor:
        """Coordinates (B, d) → (B, k)."""
        found: Tensor = self.decoder(coordinates)
        return found

    def read(self, codes: Tensor) -> Tensor:
        """Codes as AE1 gives them, (B, V, 8, 8) → coordinates (B, d)."""
        return self.encode(self.directions(self.standardise(codes)))

    def rebuilt(self, codes: Tensor) -> Tensor:
        """Codes as AE1 gives them, (B, V, 8, 8) → what becomes of them."""
        return self.standardise.inverse(self.directions.inverse(self.decode(self.read(codes))))


def _dense(entering: int, leaving: int) -> nn.Sequential:
    """Two hidden layers; smooth, because objectives take derivatives of it."""
    return nn.Sequential(
        nn.Linear(entering, _HIDDEN), nn.SiLU(), nn.Linear(_HIDDEN, _HIDDEN), nn.SiLU(), nn.Linear(_HIDDEN, leaving)
    )
