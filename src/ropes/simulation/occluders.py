"""Draws what stands between camera and arm, or moves behind the arm: dust, cables, passers-by."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from ropes.common.arrays import Floats

#: Edges are drawn at this multiple of the resolution, then averaged.
_SUPERSAMPLING = 4


@dataclass(frozen=True, kw_only=True)
class OccluderLevel:
    """How much there is.

    Attributes:
        dust: specks on the lens, of .5 to 3% of the height.
        cables: hanging in front of the arm.
        behind: share of the frames in which somebody passes behind the arm, below 1.
        in_front: share of the frames in which somebody passes in front of it, below 1.
        stay: mean number of frames that a passer-by is seen, at least 1.
    """

    dust: int = 0
    cables: int = 0
    behind: float = 0.0
    in_front: float = 0.0
    stay: float = 30.0


@dataclass(frozen=True)
class _Passage:
    """One passer-by: a body and a head with a texture, who crosses the image from one side to the other.

    Attributes:
        first: frame of entry.
        frames: how many frames it takes.
        height: of the person, share of the image's height.
        rightwards: the direction.
        foot: lower end, share of the image's height from the top.
        light: (3,) mean light of each channel.
        texture: seed of the pattern.
    """

    first: int
    frames: int
    height: float
    rightwards: bool
    foot: float
    light: Floats
    texture: int


class Occluders:
    """Dust, cables and passers-by of one camera over one recording.

    Args:
        level: how much of each.
        shape: (height, width) or (height, width, 3) of the images.
        frames: length of the recording.
        of_camera: draws dust and cables.
        of_recording: draws passers-by.
        after: those of the frames just before these; who passes then goes on.
    """

    def __init__(
        self,
        level: OccluderLevel,
        shape: tuple[int, ...],
        frames: int,
        of_camera: np.random.Generator,
        of_recording: np.random.Generator,
        after: "Occluders | None" = None,
    ) -> None:
        self._shape, self._frames = shape, frames
        size = (shape[0], shape[1])
        self._dust = _dust(level.dust, size, of_camera)
        self._cables = [_cable(size, of_camera) for _ in range(level.cables)]
        behind = None if after is None else after._left(after._behind)
        in_front = None if after is None else after._left(after._in_front)
        self._behind: list[_Passage] = _passages(level.behind, level.stay, frames, of_recording, behind)
        self._in_front: list[_Passage] = _passages(level.in_front, level.stay, frames, of_recording, in_front)

    def scene(self, light: Floats, frame: int, arm: NDArray[np.bool_] | None) -> Floats:
        """Light of the scene with whoever passes, and the cables.

        Args:
            light: of the scene, of the camera's shape, white at 1.
            frame: index in the recording.
            arm: where the arm is, bool (height, width); None leaves out who passes behind it.
        """
        if arm is not None:
            for passage in self._at(self._behind, frame):
                covered, shown = self._person(passage, frame)
                light = _over(light, covered * ~arm, shown)
        for passage in self._at(self._in_front, frame):
            light = _over(light, *self._person(passage, frame))
        for covered, level in self._cables:
            light = _over(light, covered, np.full(light.shape, level))
        return light

    def lens(self, light: Floats) -> Floats:
        """Light behind the dust on the lens."""
        if self._dust is None:
            return light
        return light * (self._dust if light.ndim == 2 else self._dust[..., None])

    def _left(self, passages: list[_Passage]) -> list[_Passage]:
        """Passages that are not over after the last frame; frames count from there."""
        moved = (replace(each, first=each.first - self._frames) for each in passages)
        return [each for each in moved if each.first + each.frames > 0]

    @staticmethod
    def _at(passages: list[_Passage], frame: int) -> list[_Passage]:
        return [each for each in passages if each.first <= frame < each.first + each.frames]

    def _person(self, passage: _Passage, frame: int) -> tuple[Floats, Floats]:
        """Where a passer-by is, in [0, 1] (height, width), and the light from there, of the camera's shape."""
        height, width = self._shape[:2]
        tall = passage.height * height
        wide = tall / 3
        done = (frame - passage.first + 0.5) / passage.frames
        along = -wide / 2 + (width + wide) * (done if passage.rightwards else 1 - done)
        top = passage.foot * height - tall
        covered = _drawn(
            (height, width),
            ellipses=[
                (along - wide / 2, top + 0.18 * tall, along + wide / 2, top + 1.1 * tall),
                (along - wide / 4, top, along + wide / 4, top + 0.22 * tall),
            ],
        )
        cells = np.random.default_rng(passage.texture).uniform(0.5, 1.5, (9, 5))
        pattern = ndimage.zoom(cells, (math.ceil(tall * 1.1) / 9, math.ceil(wide) / 5), order=1, grid_mode=False)
        shown = np.ones((height, width))
        _place(shown, pattern, round(top), round(along - wide / 2))
        if len(self._shape) == 2:
            return covered, shown * float(passage.light @ [0.299, 0.587, 0.114])
        return covered, shown[..., None] * passage.light


