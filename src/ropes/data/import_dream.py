"""Converts a folder in DREAM's layout into a data set: frames with joint angles, without policies."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from ropes.causal.scm import Regime
from ropes.common import files
from ropes.common.arrays import Floats, Images
from ropes.common.units import require_radians
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.dream import DreamFrames, read_dream
from ropes.data.dream_camera import camera_poses, is_still
from ropes.data.recordings.calibration import intrinsics
from ropes.data.recordings.dataset_writer import BYTES_PER_SHARD, encoded
from ropes.data.recordings.source import digest, read_picture, require_one_size
from ropes.data.recordings.views import View
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation.availability import find_urdf
from ropes.simulation.settings import Robot
from ropes.simulation.urdf import Urdf, read_urdf

#: File with number, camera pose and keypoints of each frame.
LABELS = "meta/dream.parquet"
#: Name of the camera where none is given.
CAMERA = "rgb"
#: Frames of an episode: training holds out whole ones, because frames that follow each other look alike.
EPISODE = 50
#: Class of the robot in DREAM → its URDF.
_URDFS = {"panda": "franka_panda/panda.urdf"}


@dataclass(frozen=True, kw_only=True)
class DreamOptions:
    """What to import and how.

    Attributes:
        urdf: URDF file of the arm; that of ropes for the Panda if None.
        test_share: share of the frames, the last ones, that become the split test-id; the others are training.
        camera: name of the camera in the data set.
        view: what happens to images.

    Raises:
        UserError: the share is not between 0 and 1.
    """

    urdf: Path | None = None
    test_share: float = 0.5
    camera: str = CAMERA
    view: View = field(default_factory=View)

    def __post_init__(self) -> None:
        if not 0 <= self.test_share <= 1:
            raise UserError(f"--test-share is {self.test_share:g}; it must be from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class ImportedDream:
    """What was imported; `str` describes it in two lines.

    Attributes:
        dataset: the data set.
        robot: name of the robot.
        residual: mean distance of a keypoint from its link, metres.
        moves: whether the camera moves.
    """

    dataset: Dataset
    robot: str
    residual: float
    moves: bool

    def __str__(self) -> str:
        counts = ", ".join(f"{split} {len(self.dataset.frames(split)):,}" for split in self.dataset.splits)
        camera, (height, width, *_) = self.dataset.cameras[0], self.dataset.image_shapes[0]
        parts = (
            f"dream: frames of {self.robot}: {counts}",
            f"joints {', '.join(self.dataset.labelled_joints)}",
            f"camera {camera} {width}x{height}, {'moving' if self.moves else 'fixed'}",
            f"keypoints {1000 * self.residual:.1f} mm from the arm's links in the mean",
            "no policies: fit with --method cnn or jointnet",
        )
        return (
            f"{'; '.join(parts)}\nADD of ropes evaluate is given the camera's pose; DREAM, RoboPEPP and HoRoPose "
            "estimate it (docs/dream.md)"
        )


def import_dream(folder: Path, *, out: Path, options: DreamOptions, progress: bool = True) -> ImportedDream:
    """Convert a folder in DREAM's layout into a data set, or resume an interrupted conversion.

    Deviation: ADD on photographs is given the camera's pose, and methods may learn from labels of the same recording.
    Why: the package estimates joint angles alone.  Effect: ADD is smaller than by the protocol of RoboPEPP and
    HoRoPose, who estimate the camera's pose too and learn from labels of renderings; figures are not comparable one to
    one.

    Args:
        folder: see `ropes.data.dream`.
        out: folder of the data set.
        options: see `DreamOptions`.
        progress: show progress.

    Raises:
        UserError: labels or images are missing, damaged or of several kinds, joint angles are probably in degrees, the
            URDF lacks a joint or a keypoint, or `out` holds something else.  Nothing is left in `out` then.
    """
    files.require_free(out, schema.PROVENANCE)
    if out.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"--out {out} is inside the folder {folder}; choose one outside")
    frames = read_dream(folder)
    urdf_path = _urdf_of(frames, options.urdf)
    urdf = read_urdf(urdf_path)
    joints, angles = _angles(frames, urdf)
    unit, poses, residual = camera_poses(frames, urdf)
    size = require_one_size(frames.images)
    shape = _stored(frames, options.view, 0, options.camera).shape
    still = is_still(poses)
    robot = Robot(urdf=urdf_path.name if options.urdf else _URDFS[frames.robot], joints=joints)
    request = {
        **building.versions(),
        "source": {
            "name": folder.name,
            "format": "dream",
            "robot": frames.robot,
            "sha256": digest(folder, sorted([*frames.images, *frames.labels])),
            "metres_per_unit": unit,
        },
        "import": {
            "test_share": options.test_share,
            "view": options.view.to_dict(),
            **({} if options.urdf is None else {"urdf_sha256": files.sha256(urdf_path)}),
        },
        "robot": {**asdict(robot), "joints": list(joints)},
        "keypoints": list(frames.keypoints),
        "cameras": [_camera_record(frames, options, size, shape, poses[0] if still else None)],
    }
    splits = _splits(len(frames), options.test_share)

    def states() -> Mapping[str, Floats]:
        table = np.column_stack([angles, np.arange(len(frames))])
        return {split: table[rows.start : rows.stop] for split, rows in splits.items()}

    def images(values: Floats) -> Iterator[list[bytes]]:
        yield from encoded((_stored(frames, options.view, int(row)),) for row in values[:, -1])

    with building.nothing_left(out):
        dataset = building.build(
            out,
            request,
            features=schema.features((options.camera,), shape, joints),
            plans=[plan for split, rows in splits.items() for plan in _episodes(split, len(rows))],
            states=states,
            render=images,
            regimes=(Regime(),),
            robot_type=frames.robot,
            progress=progress,
            urdf=urdf_path,
            work="importing, frames",
            images_per_shard=max(1, BYTES_PER_SHARD // int(np.prod(shape))),
            tables={LABELS: _labels(frames, unit, poses)},
        )
    return ImportedDream(dataset=dataset, robot=frames.robot, residual=residual, moves=not still)


def _urdf_of(frames: DreamFrames, given: Path | None) -> Path:
    if given is not None:
        return find_urdf(given)
    if frames.robot not in _URDFS:
        raise UserError(f"{frames.labels[0]} is of a robot {frames.robot!r}; give its arm by --urdf FILE")
    return find_urdf(_URDFS[frames.robot])


def _angles(frames: DreamFrames, urdf: Urdf) -> tuple[tuple[str, ...], Floats]:
    """The joints that turn, parents first, and their angles; fingers, which slide, are left out."""
    for name in frames.joints:
        if name not in urdf.moving:
            raise UserError(
                f"{frames.labels[0]}: joint {name} is not in {urdf.path.name} (it has {', '.join(urdf.moving)}); give "
                "the URDF of this arm by --urdf FILE"
            )
    turning = [name for name, joint in urdf.moving.items() if joint.turns and name in frames.joints]
    columns = [frames.joints.index(name) for name in turning]
    angles = frames.positions[:, columns]
    try:
        require_radians(turning, np.median(np.abs(angles), axis=0), "has a median of")
    except ValueError as error:
        raise UserError(f"{frames.labels[0].parent}: {error}") from error
    return tuple(turning), angles


def _stored(frames: DreamFrames, view: View, row: int, camera: str = CAMERA) -> Images:
    """An image as it is stored."""
    path = frames.images[row]
    image = read_picture(path, str(path), f"{path} is no image that can be read")
    if row == 0:
        view.require_inside(camera, image)
    return view.apply(image)


def _camera_record(
    frames: DreamFrames, options: DreamOptions, size: tuple[int, int], shape: tuple[int, ...], pose: Floats | None
) -> dict[str, object]:
    """Name, view and size of the camera's images; intrinsics, size of stored ones and pose where they are known."""
    record: dict[str, object] = {"name": options.camera, "view": options.view.to_dict(), "source_size": list(size)}
    matrix = None if frames.camera is None else intrinsics(frames.camera, options.view, size)
    if matrix is None:
        return record
    record |= {"intrinsics": matrix.tolist(), "width": shape[1], "height": shape[0]}
    return record if pose is None else record | {"extrinsics": pose.tolist()}


def _splits(frames: int, test_share: float) -> dict[str, range]:
    """Split → rows; a split without rows is left out."""
    test = round(test_share * frames)
    spans = {"train": range(frames - test), "test-id": range(frames - test, frames)}
    return {split: rows for split, rows in spans.items() if len(rows)}


def _episodes(split: str, frames: int) -> Iterator[SplitPlan]:
    """Episodes of `EPISODE` frames; the last one may be shorter."""
    for length, episodes in ((EPISODE, frames // EPISODE), (frames % EPISODE, 1)):
        if length and episodes:
            yield SplitPlan(name=split, episodes=episodes, tasks=(0,) * length)


def _labels(frames: DreamFrames, unit: float, poses: Floats) -> pa.Table:
    """Number, pose of the base in the camera's frame, and keypoints of each frame, in metres and pixels."""
    columns = {
        "frame": list(frames.names),
        "extrinsics": list(poses.reshape(len(frames), -1)),
        "locations": list(unit * frames.locations.reshape(len(frames), -1)),
        "projections": list(frames.projections.reshape(len(frames), -1)),
    }
    return pa.table(columns)
