"""Turns clean renderings into the images of a real camera: lens, exposure, noise, compression, dust, passers-by.

The stages follow the path of light: what stands before the lens, the lens, the sensor, the image file.  Lengths are
shares of the image's height. Noise and JPEG are of single pixels, so that an image of more pixels looks cleaner once it
is shrunk.
"""

import io
import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from scipy.signal import lfilter

from ropes.common.arrays import Floats, Images
from ropes.common.seeds import generator
from ropes.errors import UserError
from ropes.simulation.camera_levels import LEVELS, CameraLevel, require_level
from ropes.simulation.mount import Creep
from ropes.simulation.occluders import Occluders

#: Exponent between stored levels and light, as in sRGB's usual approximation.
GAMMA = 2.2
#: Steps of the table from light to levels; each of the 256 levels has one.
_STEPS = 1 << 18
_TO_LIGHT = np.array([(level / 255) ** GAMMA for level in range(256)])
_TO_LEVEL = np.array([round(255 * (step / (_STEPS - 1)) ** (1 / GAMMA)) for step in range(_STEPS)], dtype=np.uint8)


class CameraModel:
    """One camera over one recording: draws its faults once, then degrades frame after frame.

    A camera keeps its lens, its dust and its cables in all recordings; everything else differs between recordings.  A
    frame depends on the seed, the two names, the number of frames and its index alone, so frames may be degraded in
    any order and in any process.

    Args:
        level: name of one of `LEVELS`, or a level of one's own.
        shape: (height, width) in pixels, or (height, width, 3) for RGB images.
        frames: length of the recording.
        seed: of everything that is drawn.
        camera: its name.
        recording: its name.
        after: the model of the frames just before these, of the same camera.  Exposure, white balance, mount and
            passers-by continue from its last frame.
        creep: of the mount, for these frames; drawn if None.

    Attributes:
        level: the level of the faults.
        shape: as given.
        frames: as given.
        gain: factor on the light of red, green and blue in each frame, (frames, 3), read-only; 1 without faults.  Grey
            images take that of green.
        shift: shift of the view down and to the right in each frame, pixels, (frames, 2), read-only; what the image
            shows moves the other way.
        angle: rotation of the view in each frame, radians, (frames,), read-only.

    Raises:
        UserError: no such level, an image of another shape, or no frame.
    """

    _occluders: Occluders
    _light: Floats
    _creep: Creep

    def __init__(
        self,
        level: str | CameraLevel,
        shape: tuple[int, ...],
        frames: int,
        *,
        seed: int,
        camera: str = "",
        recording: str = "",
        after: "CameraModel | None" = None,
        creep: Creep | None = None,
    ) -> None:
        self.level = level if isinstance(level, CameraLevel) else require_level(level)
        if (len(shape) != 2 and shape[2:] != (3,)) or 0 in shape:
            raise UserError(f"images of shape {shape} are neither grey (height, width) nor RGB (height, width, 3)")
        if frames < 1:
            raise UserError(f"a recording of {frames} frames; it must have at least 1")
        self.shape, self.frames = shape, frames
        self._of_camera = partial(generator, seed, "camera model", camera)
        self._of_recording = partial(generator, seed, "camera model", camera, recording)
        height, width = shape[:2]
        rngs = self._of_camera("occluders"), self._of_recording("passers-by")
        before = (None,) * 3 if after is None else (after._occluders, after._light, after._creep.end)
        self._occluders = Occluders(self.level.occluders, shape, frames, *rngs, before[0])
        self.gain, self._light = self._gains(self._of_recording("light"), before[1])
        rng = self._of_recording("mount")
        vibration = self.level.vibration * rng.normal(size=(frames, 2))
        self._creep = Creep.draw(self.level, frames, rng, before[2]) if creep is None else creep
        crept = self._creep.at_frames()
        self.shift, self.angle = height * (vibration + crept[:, :2]), crept[:, 2]
        for drawn in (self.gain, self.shift, self.angle):
            drawn.flags.writeable = False
        rows, columns = np.mgrid[:height, :width] - np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]
        self._centred = np.stack([rows, columns])
        radius = (rows**2 + columns**2) / (height / 2) ** 2
        # r (1 + k1 r²) must increase up to the corners: otherwise the image is mirrored there.
        k1 = max(self.level.distortion * self._of_camera("lens").normal(), -1 / (3 * max(float(radius.max()), 1e-12)))
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
        rng = self._of_recording("noise", frame)
        light = self._occluders.scene(_TO_LIGHT[image], frame, arm)
        light = self._lens(light, frame, rng)
        light = self._occluders.lens(light)
        light = light * (self.gain[frame] if image.ndim == 3 else self.gain[frame, 1]) * self._falloff
        return self._file(self._sensor(light, rng))

    def _gains(self, rng: np.random.Generator, before: Floats | None) -> tuple[Floats, Floats]:
        """Gain of red, green and blue in each frame, (frames, 3), and what continues after the last one, (4,).

        The latter are the drift of the exposure, its jumps, and the drifts of red and blue; `before` are those before
        the first frame.
        """
        level, start = self.level, [None] * 4 if before is None else before.tolist()
        drift = _drift(self.frames, level.drift_frames, rng, start[0])
        jumps = rng.normal(0, level.exposure_jump, self.frames) * (rng.random(self.frames) < level.jumps)
        # The automatic exposure takes some twenty frames to come back after a jump.
        jumps = _decaying(jumps, math.exp(-1 / 20), start[1] or 0.0)
        red, blue = (_drift(self.frames, level.drift_frames, rng, each) for each in start[2:])
        stops = level.exposure_drift * drift
        stops += jumps
        tints = np.stack([level.white_balance * red, np.zeros(self.frames), level.white_balance * blue], axis=1)
        return np.exp(tints + math.log(2) * stops[:, None]), np.array([each[-1] for each in (drift, jumps, red, blue)])

    def _lens(self, light: Floats, frame: int, rng: np.random.Generator) -> Floats:
        """Distortion, shift and rotation in one interpolation; then defocus and motion blur.

        The interpolation is linear, which blurs by about .4 pixels (standard deviation) too.
        """
        level, height = self.level, self.shape[0]
        if level.distortion or level.vibration or level.creep or level.turn:
            sin, cos = math.sin(self.angle[frame]), math.cos(self.angle[frame])
            rows, columns = self._centred * self._bend
            middle = (np.array(self.shape[:2]) - 1) / 2 + self.shift[frame]
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


