"""What an import needs of a look at the images; a finished import keeps it, so that it looks once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from ropes.common import files
from ropes.data.recordings.preview import write_preview
from ropes.data.recordings.source import FrameId, Recording
from ropes.data.recordings.survey import CameraSurvey, digest, survey
from ropes.data.recordings.views import Box, View

#: File with what was found.
FOUND = "meta/survey.npz"
#: Picture of what is kept of a camera.
PREVIEW = "meta/preview-{camera}.png"


@dataclass(frozen=True)
class Look:
    """What the images of a camera show.

    Attributes:
        motion: change from each image to the next, grey levels.
        box: of all that moves, with a margin; None where all of the image is kept.
    """

    motion: Sequence[float]
    box: Box | None


@dataclass(frozen=True)
class Looks:
    """What the images of some cameras show.

    Attributes:
        key: see `survey.digest`.
        cameras: camera → what it shows.
        surveys: camera → its survey; none where an earlier import kept what it found.
    """

    key: str
    cameras: Mapping[str, Look]
    surveys: Mapping[str, CameraSurvey]

    def write(self, out: Path, views: Mapping[str, View]) -> None:
        """Write the preview of each camera, then what was found, unless an earlier import did."""
        if not self.surveys:
            return
        for camera, seen in self.surveys.items():
            write_preview(out / PREVIEW.format(camera=camera), seen, views[camera])
        arrays: dict[str, object] = {"key": np.array(self.key)}
        for number, look in enumerate(self.cameras.values()):
            arrays[f"{number}/motion"] = np.array(look.motion, dtype=np.float64)
            arrays[f"{number}/box"] = np.array(look.box or (), dtype=np.int64)
        files.write_arrays(out / FOUND, arrays)


NOTHING = Looks("", {}, {})


def look(
    recording: Recording,
    frames: Mapping[str, Sequence[FrameId]],
    views: Mapping[str, View],
    *,
    out: Path,
    progress: bool = True,
) -> Looks:
    """Look at frames of each camera, unless an earlier call of the same import did; see `survey`.

    Raises:
        UserError: a frame is damaged.
    """
    key = digest(recording, frames, views)
    if (found := _read(out / FOUND, key, list(frames))) is not None:
        return Looks(key, found, {})
    surveys = survey(recording, frames, views, key=key, out=out, progress=progress)
    return Looks(key, {camera: Look(seen.motion, seen.moving_box()) for camera, seen in surveys.items()}, surveys)


def _read(path: Path, key: str, cameras: Sequence[str]) -> dict[str, Look] | None:
    """What an earlier import found; None where there is nothing, or of another one."""
    with suppress(OSError, ValueError, KeyError, BadZipFile), np.load(path) as stored:
        if str(stored["key"]) == key:
            found = {}
            for number, camera in enumerate(cameras):
                box = stored[f"{number}/box"].tolist()
                found[camera] = Look(
                    stored[f"{number}/motion"].tolist(), (box[0], box[1], box[2], box[3]) if box else None
                )
            return found
    return None
