"""Pictures of the worst frames of a check, with the arm at the read and at the logged angles where it can be drawn."""

from pathlib import Path

from ropes.common.arrays import Images
from ropes.data.layout import open_dataset
from ropes.data.views import by_camera
from ropes.errors import UserError
from ropes.evaluation.drift.frames import is_of_ropes
from ropes.evaluation.drift.result import Check
from ropes.inference.overlay import SIDE, Overlay, enlarged, known_cameras
from ropes.inference.poses import chosen_arm
from ropes.methods.run import Run

Worst = list[tuple[int, list[Images]]]


def arm_to_draw(
    run: Run, *, urdf: Path | None = None, camera_file: Path | None = None, reference: Path | None = None
) -> tuple[Overlay | None, str]:
    """Open the arm and the parameters of the cameras.

    Args:
        run: the run.
        urdf: URDF file of the arm; if omitted, that of the reference or else of the run's setting.
        camera_file: JSON file with the cameras' parameters; if omitted, those of the reference or else of the setting.
        reference: of the check; it counts if it is a data set of ropes.

    Returns:
        What draws the arm, None where it is unknown; and what is drawn over the frames, in words.

    Raises:
        UserError: a file that is given is wrong, or the reference is unfinished or damaged.
    """
    dataset = open_dataset(reference) if reference is not None and is_of_ropes(reference) else None
    known = known_cameras(run, dataset, camera_file)
    try:
        overlay = Overlay(chosen_arm(run, urdf, dataset), run.cameras, known)
    except UserError as error:
        if urdf is not None:
            raise
        return None, f"The arm is not drawn: {error}."
    words = "Orange: the arm at the angles read from the image. Green outline: at the logged angles."
    if set(run.cameras) - set(known):
        words += " Where a camera's parameters are unknown, the arm at the read angles is beside the image."
    return overlay, words


def worst_frames(found: Check, overlay: Overlay | None) -> Worst:
    """Draw the worst frames.

    Args:
        found: with the frames.
        overlay: draws the arm; see `arm_to_draw`.

    Returns:
        Row of each frame, and a picture of each camera, uint8 (h, w, 3).

    Raises:
        UserError: an image is damaged.
    """
    rows = found.worst()
    drawn, frames = Worst(), iter(rows.tolist())
    for images in found.frames.images(rows):
        for views in zip(*by_camera(images), strict=True):
            row = next(frames)
            if overlay is None:
                drawn.append((row, [enlarged(view, SIDE) for view in views]))
            else:
                drawn.append((row, overlay.draw(views, found.read[row], found.logged[row])))
    return drawn