def creep_of(level: str | CameraLevel, frames: int, *, seed: int, camera: str = "", recording: str = "") -> Creep:
    """The creep of the mount of the `CameraModel` with these arguments; nothing else of the model is drawn.

    Raises:
        UserError: no such level.
    """
    level = level if isinstance(level, CameraLevel) else require_level(level)
    rng = generator(seed, "camera model", camera, recording, "mount")
    rng.normal(size=(frames, 2))  # the vibration comes first in the stream
    return Creep.draw(level, frames, rng)


def degrade(
    images: Images,
    level: str | CameraLevel = "webcam",
    *,
    seed: int = 0,
    camera: str = "",
    recording: str = "",
    arms: NDArray[np.bool_] | None = None,
) -> Images:
    """Lay a camera's faults over a recording.

    Args:
        images: uint8 (n, height, width) or (n, height, width, 3), in the order of the recording.
        level: name of one of `LEVELS`, or a level of one's own.
        seed: of everything that is drawn.
        camera: its name; a camera keeps its lens, dust and cables.
        recording: its name; light, mount, passers-by and noise differ between recordings.
        arms: bool (n, height, width), true where the arm is.  Without it nobody passes behind the arm, so "webcam" has
            no passers-by.

    Returns:
        A degraded copy.

    Raises:
        UserError: no such level, no images of such a shape, or masks of another shape or type.
    """
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise UserError(f"images of shape {images.shape}: give (n, height, width) or (n, height, width, 3)")
    if images.ndim == 3 and images.shape[-1] == 3:
        raise UserError(f"images of shape {images.shape} look like one RGB image; give (n, height, width, 3)")
    arms = None if arms is None else np.asarray(arms)
    if arms is not None and (arms.dtype != bool or arms.shape != images.shape[:3]):
        raise UserError(f"arms of shape {arms.shape} and type {arms.dtype}: give bool {images.shape[:3]}")
    model = CameraModel(level, images.shape[1:], len(images), seed=seed, camera=camera, recording=recording)
    masks = [None] * len(images) if arms is None else arms
    return np.stack([model(image, k, mask) for k, (image, mask) in enumerate(zip(images, masks, strict=True))])


def _each(light: Floats, change: Callable[[Floats], Floats]) -> Floats:
    """`change` of each channel."""
    if light.ndim == 2:
        return change(light)
    return np.stack([change(channel) for channel in np.moveaxis(light, -1, 0)], axis=-1)


def _drift(frames: int, time_constant: float, rng: np.random.Generator, before: float | None = None) -> Floats:
    """A stationary Ornstein-Uhlenbeck process of variance 1, sampled once a frame: (frames,).

    `before` is its value before the first frame; None draws the first value.
    """
    kept = math.exp(-1 / time_constant)
    values = rng.normal(size=frames)
    values[0 if before is not None else 1 :] *= math.sqrt(1 - kept**2)
    return _decaying(values, kept, before or 0.0)


def _decaying(changes: Floats, kept: float, before: float) -> Floats:
    """A value of which `kept` remains in each frame, and which then changes, (frames,); `before` is that before."""
    values: Floats = lfilter([1.0], [1.0, -kept], changes, zi=[kept * before])[0]
    return values


def _streak(length: float, angle: float) -> Floats:
    """Kernel of a motion blur of `length` pixels along `angle` radians, by points on the line.

    Each point is spread linearly over four pixels, so that a short streak is longer than `length`.
    """
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
