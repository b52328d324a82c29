"""Levels of the faults of real cameras: how strong each one is."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from numbers import Integral
from typing import Literal, get_args

from ropes.errors import UserError, one_of
from ropes.simulation.occluders import OccluderLevel

LevelName = Literal["clean", "webcam", "harsh"]


@dataclass(frozen=True, kw_only=True)
class CameraLevel:
    """The strength of each effect.

    Attributes:
        distortion: standard deviation of the radial coefficient k1, with radii in half heights; limited where the
            corners would be mirrored.
        vignetting: light that is lost at a corner, share.
        exposure_drift: standard deviation of the slow drift of exposure, stops.
        exposure_jump: standard deviation of a jump of exposure, stops.
        jumps: probability of such a jump in a frame.
        white_balance: standard deviation of the slow drift of the red and blue gains, natural log; colour only.
        drift_frames: time constant of both drifts, frames.
        defocus: standard deviation of the Gaussian blur, share of the height.  A kernel of few pixels is narrower: .38
            pixels give .25.
        motion: mean length of the motion blur, share of the height.  A streak of about a pixel becomes longer on the
            grid: means of .26 and 1.02 pixels give .94 and 1.9, as lengths of lines of equal variance.
        vibration: standard deviation of the shift of a frame along each axis, share of the height.
        creep: shift of the mount over the whole recording, standard deviation along each axis, share of the height.
        turn: rotation of the mount over the whole recording, standard deviation, degrees.
        shot_noise: variance of the photon noise for one unit of light (white is 1).
        read_noise: standard deviation of the sensor's noise in the dark, units of light.
        jpeg_quality: 1 to 95; None stores the image without loss.
        occluders: dust, cables and passers-by.

    Raises:
        UserError: a strength is negative or not finite, a share, a stay or a JPEG quality is out of its range, or a
            number of things or the JPEG quality is not whole.
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

    def __post_init__(self) -> None:
        strengths = {each.name: getattr(self, each.name) for each in fields(self)}
        quality, strengths = strengths.pop("jpeg_quality"), strengths | asdict(strengths.pop("occluders"))
        for name, value in strengths.items():
            if not 0 <= value < math.inf:
                raise UserError(f"{name} of a camera's level is {value}; it must be at least 0")
        for name in ("vignetting", "jumps"):
            if (share := strengths[name]) > 1:
                raise UserError(f"{name} of a camera's level is {share}; it is a share, at most 1")
        for name in ("behind", "in_front"):
            if (share := strengths[name]) >= 1:
                raise UserError(f"{name} of a camera's level is {share}; it is a share, below 1")
        for name in ("dust", "cables"):
            if not isinstance(count := strengths[name], Integral):
                raise UserError(f"{name} of a camera's level is {count}; it must be a whole number")
        if not self.drift_frames:
            raise UserError("drift_frames of a camera's level must be above 0")
        if (stay := self.occluders.stay) < 1:
            raise UserError(f"stay of a camera's level is {stay}; it must be at least 1 frame")
        if quality is not None and not (isinstance(quality, Integral) and 1 <= int(quality) <= 95):
            raise UserError(
                f"jpeg_quality of a camera's level is {quality}; it must be a whole number, 1 to 95, or None"
            )


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
