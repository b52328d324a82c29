"""Finds intrinsics and pose of each camera, and measures on held-out poses how well the arm lies over the images."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ropes.common.arrays import Bools, Floats, Ints
from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.data.recordings.calibration import stored_camera
from ropes.data.recordings.views import View
from ropes.data.schema import PROVENANCE
from ropes.errors import UserError
from ropes.inference.hand_eye.candidate import Candidate
from ropes.inference.hand_eye.fitting import FOCAL, LEVELS, Target, fit, search
from ropes.inference.hand_eye.moving_parts import moving_parts
from ropes.inference.hand_eye.poses import PosedImages
from ropes.inference.hand_eye.surface_points import posed_points
from ropes.models.frame_changes import crowded
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.silhouette import Mesh, link_meshes, silhouette

#: Smallest intersection over union of a fit that is right, and how much larger than by chance it must be.
LEAST, ABOVE_CHANCE = 0.4, 0.2
#: Below this one a fit is doubtful.
DOUBTFUL = 0.55
#: Most steps of the fits to half of the poses, which begin at the fit to all.
_REFITTED = 4
#: A second place of the camera is a rival where its overlap is at most this much smaller.
_RIVAL = 0.03
#: Pixels where the arm is in about half of the frames have no sure background: a half, plus or minus this share.
_UNSURE = 0.1


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well a camera's parameters explain its images.

    Attributes:
        held_out_iou: intersection over union of the pixels that should change and that do, in held-out poses.
        chance_iou: the same with the angles of other held-out poses.
        halves_px: mean distance between the projected origins of the links by fits to two halves of the poses, pixels
            of the stored images.  Errors that both halves share do not show.
        rival: whether another place of the camera explains the images nearly as well.
        focal_fitted: whether the focal length was unknown and is fitted too.
        poses: number of poses of the fit.
        held_out: number of held-out poses.
    """

    held_out_iou: float
    chance_iou: float
    halves_px: float
    rival: bool
    focal_fitted: bool
    poses: int
    held_out: int

    @property
    def fault(self) -> str | None:
        """Why the fit is wrong; None for one that is right."""
        if self.held_out_iou < LEAST:
            return f"IoU {self.held_out_iou:.2f} on held-out poses, below {LEAST}"
        if self.held_out_iou < self.chance_iou + ABOVE_CHANCE:
            return f"IoU {self.held_out_iou:.2f} on held-out poses, and {self.chance_iou:.2f} with the angles of others"
        return None

    @property
    def warning(self) -> str | None:
        """What is doubtful of a fit; None for nothing."""
        if self.rival:
            return "another place of the camera fits nearly as well; look at the preview"
        if self.held_out_iou < DOUBTFUL:
            return f"IoU {self.held_out_iou:.2f} on held-out poses is low; look at the preview"
        return None


@dataclass(frozen=True, kw_only=True, eq=False)
class FoundCamera:
    """A camera's parameters and how well they explain its images."""

    camera: Pinhole
    quality: Quality

    def to_record(self) -> dict[str, Any]:
        """The record that `ropes.simulation.pinhole.read_pinholes` reads, with the quality under "fit"."""
        rounded = {
            name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self.quality).items()
        }
        return {**self.camera.to_record(), "fit": rounded}


