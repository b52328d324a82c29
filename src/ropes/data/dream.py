"""Reads data sets in the layout of DREAM: photographs of an arm with its joint angles and keypoints.

A folder has images NNNNNN.rgb.jpg (or .png), an NNNNNN.json for each, and `_camera_settings.json`.  A frame's JSON has

    {"objects": [{"class": "panda", "location": [x, y, z],
                  "keypoints": [{"name": "panda_link0", "location": [x, y, z], "projected_location": [u, v]}, …]}],
     "sim_state": {"joints": [{"name": "panda_joint1", "position": 0.1}, …]}}

Locations are in the camera's frame (x right, y down, z forward), in metres for photographs and in centimetres for
renderings.  Positions are in radians (metres for a finger).  Renderings put a path before a joint's name.

Source: Lee et al. 2020; github.com/NVlabs/DREAM, `dream/utilities.py`, `test/_camera_settings.json`, issues 17, 18 and
24; for units, paths of names and `sim_state` github.com/ylabbe/robopose, `robopose/datasets/dream.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.data.recordings.calibration import Calibration
from ropes.errors import UserError

#: File with the intrinsics of the camera.
CAMERA_SETTINGS = "_camera_settings.json"
#: Above all pixels, lengths and angles; also excludes NaN and infinity.
_LARGEST = 1e9
_IMAGE, _LABELS = re.compile(r"(\d+)\.rgb\.(?:jpg|jpeg|png)"), re.compile(r"(\d+)\.json")


@dataclass(frozen=True, kw_only=True, eq=False)
class DreamFrames:
    """The frames of a folder, in the order of their numbers.

    Attributes:
        images: paths of the images.
        labels: paths of the JSON files.
        robot: name of the robot, as the folder gives it.
        joints: names of all joints, without the path before them.
        positions: (n, joints), radians; metres for a prismatic joint.
        keypoints: names of the keypoints.
        locations: (n, keypoints, 3) in the camera's frame, in the folder's unit of length.
        projections: (n, keypoints, 2), pixels of the images.
        camera: intrinsics; None without `_camera_settings.json`.
    """

    images: tuple[Path, ...]
    labels: tuple[Path, ...]
    robot: str
    joints: tuple[str, ...]
    positions: Floats
    keypoints: tuple[str, ...]
    locations: Floats
    projections: Floats
    camera: Calibration | None

    def __len__(self) -> int:
        return len(self.images)

    @property
    def names(self) -> tuple[str, ...]:
        """Numbers of the frames, as in the files' names."""
        return tuple(path.stem for path in self.labels)


def holds_dream(folder: Path) -> bool:
    """Whether a folder has DREAM's layout; reads names only."""
    if not folder.is_dir():
        return False
    names = [path.name for path in folder.iterdir()]
    labelled = CAMERA_SETTINGS in names or any(map(_LABELS.fullmatch, names))
    return labelled and any(map(_IMAGE.fullmatch, names))


