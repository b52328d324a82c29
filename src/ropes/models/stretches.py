"""Gives each stretch of a recording its own background, where a background changed for good."""

import copy

import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.arrays import evenly
from ropes.models.coarse_registration import ZoomedRegistration
from ropes.models.lasting_changes import changes
from ropes.models.pushes import FEWEST_FRAMES
from ropes.models.registration import ROUNDS, Registration
from ropes.models.zoom import shrink

#: Share of the frames in which a pixel may be saturated and still tells backgrounds apart.
_SELDOM = 0.02
#: Frames that are registered at a time, if they are of the smaller size.
_CHUNK = 64


@torch.no_grad()
def backgrounds_of(registration: Registration, images: Tensor, parameters: Tensor) -> Tensor:
    """Which background each frame has in each view: 0, then 1 after the first lasting change, and so on.

    Args:
        registration: adapted to the frames.
        images: uint8 (n, P, N, N), in the order of recording.
        parameters: of the frames, see `Registration.estimate`.

    Returns:
        int (n, V).
    """
    grey, pixel, chunk = [], registration.pixel, max(1, _CHUNK // registration.pixel**2)
    for part, own in zip(images.split(chunk), parameters.split(chunk), strict=True):
        residuals = functional.avg_pool2d(registration.residuals(part.float().div_(255), own), pixel)
        grey.append(residuals.unflatten(1, (registration.views, -1)).mean(2).mul_(255).cpu())
    seldom = ((images == 0) | (images == 255)).float().mean(0) < _SELDOM
    usable = seldom[:, ::pixel, ::pixel].unflatten(0, (registration.views, -1)).all(1).cpu()
    seen = torch.cat(grey).mul_(usable).numpy()
    numbers = torch.zeros(seen.shape[:2], dtype=torch.int64)
    for view in range(registration.views):
        for first in changes(seen[:, view]):
            numbers[first:, view] += 1
    return numbers.to(images.device)


@torch.no_grad()
def follow(registration: Registration, images: Tensor, numbers: Tensor) -> list[Registration]:
    """A registration for each stretch of a recording in which no background changed for good.

    Each background is the median of its frames; all of a camera are in the same light and place.  A frame is compared
    with its own background.  What shows it is shown before the newest background: networks then learn from frames
    before one background, as without a change.  The newest one is also the only one that a frame recorded later can
    have, so a run stores the last of these registrations alone.  Noise and weights come from the differences of all
    frames from their own backgrounds.

    Args:
        registration: adapted to the frames.
        images: uint8 (n, P, N, N), in the order of recording.
        numbers: of their backgrounds, int (n, V), see `backgrounds_of`.
    """
    stretch = torch.unique_consecutive(numbers, dim=0, return_inverse=True)[1]
    parts = [copy.deepcopy(registration) for _ in range(int(stretch[-1]) + 1)]
    if isinstance(registration, ZoomedRegistration):
        for part, small in zip(
            parts, follow(registration.small, shrink(images, registration.zoom), numbers), strict=True
        ):
            part.small = small
            part.mean.copy_(small.mean)
            part.std.copy_(small.std)
        few = torch.cat([_every(torch.nonzero(stretch == k)[:, 0], registration.zoom) for k in range(len(parts))])
        _adapt(parts, images[few], numbers[few], stretch[few])
    else:
        for _ in range(ROUNDS):
            _adapt(parts, images, numbers, stretch)
        found = [part.frame_parameters(images[stretch == k]) for k, part in enumerate(parts)]
        for part in parts:
            part.mean.copy_(torch.cat(found).mean(0))
            part.std.copy_(torch.cat(found).std(0))
    for part in parts:
        part.shown = parts[-1].background
    return parts


def _every(rows: Tensor, step: int) -> Tensor:
    """Every so-manieth of these rows, but ten if there are as many."""
    return rows[evenly(len(rows), max(FEWEST_FRAMES, len(rows) // step))]


def _adapt(parts: list[Registration], images: Tensor, numbers: Tensor, stretch: Tensor) -> None:
    """Set backgrounds, noise and weights of the registrations of stretches from their frames.

    Args:
        parts: one of each stretch.
        images: uint8 (n, P, H, W).
        numbers: of their backgrounds, int (n, V).
        stretch: of each frame, int (n,).
    """
    registered = torch.cat([part.registered(images[stretch == k]) for k, part in enumerate(parts)])
    deviation, channels = torch.empty_like(registered[0]), parts[0].channels
    for view, number in enumerate(numbers.T):
        planes = slice(view * channels, (view + 1) * channels)
        seen, inside = registered[:, planes], parts[0].inside[planes]
        for k in number.unique():
            background = seen[number == k].median(dim=0).values * inside
            seen[number == k] -= background
            for own in stretch[number == k].unique():
                parts[int(own)].background[planes] = background
        deviation[planes] = seen.mul_(inside).abs_().median(dim=0).values
    for part in parts:
        part.set_steadiness(deviation)
        part.set_noise(deviation)