def find_cameras(dataset: Dataset, posed: PosedImages, *, seed: int = 0, show: bool = True) -> list[FoundCamera]:
    """Find the cameras of a data set from images of the arm at known angles.

    The arm's silhouettes are compared with what differs from the background.  Parts that hardly move belong to the
    background.  Intrinsics that the data set stores are used; otherwise the focal length is fitted too, with square
    pixels and the principal point in the middle of the recorded image.

    Args:
        dataset: for the stored intrinsics.
        posed: images and angles of it, see `ropes.inference.hand_eye.poses.read_posed_images`.
        seed: of the points on the arm's surface.
        show: show progress.

    Raises:
        UserError: a stored camera is damaged, nothing moves in a camera's images, or a mesh cannot be read.
    """
    meshes, poses = link_meshes(posed.arm.urdf), posed.arm.poses(posed.angles)
    surface = posed_points(meshes, poses, LEVELS[-1].points, generator(seed, "hand-eye"))
    fits = sum(level.kept for level in LEVELS)
    found = []
    with progress("finding cameras, fits", fits * len(posed.cameras), show=show) as update:
        for number, (name, images) in enumerate(zip(posed.cameras, posed.images, strict=True)):
            guess, known = first_guess(dataset, name, posed.shapes[number])
            moving = moving_parts(images)
            fitted, held_out = _without_people(moving, posed)
            moving = moving[posed.at]
            if not moving.any(axis=(1, 2)).mean() > 0.5:
                raise UserError(f"{dataset.path}: camera {name} shows nothing that moves in most of its images")
            target = Target(moving[fitted].astype(float), surface.of(fitted))

            def count(done: int, before: int = number * fits) -> None:
                update(before + done)

            ranked = search(target, guess, fit_focal=not known, count=count)
            update((number + 1) * fits)
            best = ranked[0][1]
            camera = best.pinhole(name, *posed.shapes[number])
            halves = [
                _refitted(target, best, half, fit_focal=not known).pinhole(name, *posed.shapes[number])
                for half in (0, 1)
            ]
            origins = np.concatenate([pose[held_out, :3, 3] for pose in poses.values()])
            drawn = _silhouettes(meshes, poses, camera.resized(*images.shape[1:3]))
            usual, others = drawn[fitted].mean(axis=0), np.roll(held_out, len(held_out) // 2)
            quality = Quality(
                held_out_iou=_iou(drawn[held_out], usual, moving[held_out]),
                chance_iou=_iou(drawn[others], usual, moving[held_out]),
                halves_px=_distance(halves[0], halves[1], origins),
                rival=len(ranked) > 1 and ranked[1][0] > ranked[0][0] - _RIVAL,
                focal_fitted=not known,
                poses=len(fitted),
                held_out=len(held_out),
            )
            found.append(FoundCamera(camera=camera, quality=quality))
    return found


def first_guess(dataset: Dataset, camera: str, shape: tuple[int, int]) -> tuple[Candidate, bool]:
    """A camera with the stored intrinsics, and whether there are any; otherwise those of a usual field of view.

    Raises:
        UserError: the data set's description of the camera is damaged.
    """
    records = (dataset.provenance or {}).get("cameras", [])
    record = next((each for each in records if isinstance(each, dict) and each.get("name") == camera), {})
    height, width = shape
    known = "intrinsics" in record
    try:
        if known:
            filled = Pinhole.from_record({"extrinsics": np.eye(4).tolist(), **record}).resized(height, width)
        else:
            down, across = record.get("source_size", shape)
            stored = record.get("view", {})
            crop = stored.get("crop")
            view = View(
                rotate=stored.get("rotate", 0), crop=None if crop is None else tuple(crop), size=stored.get("size")
            )
            focal = FOCAL * max(down, across)
            k = np.array([[focal, 0, across / 2], [0, focal, down / 2], [0, 0, 1]])
            whole = Pinhole(name=camera, intrinsics=k, extrinsics=np.eye(4), height=int(down), width=int(across))
            filled = stored_camera(whole, view).resized(height, width)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{dataset.path / PROVENANCE} has a damaged camera ({error}); restore it") from error
    side, k = max(shape), filled.intrinsics
    guess = Candidate(
        rotation=np.eye(3),
        middle=np.zeros(3),
        at=np.zeros(2),
        depth=1.0,
        focal=np.array([k[0, 0], k[1, 1]]) / side,
        principal=k[:2, 2] / side,
        size=(height / side, width / side),
    )
    return guess, known


def _refitted(target: Target, best: Candidate, half: int, *, fit_focal: bool) -> Candidate:
    level = replace(LEVELS[-1], steps=_REFITTED)
    return fit(target.of(slice(half, None, 2)).at(level), best, level, fit_focal=fit_focal)


def _distance(one: Pinhole, other: Pinhole, points: Floats) -> float:
    """Mean distance of points projected by two cameras, pixels."""
    return float(np.linalg.norm(one.project(points)[0] - other.project(points)[0], axis=1).mean())


def _without_people(moving: Bools, posed: PosedImages) -> tuple[Ints, Ints]:
    """Poses of the fit and held-out poses, without images in which more than the arm moves.

    All poses where that leaves less than half of them.

    Args:
        moving: of all images, (m, H, W).
        posed: the poses among them.
    """
    free = ~crowded(moving.mean(axis=(1, 2)))[posed.at]
    parts = [part[free[part]] if 2 * free[part].sum() >= len(part) else part for part in (posed.fitted, posed.held_out)]
    return parts[0], parts[1]


def _silhouettes(meshes: Mapping[str, Mesh], poses: Mapping[str, Floats], camera: Pinhole) -> Bools:
    """Where the arm is in each pose, (n, H, W)."""
    count = len(next(iter(poses.values())))
    return np.stack([silhouette(meshes, {link: pose[k] for link, pose in poses.items()}, camera) for k in range(count)])


def _iou(predicted: Bools, usual: Floats, seen: Bools) -> float:
    """Intersection over union of predicted and seen changes, median over the poses: people are in a few of them.

    Args:
        predicted: silhouettes, (k, H, W).
        usual: share of the poses of the fit with the arm at each pixel, (H, W).
        seen: pixels that differ from the background, (k, H, W).
    """
    counted = (np.abs(usual - 0.5) > _UNSURE) & ~((usual > 0.5) & predicted)
    change = predicted != (usual > 0.5)
    both = (counted & change & seen).sum(axis=(1, 2))
    return float(np.median(both / np.maximum((counted & (change | seen)).sum(axis=(1, 2)), 1)))
