"""Turns clean renderings into the images of a real camera: lens, exposure, noise, compression, dust, passers-by.

The stages follow the path of light: what stands before the lens, the lens, the sensor, the image file.  Lengths are
shares of the image's height, so a level means the same at every resolution.
"""

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from scipy.signal import lfilter

from ropes.common.seeds import generator
from ropes.errors import UserError, one_of
from ropes.simulation.occluders import OccluderLevel, Occluders

Images = NDArray[np.uint8]
Floats = NDArray[np.float64]
LevelName = Literal["clean", "webcam", "harsh"]

#: Exponent between stored levels and light, as in sRGB's usual approximation.
GAMMA = 2.2
#: Steps of the table from light to levels; fine enough for 8 bits at the dark end.
_STEPS = 1 << 16
_TO_LIGHT = np.array([(level / 255) ** GAMMA for level in range(256)])
_TO_LEVEL = np.array([round(255 * (step / (_STEPS - 1)) ** (1 / GAMMA)) for step in range(_STEPS)], dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class CameraLevel:
    """The strength of each effect.

    Attributes:
        distortion: standard deviation of the radial coefficient k1, with radii in half heights.
        vignetting: light that is lost at a corner, share.
        exposure_drift: standard deviation of the slow drift of exposure, stops.
        exposure_jump: standard deviation of a jump of exposure, stops.
        jumps: probability of such a jump in a frame.
        white_balance: standard deviation of the slow drift of the red and blue gains, natural log; colour only.
        drift_frames: time constant of both drifts, frames.
        defocus: standard deviation of the Gaussian blur, share of the height.
        motion: mean length of the motion blur, share of the height.
        vibration: standard deviation of the shift of a frame along each axis, share of the height.
        creep: shift of the mount over the whole recording, standard deviation along each axis, share of the height.
        turn: rotation of the mount over the whole recording, standard deviation, degrees.
        shot_noise: variance of the photon noise for one unit of light (white is 1).
        read_noise: standard deviation of the sensor's noise in the dark, units of light.
        jpeg_quality: 1 to 95; None stores the image without loss.
        occluders: dust, cables and passers-by.
    """

    distortion: float = 0.0
    vignetting: float = 0.0
    exposure_drift: float = 0.0
    exposure_jump: float = 0.0
    jumps: float = 0.0
    white_balance: float = 0.0
    drift_frames: float = 500.0
    defocus: float = 0.0
    motion: float = 0.0
    vibration: float = 0.0
    creep: float = 0.0
    turn: float = 0.0
    shot_noise: float = 0.0
    read_noise: float = 0.0
    jpeg_quality: int | None = None
    occluders: OccluderLevel = field(default_factory=OccluderLevel)


#: A webcam on a desk, and a poor camera in a busy workshop.
LEVELS: Mapping[str, CameraLevel] = {
    "clean": CameraLevel(),
    "webcam": CameraLevel(
        distortion=0.03,
        vignetting=0.1,
        exposure_drift=0.15,
        exposure_jump=0.2,
        jumps=1 / 2000,
        white_balance=0.03,
        defocus=0.003,
        motion=0.002,
        vibration=0.0023,
        creep=0.004,
        turn=0.15,
        shot_noise=5e-4,
        read_noise=4e-3,
        jpeg_quality=80,
        occluders=OccluderLevel(dust=2, behind=0.25),
    ),
    "harsh": CameraLevel(
        distortion=0.08,
        vignetting=0.25,
        exposure_drift=0.3,
        exposure_jump=0.4,
        jumps=1 / 300,
        white_balance=0.08,
        drift_frames=200.0,
        defocus=0.008,
        motion=0.008,
        vibration=0.006,
        creep=0.015,
        turn=0.5,
        shot_noise=2e-3,
        read_noise=1.2e-2,
        jpeg_quality=50,
        occluders=OccluderLevel(dust=5, cables=2, behind=0.35, in_front=0.1),
    ),
}


def require_level(name: str) -> CameraLevel:
    """The level of that name.

    Raises:
        UserError: there is none.
    """
    return LEVELS[one_of(get_args(LevelName), name, "camera level")]


class CameraModel:
    """One camera over one recording: draws its faults once, then degrades frame after frame.

    A frame's result depends on the seed, the names, the number of frames and its index alone, so frames may be
    degraded in any order and in any process.

    Args:
        level: name of one of `LEVELS`, or a level of one's own.
        shape: (height, width) in pixels, or (height, width, 3) for RGB images.
        frames: length of the recording.
        seed: of everything that is drawn.
        names: of the camera and the recording; each pair of names has faults of its own.

    Raises:
        UserError: no such level, an image of another shape, or no frame.
    """

    def __init__(
        self, level: str | CameraLevel, shape: tuple[int, ...], frames: int, *, seed: int, names: tuple[str, ...] = ()
    ) -> None:
        self.level = require_level(level) if isinstance(level, str) else level
        if len(shape) != 2 and shape[2:] != (3,):
            raise UserError(f"images of shape {shape} are neither grey (height, width) nor RGB (height, width, 3)")
        if frames < 1:
            raise UserError(f"a recording of {frames} frames; it must have at least 1")
        self.shape, self.frames, self._seed, self._names = shape, frames, seed, names
        height, width = shape[:2]
        k1 = self.level.distortion * self._generator("lens").normal()
        self._occluders = Occluders(self.level.occluders, shape, frames, rng=self._generator("occluders"))
        self._gain = self._gains(self._generator("light"))
        self._shift, self._angle = self._poses(self._generator("mount"))
        rows, columns = np.mgrid[:height, :width] - np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]
        self._centred = np.stack([rows, columns])
        radius = (rows**2 + columns**2) / (height / 2) ** 2
        self._bend = 1 + k1 * radius
        falloff = 1 - self.level.vignetting * radius / max(float(radius.max()), 1e-12)
        self._falloff = falloff if len(shape) == 2 else falloff[..., None]

    def __call__(self, image: Images, frame: int, arm: NDArray[np.bool_] | None = None) -> Images:
        """Degrade one frame.

        Args:
            image: uint8 of the model's shape.
            frame: its index in the recording.
            arm: bool (height, width), true where the arm is; passers-by behind it need this, and are left out without.

        Returns:
            uint8 of the same shape.

        Raises:
            UserError: an image of another shape or type, or a frame outside the recording.
        """
        if image.shape != self.shape or image.dtype != np.uint8:
            raise UserError(f"an image of {image.dtype} {image.shape}; this camera takes uint8 {self.shape}")
        if not 0 <= frame < self.frames:
            raise UserError(f"frame {frame} of a recording of {self.frames} frames")
        if self.level == LEVELS["clean"]:
            return image.copy()
        rng = self._generator("noise", frame)
        light = self._occluders.scene(_TO_LIGHT[image], frame, arm)
        light = self._lens(light, frame, rng)
        light = self._occluders.lens(light)
        light = light * (self._gain[frame] if image.ndim == 3 else self._gain[frame, 1]) * self._falloff
        return self._file(self._sensor(light, rng))

    def _generator(self, *names: str | int) -> np.random.Generator:
        return generator(self._seed, "camera model", *self._names, *names)

    def _gains(self, rng: np.random.Generator) -> Floats:
        """Gain of red, green and blue in each frame, (frames, 3)."""
        level = self.level
        stops = level.exposure_drift * _drift(self.frames, level.drift_frames, rng)
        jumps = rng.normal(0, level.exposure_jump, self.frames) * (rng.random(self.frames) < level.jumps)
        # The automatic exposure takes some twenty frames to come back after a jump.
        stops += ndimage.convolve1d(jumps, np.exp(-np.arange(-100, 101).clip(0) / 20) * (np.arange(-100, 101) >= 0))
        red, blue = (level.white_balance * _drift(self.frames, level.drift_frames, rng) for _ in range(2))
        return np.exp(np.stack([red, np.zeros(self.frames), blue], axis=1) + math.log(2) * stops[:, None])

    def _poses(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Shift (frames, 2) in pixels and rotation (frames,) in radians of each frame."""
        height, progress = self.shape[0], np.linspace(0, 1, self.frames)
        shift = self.level.vibration * rng.normal(size=(self.frames, 2))
        shift += self.level.creep * rng.normal(size=2) * progress[:, None]
        return height * shift, math.radians(self.level.turn) * rng.normal() * progress

    def _lens(self, light: Floats, frame: int, rng: np.random.Generator) -> Floats:
        """Distortion, shift and rotation in one interpolation; then defocus and motion blur."""
        level, height = self.level, self.shape[0]
        if level.distortion or level.vibration or level.creep or level.turn:
            sin, cos = math.sin(self._angle[frame]), math.cos(self._angle[frame])
            rows, columns = self._centred * self._bend
            middle = (np.array(self.shape[:2]) - 1) / 2 + self._shift[frame]
            places = np.stack([cos * rows - sin * columns + middle[0], sin * rows + cos * columns + middle[1]])
            light = _each(light, lambda channel: ndimage.map_coordinates(channel, places, order=1, mode="nearest"))
        if level.defocus:
            light = _each(light, lambda channel: ndimage.gaussian_filter(channel, level.defocus * height, truncate=3))
        if level.motion:
            kernel = _streak(height * level.motion * rng.exponential(), math.pi * rng.random())
            if kernel.size > 1:
                light = _each(light, lambda channel: ndimage.convolve(channel, kernel, mode="nearest"))
        return light

    def _sensor(self, light: Floats, rng: np.random.Generator) -> Images:
        """Photon and read noise; saturation; 8 bits."""
        variance = self.level.shot_noise * light + self.level.read_noise**2
        if self.level.shot_noise or self.level.read_noise:
            light = light + np.sqrt(variance) * rng.standard_normal(light.shape)
        return _TO_LEVEL[np.rint(np.clip(light, 0, 1) * (_STEPS - 1)).astype(np.int64)]

    def _file(self, image: Images) -> Images:
        """Through JPEG and back."""
        if self.level.jpeg_quality is None:
            return image
        with io.BytesIO() as stream:
            Image.fromarray(image).save(stream, "JPEG", quality=self.level.jpeg_quality)
            return np.array(Image.open(stream))


def degrade(
    images: Images,
    level: str | CameraLevel = "webcam",
    *,
    seed: int = 0,
    names: tuple[str, ...] = (),
    arms: NDArray[np.bool_] | None = None,
) -> Images:
    """Lay a camera's faults over a recording.

    Args:
        images: uint8 (n, height, width) or (n, height, width, 3), in the order of the recording.
        level: name of one of `LEVELS`, or a level of one's own.
        seed: of everything that is drawn.
        names: of the camera; cameras of different names have different faults.
        arms: bool (n, height, width), true where the arm is; needed for passers-by behind it.

    Returns:
        A degraded copy.

    Raises:
        UserError: no such level, or no images of such a shape.
    """
    if images.ndim not in (3, 4):
        raise UserError(f"images of shape {images.shape}: give (n, height, width) or (n, height, width, 3)")
    camera = CameraModel(level, images.shape[1:], len(images), seed=seed, names=names)
    masks = [None] * len(images) if arms is None else arms
    return np.stack([camera(image, k, mask) for k, (image, mask) in enumerate(zip(images, masks, strict=True))])


def _each(light: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """`change` of each channel."""
    if light.ndim == 2:
        return change(light)
    return np.stack([change(channel) for channel in np.moveaxis(light, -1, 0)], axis=-1)


def _drift(frames: int, time_constant: float, rng: np.random.Generator) -> Floats:
    """A stationary Ornstein-Uhlenbeck process of variance 1, sampled once a frame: (frames,)."""
    kept = math.exp(-1 / time_constant)
    values = rng.normal(size=frames)
    values[1:] *= math.sqrt(1 - kept**2)
    return lfilter([1.0], [1.0, -kept], values)


def _streak(length: float, angle: float) -> Floats:
    """Kernel of a motion blur of `length` pixels along `angle` radians, by points on the line."""
    reach = math.ceil(length / 2)
    kernel = np.zeros((2 * reach + 1,) * 2)
    for step in np.linspace(-length / 2, length / 2, 4 * reach + 1):
        row, column = reach + step * math.sin(angle), reach + step * math.cos(angle)
        top, left = math.floor(row), math.floor(column)
        for y, x in np.ndindex(2, 2):
            weight = abs(1 - y - (row - top)) * abs(1 - x - (column - left))
            if weight:
                kernel[top + y, left + x] += weight
    return kernel / kernel.sum()