def _passages(
    share: float, stay: float, frames: int, rng: np.random.Generator, left: list[_Passage] | None = None
) -> list[_Passage]:
    """Passers-by such that at least one is seen in about `share` of the frames, if they come independently.

    `left` are those who came before the first frame; None draws them too.
    """
    found = list(left or ())
    if not share:
        return found
    earlier = round(stay) if left is None else 0
    for _ in range(rng.poisson(-math.log(1 - share) * (frames + earlier) / stay)):
        found.append(
            _Passage(
                first=int(rng.integers(-earlier, frames)),
                frames=1 + int(rng.poisson(stay - 1)),
                height=rng.uniform(0.5, 1.1),
                rightwards=bool(rng.integers(2)),
                foot=rng.uniform(0.85, 1.3),
                light=np.clip(rng.uniform(0.02, 0.7) * rng.uniform(0.6, 1.4, 3), 0, 1),
                texture=int(rng.integers(1 << 62)),
            )
        )
    return found


def _dust(count: int, size: tuple[int, int], rng: np.random.Generator) -> Floats | None:
    """Share of the light that passes dust on the lens, (height, width); None without dust."""
    if not count:
        return None
    height, width = size
    passing = np.ones(size)
    for _ in range(count):
        row, column = rng.uniform(0, height), rng.uniform(0, width)
        radius, opacity = height * rng.uniform(0.005, 0.03), rng.uniform(0.2, 0.6)
        speck = _drawn(size, ellipses=[(column - radius, row - radius, column + radius, row + radius)])
        passing *= 1 - opacity * ndimage.gaussian_filter(speck, radius / 2)
    return passing


def _cable(size: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, float]:
    """A cable that hangs between two points of the image's border: where it is, and its light."""
    height, width = size
    start, end = rng.uniform(0, 0.6, 2) * height
    sag = rng.uniform(0.1, 0.5) * height
    along = np.linspace(0, 1, 50)
    rows = start + (end - start) * along + sag * 4 * along * (1 - along)
    line = list(zip((along * width).tolist(), rows.tolist(), strict=True))
    return _drawn(size, line=line, thickness=height * rng.uniform(0.006, 0.015)), rng.uniform(0.0, 0.2)


def _drawn(
    size: tuple[int, int],
    *,
    ellipses: list[tuple[float, float, float, float]] | None = None,
    line: list[tuple[float, float]] | None = None,
    thickness: float = 1.0,
) -> Floats:
    """Coverage in [0, 1] of ellipses (left, top, right, bottom) or of a line, (height, width)."""
    height, width = size
    mask = Image.new("L", (width * _SUPERSAMPLING, height * _SUPERSAMPLING))
    draw = ImageDraw.Draw(mask)
    for box in ellipses or ():
        draw.ellipse([_SUPERSAMPLING * value for value in box], fill=255)
    if line:
        points = [(_SUPERSAMPLING * x, _SUPERSAMPLING * y) for x, y in line]
        draw.line(points, fill=255, width=max(1, round(_SUPERSAMPLING * thickness)), joint="curve")
    return np.asarray(mask.reduce(_SUPERSAMPLING), dtype=np.float64) / 255


def _place(canvas: Floats, pattern: Floats, top: int, left: int) -> None:
    """Write the part of a pattern that lies inside the canvas."""
    rows = slice(max(0, top), max(0, min(len(canvas), top + len(pattern))))
    columns = slice(max(0, left), max(0, min(canvas.shape[1], left + pattern.shape[1])))
    canvas[rows, columns] = pattern[
        rows.start - top : rows.start - top + rows.stop - rows.start,
        columns.start - left : columns.start - left + columns.stop - columns.start,
    ]


def _over(light: Floats, covered: Floats, shown: Floats) -> Floats:
    """`shown` over `light`, with coverage in [0, 1] (height, width)."""
    share = covered if light.ndim == 2 else covered[..., None]
    return light + share * (shown - light)
