"""Types, parsers and checks of options."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ropes.common.stores import Location, is_location, is_url, location
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.simulation.settings import Camera, Setting
    from ropes.simulation.workers import Workers

#: A string: "./NAME" is a folder and "NAME" a packaged estimator, which a Path cannot distinguish.
RunFolder = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
#: How a word becomes a path, or the UPath of a URL; for options of commands that read or write object stores.
LOCATION = tyro.constructors.PrimitiveConstructorSpec[Any](
    nargs=1,
    metavar="FOLDER|URL",
    instance_from_str=lambda words: location(words[0]),
    is_instance=is_location,
    str_from_instance=lambda value: [str(value)],
)
if TYPE_CHECKING:
    DataLocation = Path
    DataFolder = Path
else:  # UPaths are no Paths
    DataLocation = Annotated[Any, LOCATION]
    DataFolder = Annotated[Any, LOCATION, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
SourcePaths = Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE ...")]
EvaluationFolder = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="EVALUATION")]

CLUSTER_HELP = (
    "Ray cluster to compute on (docs/cluster.md): local starts Ray on this machine, auto is the cluster of this node; "
    "or HOST:PORT, or ray://HOST:PORT. This machine alone, without Ray, if omitted."
)
_CAMERA_FORM = "NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=DEG,roll=DEG,fov=DEG]"
#: Defaults of the optional camera parameters (ROPES App. D, the same as panda-gym's).
_CAMERA_DEFAULTS = {"pitch": -30.0, "roll": 0.0, "fov": 60.0}


def shared_options(command: object, kind: type[Any]) -> dict[str, Any]:
    """The values of a command's options that have the names of fields of the dataclass `kind`."""
    return {each.name: getattr(command, each.name) for each in fields(kind) if hasattr(command, each.name)}


def say_cut_off(setting: "Setting") -> None:
    """Say which cameras of a setting do not show the whole arm in every pose."""
    from ropes.simulation.arm import cut_off_cameras

    if cut := cut_off_cameras(setting):
        print(f"ropes: a part of the arm is outside the images of {', '.join(cut)} in some poses", file=sys.stderr)


def say_renderer(scene: str) -> None:
    """Say on standard error if MuJoCo drew a scene because PyBullet is not installed."""
    from ropes.simulation.settings import default_renderer, usual_renderer

    if default_renderer(scene) != usual_renderer(scene):
        print("ropes: PyBullet is not installed; MuJoCo drew the scene", file=sys.stderr)


def require_cluster(on: str | None, gpus_per_fit: float | None = None, **others: int | None) -> None:
    """Check the options --on and --gpus-per-fit, and that no option is given that does not go with --on.

    Raises:
        UserError: --on is no address, --gpus-per-fit is out of range or alone, or there is such an option; its keyword
            is the option's name.
    """
    from ropes.common.ray_connection import require_address

    if on is not None:
        require_address(on)
        for name, value in others.items():
            if value is not None:
                raise UserError(f"--{name} is of this machine alone and does not go with --on; leave one of them out")
    if gpus_per_fit is not None:
        if on is None:
            raise UserError("--gpus-per-fit goes with --on; leave it out")
        if not (0 <= gpus_per_fit <= 1 or (gpus_per_fit > 0 and gpus_per_fit.is_integer())):
            raise UserError(f"--gpus-per-fit is {gpus_per_fit:g}; give a share between 0 and 1, or a whole number")


@contextmanager
def rendering_workers(on: str | None, workers: int | None) -> "Iterator[Workers]":
    """The workers of --workers, or the cluster of --on in the block.

    Raises:
        UserError: see `ropes.common.ray_connection.connect`.
    """
    from ropes.common.ray_connection import connect

    if on is None:
        yield workers
        return
    with connect(on) as cluster:
        yield cluster


def at_least(lowest: int, **values: int | None) -> None:
    """Check that the values of options are at least `lowest`, where they are given.

    Raises:
        UserError: a value is too small; its keyword is the option's name.
    """
    for name, value in values.items():
        if value is not None and value < lowest:
            raise UserError(f"--{name.replace('_', '-')} is {value}; it must be {lowest} or more")


