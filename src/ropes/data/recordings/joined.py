"""Several recordings of one arm as one recording: the episodes of each come after those of the one before."""

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ropes.common.arrays import Images
from ropes.data.recordings.calibration import Calibration
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.source import VIDEO_SUFFIXES, Episode, FrameId, Options, Recording
from ropes.errors import UserError

#: The camera of several videos, whose files have names of their own.
_CAMERA = "camera"


def open_recordings(paths: Sequence[Path], options: Options) -> tuple[str, Recording]:
    """Open one recording, or several of one kind with the same cameras as one.

    Args:
        paths: of the recordings, in the order of the episodes.
        options: of each; of several videos the camera is called `camera`, or by the only name of `options.cameras`.

    Returns:
        Name of the source, and the recording.

    Raises:
        UserError: see `open_recording`; or the recordings differ in kind, cameras, robot or calibration.
    """
    if len(paths) == 1:
        return open_recording(paths[0], options)
    resolved = [path.resolve() for path in paths]
    if twice := next((path for k, path in enumerate(paths) if resolved[k] in resolved[:k]), None):
        raise UserError(f"{twice} is given twice; give each recording once")
    if options.log is not None:
        raise UserError("--log goes with one recording; put the log of each beside the video, or in its folder")
    found = [open_recording(path, _of_one(path, options)) for path in paths]
    names = [path.name for path in paths]
    labels = [path.name if names.count(path.name) == 1 else path.as_posix() for path in paths]
    parts = dict(zip(labels, (recording for _, recording in found), strict=True))
    _require_equal("is a recording of kind", dict(zip(labels, (kind for kind, _ in found), strict=True)))
    _require_equal("has cameras", {label: ", ".join(part.cameras) for label, part in parts.items()})
    return found[0][0], JoinedRecording(parts)


def _of_one(path: Path, options: Options) -> Options:
    """The options of one recording among several: a video's only camera has the same name in all."""
    if not path.is_file() or path.suffix.lower() not in VIDEO_SUFFIXES:
        return options
    name = options.cameras[0] if options.cameras else _CAMERA
    if len(options.cameras) > 1 or "=" in name:
        raise UserError(f"{path} has one camera; give --cameras one name, or a folder of videos for each recording")
    return replace(options, cameras=(f"{name}={path.stem}",))


def _require_equal(what: str, values: Mapping[str, str]) -> None:
    """Check that all recordings have one value.

    Raises:
        UserError: names the first one and the first other one.
    """
    first, value = next(iter(values.items()))
    for other, another in values.items():
        if another != value:
            raise UserError(
                f"{first} {what} {value}, and {other} {what} {another}; import them into data sets of their own"
            )


@dataclass(frozen=True)
class JoinedRecording:
    """Recordings with the same cameras; see `ropes.data.recordings.source.Recording`.

    Attributes:
        parts: name of the file or folder → recording.
    """

    parts: Mapping[str, Recording]

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras, the same in each recording."""
        return next(iter(self.parts.values())).cameras

    @cached_property
    def moves(self) -> bool:
        """Whether one of them goes on while the arm moves."""
        return any(part.moves for part in self.parts.values())

    @cached_property
    def record(self) -> Mapping[str, object]:
        """The robot, and of each recording its name, number of episodes and origin.

        Raises:
            UserError: they are of different robots.
        """
        _require_equal("is of robot", {name: str(part.record.get("robot")) for name, part in self.parts.items()})
        parts = [{"name": name, "episodes": len(part.episodes), **part.record} for name, part in self.parts.items()]
        return {"robot": parts[0].get("robot"), "parts": parts}

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The episodes of all recordings, each with the name of its own."""
        return tuple(
            replace(
                episode,
                name=name if len(part.episodes) == 1 else f"{name}, {episode.name}",
                source=name,
                number=number if episode.number is None else episode.number,
            )
            for name, part in self.parts.items()
            for number, episode in enumerate(part.episodes)
        )

    @cached_property
    def calibrations(self) -> dict[str, Calibration]:
        """Camera → its calibration; see `Recording`.

        Raises:
            UserError: recordings have different ones.
        """
        found: dict[str, tuple[str, Calibration]] = {}
        for name, part in self.parts.items():
            for camera, calibration in getattr(part, "calibrations", {}).items():
                first, known = found.setdefault(camera, (name, calibration))
                if known.to_dict() != calibration.to_dict():
                    raise UserError(
                        f"camera {camera} has other parameters (CameraInfo) in {name} than in {first}; import them "
                        "into data sets of their own"
                    )
        return {camera: calibration for camera, (_, calibration) in found.items()}

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """See `Recording`."""
        for part, group in itertools.groupby(frames, lambda frame: self._places[frame[0]][0]):
            inside = [(self._places[episode][1], frame) for episode, frame in group]
            yield from self.parts[part].images(camera, inside)

    def frame_file(self, camera: str, frame: FrameId) -> Path | None:
        """See `Recording`."""
        name, episode = self._places[frame[0]]
        found = getattr(self.parts[name], "frame_file", None)
        return None if found is None else found(camera, (episode, frame[1]))

    @cached_property
    def _places(self) -> list[tuple[str, int]]:
        """Name of the recording of each episode, and the episode's place in it."""
        return [(name, k) for name, part in self.parts.items() for k in range(len(part.episodes))]
