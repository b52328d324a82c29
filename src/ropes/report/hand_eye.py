"""Prints the cameras that `ropes cameras` found."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console

from ropes.inference.hand_eye.find import FoundCamera
from ropes.report.table import print_line


def print_cameras(found: Sequence[FoundCamera], console: Console | None = None) -> None:
    """Print a line for each camera, and one for what is doubtful of it.

    Args:
        found: to print.
        console: defaults to standard output.
    """
    console = console or Console()
    for each in found:
        print_line(console, camera_sentence(each))
        if each.quality.fault is None and each.quality.warning is not None:
            print_line(console, f"camera {each.camera.name}: {each.quality.warning}", "bold")


def camera_sentence(found: FoundCamera) -> str:
    """Where a camera stands, and how well that explains its images."""
    camera, quality = found.camera, found.quality
    x, y, z = camera.place.tolist()
    focal = f"focal length {camera.intrinsics[0, 0]:.0f} px ({'fitted' if quality.focal_fitted else 'given'})"
    angle = np.degrees(2 * np.arctan(camera.width / 2 / camera.intrinsics[0, 0]))
    return (
        f"camera {camera.name}: at ({x:.2f}, {y:.2f}, {z:.2f}) m in the base frame, {focal}, {angle:.0f}° across; IoU "
        f"{quality.held_out_iou:.2f} on {quality.held_out} held-out poses ({quality.chance_iou:.2f} with the angles of "
        f"other poses); fits to halves of {quality.poses} poses differ by {quality.halves_px:.1f} px at the links"
    )