def distinct(**values: Sequence[int | str]) -> None:
    """Check that the values of options do not repeat.

    Raises:
        UserError: a value repeats; its keyword is the option's name.
    """
    for name, entries in values.items():
        if repeated := [value for value in dict.fromkeys(entries) if entries.count(value) > 1]:
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
    """Parse LOW:HIGH of each joint to pairs of radians.

    Raises:
        UserError: a range is missing, malformed or empty.
    """
    if not joints or len(joints) != len(ranges):
        raise UserError(
            f"give --joints, and one of --ranges LOW:HIGH for each; got {len(joints)} joints and {len(ranges)} ranges"
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


def parse_numbers(option: str, texts: Sequence[str]) -> dict[str, int]:
    """Parse NAME=NUMBER to name → number.

    Raises:
        UserError: a text has another form, or a name is given twice.
    """
    numbers: dict[str, int] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if not name or not number.isdecimal():
            raise UserError(f"{option}: {text!r} is not NAME=NUMBER")
        if name in numbers:
            raise UserError(f"{option} has {name} twice; give each name once")
        numbers[name] = int(number)
    return numbers


def by_name(texts: Sequence[str], option: str, form: str) -> dict[str, str]:
    """Parse NAME=VALUE to name → value.

    Args:
        texts: the words of the option.
        option: its name, for messages.
        form: of a word, for messages.

    Raises:
        UserError: another form, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UserError(f"{option}: {text!r} is not {form}")
        if name in found:
            raise UserError(f"{option}: {name} is given twice")
        found[name] = value
    return found


def parse_cameras(texts: Sequence[str], option: str = "--camera") -> tuple["Camera", ...]:
    """Parse NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=…,roll=…,fov=…] to cameras, in the order given.

    Args:
        texts: the words of the option.
        option: its name, for messages.

    Raises:
        UserError: a parameter is missing, unknown or no number, or two cameras share a name.
    """
    if plain := [text for text in texts if ":" not in text and "=" in text]:
        raise UserError(
            f"camera {plain[0]}: a simulated camera has a place, {_CAMERA_FORM}; sources are for real robots"
        )
    cameras = tuple(_camera(text, option) for text in texts)
    names = [camera.name for camera in cameras]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{option}: two cameras are named {repeated[0]!r}; give each its own name")
    return cameras


def _camera(text: str, option: str) -> "Camera":
    from ropes.simulation.settings import Camera

    name, _, parts = text.partition(":")
    where = f"{option} {name}"
    parameters = dict(part.partition("=")[::2] for part in parts.split(",") if part)
    unknown = parameters.keys() - {"target", "distance", "yaw", *_CAMERA_DEFAULTS}
    missing = {"target", "distance", "yaw"} - parameters.keys()
    if not name or unknown or missing:
        fault = f"unknown {', '.join(sorted(unknown))}" if unknown else f"no {', '.join(sorted(missing))}"
        raise UserError(f"{where}: {fault if name else 'no name'}; the form is {_CAMERA_FORM}")
    target = tuple(_number(value, f"{where}: target") for value in parameters.pop("target").split("/"))
    if len(target) != 3:
        raise UserError(f"{where}: target has {len(target)} numbers; the form is X/Y/Z in metres")
    values = _CAMERA_DEFAULTS | {key: _number(value, f"{where}: {key}") for key, value in parameters.items()}
    try:
        return Camera(
            name=name,
            target=target,
            distance=values["distance"],
            yaw=values["yaw"],
            pitch=values["pitch"],
            roll=values["roll"],
            fov=values["fov"],
        )
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def image_sources(texts: Sequence[str]) -> Mapping[str, Path] | Location:
    """Parse CAMERA=FILE pairs to camera → file, or a single file, folder or data set to its path.

    Raises:
        UserError: pairs and folders are mixed, a camera has two files, or there are no images.
    """
    pairs = [text.partition("=") for text in texts]
    if len(texts) == 1 and (not pairs[0][1] or is_url(pairs[0][0]) or Path(texts[0]).exists()):
        return location(texts[0])
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
