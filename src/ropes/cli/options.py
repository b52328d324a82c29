"""Option types shared by several commands: ranges, cameras, images."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.simulation.settings import Camera

#: A string, because a path forgets the "./" that tells a folder from a packaged estimator.
RunFolder = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
DataFolder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
EvaluationFolder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVALUATION")]

_CAMERA_FORM = "NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=DEG,roll=DEG,fov=DEG]"
#: The paper's camera where an option leaves something out (ROPES App. D, as panda-gym's own).
_CAMERA_DEFAULTS = {"pitch": -30.0, "roll": 0.0, "fov": 60.0}


def at_least(lowest: int, **values: int) -> None:
    """Refuse numbers below `lowest`.

    Raises:
        UserError: names the option by its keyword.
    """
    for name, value in values.items():
        if value < lowest:
            raise UserError(f"--{name.replace('_', '-')} is {value}; it must be {lowest} or more")


def distinct(**values: Sequence[int | str]) -> None:
    """Refuse an option that holds a number or a name twice.

    Raises:
        UserError: names the option by its keyword, and what it holds twice.
    """
    for name, given in values.items():
        if repeated := [value for value in dict.fromkeys(given) if given.count(value) > 1]:
            kind = "name" if isinstance(repeated[0], str) else "number"
            raise UserError(f"--{name.replace('_', '-')} has {repeated[0]} twice; give each {kind} once")


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise UserError(f"{where}: {text!r} is not a number") from None
    if not math.isfinite(number):
        raise UserError(f"{where}: {text!r} is not a finite number")
    return number


def parse_ranges(joints: Sequence[str], ranges: Sequence[str]) -> tuple[tuple[float, float], ...]:
    """LOW:HIGH for each joint → pairs of radians.

    Raises:
        UserError: a range is missing, malformed, or empty.
    """
    if not joints or len(joints) != len(ranges):
        raise UserError(
            f"--urdf needs --joints and as many --ranges LOW:HIGH; got {len(joints)} joints and {len(ranges)} ranges"
        )
    pairs = []
    for joint, text in zip(joints, ranges, strict=True):
        low, colon, high = text.partition(":")
        if not colon:
            raise UserError(f"--ranges for {joint}: {text!r} is not LOW:HIGH, for example -1.5:1.5")
        pair = _number(low, f"--ranges for {joint}"), _number(high, f"--ranges for {joint}")
        if not pair[0] < pair[1]:
            raise UserError(f"--ranges for {joint}: {low} is not below {high}")
        pairs.append(pair)
    return tuple(pairs)


def parse_cameras(texts: Sequence[str]) -> tuple["Camera", ...]:
    """NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=…,roll=…,fov=…] → cameras, in the order given.

    Raises:
        UserError: a part is missing, unknown or no number, or two cameras share a name.
    """
    cameras = tuple(_camera(text) for text in texts)
    names = [camera.name for camera in cameras]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"--camera: two cameras are named {name!r}; give each its own name")
    return cameras


def _camera(text: str) -> "Camera":
    from ropes.simulation.settings import Camera

    name, _, parts = text.partition(":")
    where = f"--camera {name}"
    given = dict(part.partition("=")[::2] for part in parts.split(",") if part)
    wrong = given.keys() - {"target", "distance", "yaw", *_CAMERA_DEFAULTS}
    missing = {"target", "distance", "yaw"} - given.keys()
    if not name or wrong or missing:
        fault = f"unknown {', '.join(sorted(wrong))}" if wrong else f"no {', '.join(sorted(missing))}"
        raise UserError(f"{where}: {fault if name else 'no name'}; the form is {_CAMERA_FORM}")
    target = tuple(_number(value, f"{where}: target") for value in given.pop("target").split("/"))
    if len(target) != 3:
        raise UserError(f"{where}: target has {len(target)} numbers; the form is X/Y/Z in metres")
    values = _CAMERA_DEFAULTS | {key: _number(value, f"{where}: {key}") for key, value in given.items()}
    try:
        return Camera(name=name, target=target, **values)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def image_sources(texts: Sequence[str]) -> Mapping[str, Path] | Path:
    """CAMERA=FILE pairs → camera name to file; a single file, folder or data set → its path.

    Raises:
        UserError: pairs and folders are mixed, a camera has two files, or nothing is given.
    """
    pairs = [text.partition("=") for text in texts]
    if len(texts) == 1 and (not pairs[0][1] or Path(texts[0]).exists()):
        return Path(texts[0])
    sources: dict[str, Path] = {}
    for text, (camera, equals, file) in zip(texts, pairs, strict=True):
        if not (camera and equals and file):
            raise UserError(f"--images: {text!r} is not CAMERA=FILE; give one for each camera, or one folder alone")
        if camera in sources:
            raise UserError(f"--images: camera {camera} is given twice; one pose has one image a camera")
        sources[camera] = Path(file)
    if not sources:
        raise UserError("--images needs CAMERA=FILE for each camera, or a folder, or a data set")
    return sources
