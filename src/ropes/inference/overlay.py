"""Draws the arm at estimated angles over the images of its cameras, or beside those of an unknown camera."""

import hashlib
import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError
from PIL.PngImagePlugin import PngInfo
from scipy import ndimage

from ropes.common.arrays import Floats, Images
from ropes.common.files import atomic_path
from ropes.data.dataset import Dataset
from ropes.data.schema import PROVENANCE
from ropes.errors import UserError
from ropes.inference.poses import Arm
from ropes.methods.run import Run
from ropes.simulation.pinhole import Pinhole, read_pinholes
from ropes.simulation.settings import find_setting
from ropes.simulation.silhouette import link_meshes, overview, reach, shaded, silhouette

#: Colour of the estimated arm, and of the true one.
ESTIMATE, TRUTH = (255, 127, 14), (44, 160, 44)
#: Images are enlarged to this longer side at least, pixels.
SIDE = 384
#: Opacity of the arm's area, width of its outline in pixels.
_OPACITY, _WIDTH = 0.25, 2
#: Text of a picture's file that says which images it shows.
_ORIGIN = "ropes-origin"


def known_cameras(run: Run, dataset: Dataset | None = None, file: Path | None = None) -> dict[str, Pinhole]:
    """Parameters of the run's cameras by name; cameras without known parameters are left out.

    They are those of the file if it is given, otherwise those of the data set if one is given, and without both those
    of the run's simulated setting.

    Raises:
        UserError: the file is missing or damaged, or the data set's description of a camera is; or the file has none of
            the run's cameras, or one whose images have another aspect ratio.
    """
    if file is not None:
        found = read_pinholes(file)
        _require_cameras(run, found, file)
    elif dataset is not None:
        records = (dataset.provenance or {}).get("cameras", [])
        try:
            # Calibrations of imported recordings do not say where the camera stands.
            found = {record["name"]: Pinhole.from_record(record) for record in records if "extrinsics" in record}
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{dataset.path / PROVENANCE} has a damaged camera ({error}); restore it") from error
    elif (setting := find_setting(run.setting)) is not None:
        found = {camera.name: Pinhole.of(camera, setting.image_size) for camera in setting.cameras}
    else:
        found = {}
    return {name: camera for name, camera in found.items() if name in run.cameras}


def _require_cameras(run: Run, found: Mapping[str, Pinhole], file: Path) -> None:
    """Check that a file describes cameras of the run, at the aspect ratio of their images."""
    shapes = dict(zip(run.cameras, run.shapes, strict=True))
    if not shapes.keys() & found:
        raise UserError(
            f"{file} has none of the run's cameras ({', '.join(shapes)}); it has {', '.join(found) or 'none'}"
        )
    for name, camera in found.items():
        if name not in shapes:
            continue
        height, width = shapes[name][:2]
        if abs(camera.width * height - camera.height * width) > max(camera.height, camera.width):  # more than a pixel
            raise UserError(
                f"{file}: camera {name} has images of {camera.width}×{camera.height} pixels, those of the run are "
                f"{width}×{height}, another aspect ratio; describe the camera after cropping and rotation"
            )


class Overlay:
    """Draws an arm into the images of one pose.

    Args:
        arm: the arm.
        cameras: names, in the order of the images.
        known: parameters of the cameras, in the arm's base frame.
        side: images are enlarged to this longer side at least, pixels.
    """

    def __init__(self, arm: Arm, cameras: Sequence[str], known: Mapping[str, Pinhole], side: int = SIDE) -> None:
        self._arm, self._cameras, self._known, self._side = arm, tuple(cameras), known, side
        self._meshes = link_meshes(arm.urdf)
        self._reach = reach(arm.urdf)

    def draw(self, images: Sequence[Images], angles: Floats, truth: Floats | None = None) -> list[Images]:
        """Pictures of one pose, one for each camera.

        Args:
            images: uint8 (H, W) or (H, W, 3) of each camera.
            angles: (d,) estimated angles, radians.
            truth: (d,) true angles, drawn as a second outline.

        Returns:
            uint8 (h, w, 3) each: the enlarged image with the arm's outline and a tint over it; for a camera without
            known parameters the enlarged image, and right of it a drawing of the arm.
        """
        poses = self._poses(angles)
        true_poses = None if truth is None else self._poses(truth)
        return [
            self._over(image, self._known[camera], poses, true_poses)
            if camera in self._known
            else self._beside(image, poses)
            for camera, image in zip(self._cameras, images, strict=True)
        ]

    def _poses(self, angles: Floats) -> dict[str, Floats]:
        return {link: poses[0] for link, poses in self._arm.poses(np.asarray(angles)[None]).items()}

    def _over(
        self, image: Images, camera: Pinhole, poses: Mapping[str, Floats], true_poses: Mapping[str, Floats] | None
    ) -> Images:
        picture = enlarged(image, self._side)
        camera = camera.resized(*picture.shape[:2])
        if true_poses is not None:
            picture = outlined(picture, silhouette(self._meshes, true_poses, camera), TRUTH, opacity=0.0)
        return outlined(picture, silhouette(self._meshes, poses, camera), ESTIMATE)

    def _beside(self, image: Images, poses: Mapping[str, Floats]) -> Images:
        picture = enlarged(image, self._side)
        height = len(picture)
        drawn = shaded(self._meshes, poses, overview(self._reach, height))
        return np.concatenate([picture, np.repeat(drawn[..., None], 3, axis=2)], axis=1)


