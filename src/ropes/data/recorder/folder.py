"""The folder of a recording: one data file for each episode, and a log of the episodes and of the sessions.

An episode counts once its file and its entry in the log are written, so a power cut loses one episode at most.  The log
says for each file the number of the episode in the plan.  Order and length of the plan may therefore change.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ropes.common import files
from ropes.common.stores import Location
from ropes.data import schema, writer
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.recorder.protocols import RecordingProtocol
from ropes.data.recorder.same_recording import difference, require_same_protocol, shown
from ropes.data.recorder.whole_files import whole_files
from ropes.data.recordings.views import View
from ropes.data.writer import Shard, SplitPlan
from ropes.errors import UserError
from ropes.simulation.urdf import kinematics_of

#: The log of a recording.
LOG = "meta/recording.json"


@dataclass(frozen=True)
class Entry:
    """What the log says about an episode.

    Attributes:
        number: of the episode in the plan.
        began: when it began, seconds since 1970.
        seconds: of each pose in the order of the recording, from the command to its last frame; of all tries together,
            with the way back to the first pose.
        order: regimes of the poses in that order.
        faults: what the checks found.
        unmended: those of them for which the episode was recorded again, and which were there again.
    """

    number: int
    began: float
    seconds: tuple[float, ...]
    order: tuple[int, ...]
    faults: tuple[str, ...] = ()
    unmended: tuple[str, ...] = ()


#: Part of a view → its option.
_OPTIONS = {"rotate": "--rotate", "crop": "--crop", "size": "--image-size", "grey": "--grey"}
#: The entry of a place whose file is damaged.
_NOBODY = Entry(number=-1, began=0.0, seconds=(), order=())


class RecordingFolder:
    """A folder that grows by one episode at a time.

    Args:
        root: the folder.
        identity: entries of `meta/ropes.json` that must agree where a recording goes on.
        request: all other entries; the log has those of each session.
        protocol: what an episode is.
        progress: show progress while the files are read, which takes a while for many images.

    Raises:
        UserError: the folder holds something else, or the operating system cannot read a file of it.
    """

    def __init__(
        self,
        root: Path,
        identity: Mapping[str, Any],
        request: Mapping[str, Any],
        protocol: RecordingProtocol,
        *,
        progress: bool = False,
    ) -> None:
        self.root, self._protocol, self._request = root, protocol, dict(request)
        self._content = {**request, **identity}
        files.require_free(root, schema.PROVENANCE)
        path = root / schema.PROVENANCE
        self.complete = False
        if path.exists():
            stored = files.read_json(path)
            if not isinstance(stored, dict) or "recorder" not in stored:
                raise UserError(f"{root} holds something else, not a recording; choose an empty or new folder")
            require_same_protocol(root, stored, protocol)
            if isinstance(stored["recorder"], dict):
                stored["recorder"].pop("redraw", None)  # of earlier versions; only episodes to come are drawn again
            for key, value in files.as_json(identity).items():
                if stored.get(key) != value:
                    raise UserError(
                        f"{root} holds another recording ({difference(key, stored.get(key), value)}); choose an empty "
                        "or new folder"
                    )
            self._content = stored
            self.complete = stored.pop("complete", False) is True
            stored.pop("files", None)
        #: When each session began, its versions and its limits.
        self._sessions: list[dict[str, Any]] = []
        #: Files that are there and cannot be read whole.
        self.damaged: list[Path] = []
        #: What each file holds; None where it is missing or damaged.
        self.slots = self._read_log(progress)

    @property
    def entries(self) -> list[Entry]:
        """The episodes that are whole."""
        return [entry for entry in self.slots if entry is not None]

    @property
    def finished(self) -> bool:
        """Whether all episodes and all metadata are there."""
        return (
            self.complete and None not in self.slots and all((self.root / name).is_file() for name in schema.METADATA)
        )

    @property
    def cameras(self) -> list[dict[str, Any]] | None:
        """The cameras of a recording that has begun, as `meta/ropes.json` has them."""
        return self._content.get("cameras")

    @property
    def _provenance(self) -> dict[str, Any]:
        return {**self._content, **self._protocol.provenance(len(self.slots))}

    def _shards(self, slots: Sequence[Entry | None], cameras: int) -> tuple[Shard, ...]:
        """One file for each episode; a missing one has the length of all others."""
        missing = (0,) * self._protocol.length
        tasks = [missing if entry is None else self._protocol.stored(entry.order) for entry in slots]
        plans = [SplitPlan(name="train", episodes=1, tasks=each) for each in tasks]
        return writer.plan_shards(plans, cameras, images_per_shard=1)

    def _read_log(self, progress: bool) -> list[Entry | None]:
        """The entries of the log; None for an episode whose file is missing or damaged."""
        if not (self.root / LOG).exists():
            return []
        stored, self._sessions = read_log(self.root / LOG, self._protocol.noun)
        paths, length = [self.root / schema.data_file(place) for place in range(len(stored))], self._protocol.length
        whole = whole_files(paths, length, self._protocol.noun, progress=progress)
        self.damaged = [path for path in paths if path not in whole and path.exists()]
        return [
            entry if path in whole and entry.number >= 0 and len(entry.order) == length else None
            for path, entry in zip(paths, stored, strict=True)
        ]

    def require_cameras(self, names: Sequence[str], views: Mapping[str | None, View]) -> None:
        """Check options on cameras against the cameras of the episodes that are there.

        Args:
            names: of the cameras, in order; empty for the robot's own.
            views: camera → view; None is the key for all other cameras.

        Raises:
            UserError: a camera was not there before or is missing, or its view was another one.
        """
        known = {str(camera["name"]): camera.get("view", {}) for camera in self.cameras or []}
        if not self.entries or not known:
            return
        end = f"; give it as before, or choose another folder than {self.root}"
        held = ", ".join(known)
        if names and list(names) != list(known):
            raise UserError(f"--cameras has {', '.join(names)}, and before {held}{end}")
        if unknown := [name for name in views if name is not None and name not in known]:
            raise UserError(f"no camera {unknown[0]!r}; there are {held}")
        for name, before in known.items():
            now = views.get(name, views.get(None, View())).to_dict()
            if changed := [option for option in before if option in now and before[option] != now[option]]:
                option, key = _OPTIONS[changed[0]], changed[0]
                raise UserError(f"camera {name} has {option} {shown(now[key])}, and before {shown(before[key])}{end}")

    def begin(self, cameras: Sequence[Mapping[str, Any]]) -> None:
        """Mark the data set as unfinished; `cameras` describes them, with name and view.

        Raises:
            UserError: the folder cannot be written, or the cameras differ from those of the episodes that it holds.
        """
        known = self.cameras
        if self.entries and known is not None and known != _as_known(files.as_json(cameras), known):
            raise UserError(
                f"{self.root} has cameras {_names(known)} with other views or image sizes than {_names(cameras)} now, "
                "or in other places; choose an empty or new folder"
            )
        self._sessions.append({"began": round(time.time(), 3), **self._request})
        self._content["cameras"] = list(cameras)
        files.ensure_output_folder(self.root, schema.PROVENANCE)
        files.write_json(self.root / schema.PROVENANCE, {**self._provenance, "complete": False})
        self.complete = False
        if None in self.slots:  # the entry of a damaged file must not be taken for that of the file in its place
            self._write_log()

    def add(
        self, entry: Entry, features: Mapping[str, Any], images: Sequence[Sequence[bytes]], states: ArrayLike | None
    ) -> None:
        """Write one episode, in the place of a damaged one or after the last.

        Args:
            entry: what the log says.
            features: see `schema.features`.
            images: PNG bytes of each camera, for each pose.
            states: angles (poses, joints), where stored.
        """
        slots = self.slots if None in self.slots else [*self.slots, None]
        cameras, number = sum(name.startswith(schema.IMAGES) for name in features), slots.index(None)
        slots = [*slots[:number], entry, *slots[number + 1 :]]
        writer.write_shard(self.root, self._shards(slots, cameras)[number], features, images, states)
        self.slots = slots
        self._write_log()

    def _write_log(self) -> None:
        """Write the log; a place that is still empty has an entry of no episode."""
        noun = self._protocol.noun
        entries = [_record(each or _NOBODY, noun) for each in self.slots]
        files.write_json(self.root / LOG, {f"{noun}s": entries, "sessions": self._sessions})

    def finish(self, features: Mapping[str, Any], urdf: Path, *, progress: bool) -> Dataset:
        """Write the metadata of the whole data set."""
        for partial in self.root.rglob(".*.part"):  # left by a killed process
            partial.unlink()
        cameras = sum(name.startswith(schema.IMAGES) for name in features)
        files.write_text(self.root / schema.ROBOT, kinematics_of(urdf))
        writer.finish(
            self.root,
            shards=self._shards(self.slots, cameras),
            features=features,
            regimes=self._protocol.model.regimes,
            provenance=self._provenance,
            robot_type=urdf.stem,
            progress=progress,
        )
        return open_dataset(self.root)


def read_log(path: Location, noun: str) -> tuple[list[Entry], list[dict[str, Any]]]:
    """The episodes and the sessions in a log; `noun` is that of an episode.

    Raises:
        UserError: the file is damaged.
    """
    try:
        log = files.read_json(path)
        # Earlier versions have no sessions.
        return [_entry(each, noun) for each in log[f"{noun}s"]], list(log.get("sessions", []))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error!r}); restore it or record into a new folder") from error


def _record(entry: Entry, noun: str) -> dict[str, Any]:
    """An entry as the log has it."""
    content = asdict(entry)
    return {noun: content.pop("number"), **content}


def _entry(content: Mapping[str, Any], noun: str) -> Entry:
    return Entry(
        number=int(content[noun]),
        began=float(content["began"]),
        seconds=tuple(map(float, content["seconds"])),
        order=tuple(map(int, content["order"])),
        faults=tuple(map(str, content["faults"])),
        unmended=tuple(map(str, content.get("unmended", content["faults"]))),  # earlier versions do not tell them apart
    )


def _as_known(cameras: list[dict[str, Any]], known: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cameras without the parameters that a recording of an earlier version does not have."""
    names = set().union(*known)
    return [{key: value for key, value in camera.items() if key in names} for camera in cameras]


def _names(cameras: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(str(camera.get("name")) for camera in cameras)
