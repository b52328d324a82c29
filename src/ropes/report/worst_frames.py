"""Pictures of the worst frames of a check, with the arm at the read and at the logged angles where it can be drawn."""

from pathlib import Path

from ropes.common.arrays import Images
from ropes.data.views import by_camera
from ropes.errors import UserError
from ropes.evaluation.drift.result import Check
from ropes.inference.overlay import SIDE, Overlay, enlarged, known_cameras
from ropes.inference.poses import chosen_arm

Worst = list[tuple[int, list[Images]]]


def worst_frames(found: Check, *, urdf: Path | None = None, camera_file: Path | None = None) -> tuple[Worst, str]:
    """Draw the worst frames.

    Args:
        found: with the frames.
        urdf: URDF file of the arm; that of the run's setting if omitted.
        camera_file: JSON file with the cameras' parameters; those of the setting if omitted.

    Returns:
        Row of each frame, and a picture of each camera, uint8 (h, w, 3); and what is drawn over them, in words.

    Raises:
        UserError: an image is damaged, or a file that is given is wrong.
    """
    run, rows = found.frames.run, found.worst()
    overlay = None
    known = known_cameras(run, None, camera_file)
    try:
        overlay = Overlay(chosen_arm(run, urdf), run.cameras, known)
        words = "Orange: the arm at the angles read from the image. Green outline: at the logged angles."
        if set(run.cameras) - set(known):
            words += " Where a camera's parameters are unknown, the arm at the read angles is beside the image."
    except UserError:
        if urdf is not None:
            raise
        words = "The arm is not drawn, because its URDF is unknown; give --urdf and --camera-file."
    drawn, frames = Worst(), iter(rows.tolist())
    for images in found.frames.images(rows):
        for views in zip(*by_camera(images), strict=True):
            row = next(frames)
            if overlay is None:
                drawn.append((row, [enlarged(view, SIDE) for view in views]))
            else:
                drawn.append((row, overlay.draw(views, found.read[row], found.logged[row])))
    return drawn, words