def enlarged(image: Images, side: int) -> Images:
    """An image (H, W) or (H, W, 3) in colour (h, w, 3), with a longer side of `side` pixels at least."""
    picture = Image.fromarray(np.ascontiguousarray(image)).convert("RGB")
    factor = max(1, -(-side // max(picture.size)))
    size = picture.width * factor, picture.height * factor
    return np.asarray(picture.resize(size, Image.Resampling.BICUBIC) if factor > 1 else picture)


def outlined(
    picture: Images, region: NDArray[np.bool_], colour: tuple[int, int, int], opacity: float = _OPACITY
) -> Images:
    """A picture (h, w, 3) with a region (h, w) tinted and outlined."""
    drawn = picture.astype(np.float32)
    drawn[region] = (1 - opacity) * drawn[region] + opacity * np.array(colour, dtype=np.float32)
    grown = ndimage.binary_dilation(region, iterations=_WIDTH)
    drawn[grown & ~region] = colour
    return np.round(drawn).astype(np.uint8)


def file_name(names: Mapping[str, object]) -> str:
    """The file's name for the pictures of a pose.

    Args:
        names: "split" and "index" of a frame of a data set, or the image file of each camera.
    """
    if "split" in names:
        return f"{names['split']}-{names['index']}.png"
    return f"{Path(str(next(iter(names.values())))).stem}.png"


def origin_of(names: Mapping[str, object], dataset: Dataset | None = None) -> str:
    """What distinguishes the images of a pose from others of the same `file_name`: a digest of their path."""
    path = Path(str(next(iter(names.values())))) if dataset is None else dataset.path
    return hashlib.sha256(os.fsencode(str(path.resolve()))).hexdigest()[:16]


def write_pictures(folder: Path, name: str, pictures: Mapping[str, Images], origin: str) -> None:
    """Write a picture for each camera to `folder`/CAMERA/`name`, each atomically.

    Pictures of the same origin are replaced.  Beside those of another origin the name gets a number.

    Args:
        folder: of all pictures.
        name: see `file_name`.
        pictures: camera → picture, uint8 (h, w, 3).
        origin: see `origin_of`.

    Raises:
        UserError: the folder cannot be written to.
    """
    numbered = (f"{Path(name).stem}-{number}.png" for number in itertools.count(2))
    paths = ([folder / camera / each for camera in pictures] for each in itertools.chain([name], numbered))
    free = next(each for each in paths if all(_origin(path) in (None, origin) for path in each))
    note = PngInfo()
    note.add_text(_ORIGIN, origin)
    for path, picture in zip(free, pictures.values(), strict=True):
        with atomic_path(path) as temporary:
            Image.fromarray(picture).save(temporary, format="PNG", pnginfo=note)


def _origin(path: Path) -> str | None:
    """The origin of a picture; None where there is no file, and an empty text where the file does not say.

    Raises:
        UserError: the path cannot be read.
    """
    try:
        with Image.open(path) as picture:
            return str(picture.info.get(_ORIGIN, ""))
    except FileNotFoundError:
        return None
    except (SyntaxError, UnidentifiedImageError, Image.DecompressionBombError):
        return ""
    except OSError as error:
        if error.errno is None:  # a damaged picture
            return ""
        raise UserError(f"cannot write {path}: {error.strerror}; choose another folder for overlays") from error