def read_dream(folder: Path) -> DreamFrames:
    """The labels of a folder in DREAM's layout.

    Raises:
        UserError: an image or its labels are missing, or labels are damaged or differ in robot, joints or keypoints.
    """
    images, labels = _numbered(folder, _IMAGE), _numbered(folder, _LABELS)
    for number, path in images.items():
        if number not in labels:
            raise UserError(f"{path} has no labels: {number}.json is missing; restore it, or remove the image")
    for number, path in labels.items():
        if number not in images:
            raise UserError(f"{path} has no image: {number}.rgb.jpg is missing; restore it, or remove the labels")
    if not images:
        raise UserError(f"{folder} has no image NNNNNN.rgb.jpg")
    numbers = sorted(images, key=lambda number: (int(number), number))
    read = [_Labels.read(labels[number]) for number in numbers]
    first = read[0]
    for number, each in zip(numbers, read, strict=True):
        for what in ("robot", "joints", "keypoints"):
            if (one := getattr(each, what)) != (other := getattr(first, what)):
                raise UserError(
                    f"{labels[number]} has {what} {_listed(one)}, and {labels[numbers[0]].name} {_listed(other)}; "
                    "import folders of one robot"
                )
    settings = folder / CAMERA_SETTINGS
    return DreamFrames(
        images=tuple(images[number] for number in numbers),
        labels=tuple(labels[number] for number in numbers),
        robot=first.robot,
        joints=first.joints,
        positions=np.array([each.positions for each in read]),
        keypoints=first.keypoints,
        locations=np.array([each.locations for each in read]),
        projections=np.array([each.projections for each in read]),
        camera=_camera(settings) if settings.exists() else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Labels:
    """The labels of one frame; joints and keypoints are sorted by name."""

    robot: str
    joints: tuple[str, ...]
    positions: tuple[float, ...]
    keypoints: tuple[str, ...]
    locations: tuple[tuple[float, ...], ...]
    projections: tuple[tuple[float, ...], ...]

    @classmethod
    def read(cls, path: Path) -> "_Labels":
        content = read_json(path)
        robot = _entry(path, content, "objects[0].class")
        if not isinstance(robot, str):
            raise UserError(f"{path}: objects[0].class is {robot!r}, not a name")
        keypoints, joints = (_by_name(path, content, where) for where in ("objects[0].keypoints", "sim_state.joints"))

        def numbers(entries: Mapping[str, Any], kind: str, field: str, count: int) -> tuple[tuple[float, ...], ...]:
            return tuple(
                _numbers(path, entry.get(field), f"{field} of {kind} {name}", count) for name, entry in entries.items()
            )

        return cls(
            robot=robot,
            joints=tuple(joints),
            positions=tuple(value for (value,) in numbers(joints, "joint", "position", 1)),
            keypoints=tuple(keypoints),
            locations=numbers(keypoints, "keypoint", "location", 3),
            projections=numbers(keypoints, "keypoint", "projected_location", 2),
        )


def _numbered(folder: Path, form: re.Pattern[str]) -> dict[str, Path]:
    """Number in the file's name → path.

    Raises:
        UserError: two files have one number.
    """
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        match = form.fullmatch(path.name)
        if match is not None and (other := found.setdefault(match.group(1), path)) != path:
            raise UserError(f"{folder}: {other.name} and {path.name} are of one frame; remove one")
    return found


def _entry(path: Path, content: Any, where: str) -> Any:
    """The entry of a JSON document at a place such as objects[0].class.

    Raises:
        UserError: there is none.
    """
    for key in re.findall(r"\w+", where):
        try:
            content = content[int(key) if key.isdecimal() else key]
        except (KeyError, IndexError, TypeError):
            raise UserError(f"{path} has no {where}; restore the file") from None
    return content


def _by_name(path: Path, content: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """Name, without the path before it → entry of a list of objects, sorted by name.

    Raises:
        UserError: entries are no objects with different names, or there are none.
    """
    entries = _entry(path, content, where)
    if not isinstance(entries, list) or not entries or not all(isinstance(_name(entry), str) for entry in entries):
        raise UserError(f"{path}: {where} is no list of objects with a name; restore the file")
    named = {str(_name(entry)).rpartition("/")[2]: entry for entry in entries}
    if len(named) < len(entries):
        raise UserError(f"{path}: {where} has a name twice; restore the file")
    return dict(sorted(named.items()))


def _name(entry: object) -> object:
    return entry.get("name") if isinstance(entry, dict) else None


def _numbers(path: Path, value: Any, what: str, count: int) -> tuple[float, ...]:
    """One number, or a list of several, which must be finite.

    Raises:
        UserError: they are not, or there are more or fewer.
    """
    values: Any = [value] if count == 1 else value
    is_list = isinstance(values, list) and len(values) == count
    if not is_list or not all(isinstance(each, int | float) and abs(each) < _LARGEST for each in values):
        wanted = "a finite number" if count == 1 else f"{count} finite numbers"
        raise UserError(f"{path}: {what} is {value!r}, not {wanted}; restore the file")
    return tuple(map(float, values))


def _camera(path: Path) -> Calibration:
    """The intrinsics of `_camera_settings.json`.

    Raises:
        UserError: a number is missing.
    """
    content, settings = read_json(path), "camera_settings[0]"

    def number(where: str) -> float:
        return _numbers(path, _entry(path, content, f"{settings}.{where}"), where, 1)[0]

    fx, fy, cx, cy = (number(f"intrinsic_settings.{name}") for name in ("fx", "fy", "cx", "cy"))
    width, height = (int(number(f"captured_image_size.{side}")) for side in ("width", "height"))
    matrix = ((fx, 0.0, cx), (0.0, fy, cy), (0.0, 0.0, 1.0))
    return Calibration(width=width, height=height, matrix=matrix, model="", distortion=())


def _listed(value: str | Sequence[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)
