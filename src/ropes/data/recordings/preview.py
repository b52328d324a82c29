"""Pictures of what an import keeps of a camera: first image, last image, and what moves, with the crop drawn."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw

from ropes.common import files
from ropes.common.arrays import evenly
from ropes.data.recordings.joined import open_recordings
from ropes.data.recordings.plan import ImportOptions, read_streams, views_of
from ropes.data.recordings.survey import CameraSurvey, another_size
from ropes.data.recordings.views import View
from ropes.errors import UserError

#: Colour and width of the crop's outline; pixels between the pictures.
_COLOUR, _WIDTH, _GAP = (255, 64, 32), 2, 4
#: Frames of each camera.
_PREVIEWED = 60


def write_preview(path: Path, survey: CameraSurvey, view: View) -> None:
    """Write first image, last image and largest deviation from the median, side by side, as PNG."""
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
    with files.atomic_path(path) as temporary:
        Pictures.fromarray(np.concatenate(panels[:-1], axis=1)).save(temporary, "PNG")


def preview_recording(*paths: Path, folder: Path, options: ImportOptions) -> tuple[str, ...]:
    """Draw what an import would keep of each camera, from some frames, and write nothing else.

    Args:
        paths: see `import_recording`.
        folder: of the pictures, preview-CAMERA.png.
        options: see `ImportOptions`.

    Returns:
        A line on each camera.

    Raises:
        UserError: the recording is damaged, or lacks a stream or a policy.
    """
    _, recording = open_recordings(paths, options.streams)
    streams = read_streams(recording, options)
    seen = [(number, frames) for number, views in enumerate(streams.views) for frames in views.frames.tolist()]
    chosen = [seen[k] for k in evenly(len(seen), _PREVIEWED)]
    views, lines = views_of(recording, options), []
    for k, camera in enumerate(recording.cameras):
        wanted = [(episode, frames[k]) for episode, frames in chosen]
        view, state = views[camera], CameraSurvey()
        with closing(recording.images(camera, wanted)) as stream:
            for frame, image in zip(wanted, stream, strict=True):
                turned = view.turned(image)
                if state.done and turned.shape[:2] != state.size:
                    raise UserError(another_size(recording, camera, frame))
                state.add(turned, sample=True)
        view = replace(view, crop=state.moving_box()) if options.crops_to_motion(camera) else view
        view.require_inside(camera, image)
        height, width = state.size
        left, top, across, down = (0, 0, width, height) if view.crop is None else view.crop
        picture = folder / f"preview-{camera}.png"
        write_preview(picture, state, view)
        lines.append(
            f"camera {camera}: keeps {across}x{down} of {width}x{height} pixels at {left},{top}; see {picture}"
        )
    return tuple(lines)
