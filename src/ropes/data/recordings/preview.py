"""A picture of what an import keeps of a camera: first image, last image, and what moves, with the crop drawn."""

from pathlib import Path

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw

from ropes.common import files
from ropes.data.recordings.survey import CameraSurvey
from ropes.data.recordings.views import View

#: Colour and width of the crop's outline; pixels between the pictures.
_COLOUR, _WIDTH, _GAP = (255, 64, 32), 2, 4


def preview(survey: CameraSurvey, view: View) -> np.ndarray:
    """First image, last image and largest deviation from the median, side by side, uint8 (H, W, 3)."""
    spread = survey.spread.astype(np.float64)
    levels = np.round(spread * 255 / max(1.0, float(spread.max()))).astype(np.uint8)
    panels = []
    for grey in (survey.pixels["first"], survey.pixels["last"], levels):
        picture = Pictures.fromarray(grey).convert("RGB")
        if view.crop is not None:
            left, top, width, height = view.crop
            corners = left, top, left + width - 1, top + height - 1
            ImageDraw.Draw(picture).rectangle(corners, outline=_COLOUR, width=_WIDTH)
        panels += [np.asarray(picture), np.full((picture.height, _GAP, 3), 255, np.uint8)]
    return np.concatenate(panels[:-1], axis=1)


def write_preview(path: Path, survey: CameraSurvey, view: View) -> None:
    """Write `preview` as PNG."""
    with files.atomic_path(path) as temporary:
        Pictures.fromarray(preview(survey, view)).save(temporary, "PNG")
