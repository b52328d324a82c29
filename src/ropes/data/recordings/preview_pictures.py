"""Shows what an import would keep of each camera, before it decodes the whole recording."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from ropes.data.recordings.plan import ImportOptions, read_streams, views_of
from ropes.data.recordings.preview import write_preview
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.survey import CameraSurvey
from ropes.errors import UserError

#: Frames of each camera.
_PREVIEWED = 60


def preview_recording(path: Path, *, folder: Path, options: ImportOptions) -> tuple[str, ...]:
    """Draw what an import would keep of each camera, from some frames, and write nothing else.

    Args:
        path: see `import_recording`.
        folder: of the pictures, preview-CAMERA.png.
        options: see `ImportOptions`.

    Returns:
        A line on each camera.

    Raises:
        UserError: the recording is damaged, or lacks a stream or a policy.
    """
    _, recording = open_recording(path, options.streams)
    streams = read_streams(recording, options)
    seen = [(number, frames) for number, views in enumerate(streams.views) for frames in views.frames.tolist()]
    chosen = [seen[k] for k in np.unique(np.linspace(0, len(seen) - 1, _PREVIEWED).round().astype(int))]
    views, lines = views_of(recording, options), []
    for k, camera in enumerate(recording.cameras):
        wanted = [(episode, frames[k]) for episode, frames in chosen]
        view, state = views[camera], CameraSurvey()
        with closing(recording.images(camera, wanted)) as stream:
            for (_, number), image in zip(wanted, stream, strict=True):
                turned = view.turned(image)
                if state.done and turned.shape[:2] != state.size:
                    raise UserError(f"camera {camera}: frame {number} has another size than those before it")
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
