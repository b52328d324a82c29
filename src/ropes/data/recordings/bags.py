"""Reads ROS 1 bags, ROS 2 bags and MCAP files by rosbags: images, joint positions and policies by topic."""

import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ropes.common.arrays import Floats, Images
from ropes.common.progress import progress
from ropes.data.recordings import ros
from ropes.data.recordings.calibration import Calibration, read_calibration
from ropes.data.recordings.ros import Samples, calibration_topic, camera_name, joints_of, stamp_of
from ropes.data.recordings.source import Episode, FrameId, Joints, Options, Policies, are_samples, digest
from ropes.data.recordings.videos import import_extra
from ropes.errors import UserError

if TYPE_CHECKING:
    from rosbags.highlevel import AnyReader
    from rosbags.interfaces import Connection

_SUFFIXES = (".bag", ".db3", ".mcap")
_IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_JOINTS, _TEXT = "sensor_msgs/msg/JointState", "std_msgs/msg/String"
_INFO = "sensor_msgs/msg/CameraInfo"
#: Messages between two updates of the progress.
_UPDATE = 1000


class Bag:
    """ROS bags: a file, or a folder with metadata.yaml or one bag file."""

    def recognises(self, path: Path) -> bool:
        """See `Source`."""
        if path.is_dir():
            return (path / "metadata.yaml").is_file() or bool(_bag_files(path))
        return path.suffix in _SUFFIXES

    def open(self, path: Path, options: Options) -> "BagRecording":
        """See `Source`."""
        if path.is_dir() and not (path / "metadata.yaml").is_file():
            found = _bag_files(path)
            if len(found) > 1:
                raise UserError(f"{path} holds several bags without metadata.yaml; import {found[0].name} or another")
            path = found[0]
        return BagRecording(path, options)


@dataclass(frozen=True)
class _Stream:
    """A topic: time stamps (s) of its messages, and the times (ns) at which the bag received them."""

    topic: str
    stamps: np.ndarray
    received: np.ndarray


@dataclass(frozen=True)
class BagRecording:
    """A bag, as one episode; see `ropes.data.recordings.source.Recording`.

    Raises:
        UserError: the bag is damaged or has no index, or topics are missing or ambiguous.
    """

    path: Path
    options: Options
    moves = True

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras: the parts of the topics that differ, or those that the options give."""
        return tuple(self._streams)

    @cached_property
    def record(self) -> Mapping[str, object]:
        """Format, version of the reader, checksum, topics, calibrations, number of ignored messages."""
        files = [self.path] if self.path.is_file() else sorted(path for path in self.path.rglob("*") if path.is_file())
        topics = {f"camera {name}": stream.topic for name, stream in self._streams.items()}
        topics |= {kind: topic for kind, topic in self._chosen.items() if topic}
        _ = self.episodes
        calibrations = {name: calibration.to_dict() for name, calibration in self.calibrations.items()}
        return {
            "format": self._format,
            "libraries": {"rosbags": version("rosbags")},
            "sha256": digest(self.path, files, progress=self.options.progress),
            "topics": topics,
            **({"calibrations": calibrations} if calibrations else {}),
            **self._ignored,
        }

    @cached_property
    def calibrations(self) -> dict[str, Calibration]:
        """Camera → what the sensor_msgs/CameraInfo beside its images says; see `Recording`."""
        found = {}
        for name, stream in self._streams.items():
            topic, rectified = calibration_topic(stream.topic)
            if self._topics.get(topic) != _INFO:
                continue
            with self._opened() as reader:
                messages = (reader.deserialize(raw, kind) for kind, _, raw in self._messages(reader, topic))
                calibration = read_calibration(messages, rectified=rectified)
            if calibration is not None:
                found[name] = calibration
        return found

    @cached_property
    def episodes(self) -> tuple[Episode, ...]:
        """The bag as one episode."""
        chosen = self._chosen
        joints = self._joints(chosen["joint positions"]) if chosen["joint positions"] else None
        policies = self._policies(chosen["policies"]) if chosen["policies"] else None
        frames = {name: stream.stamps for name, stream in self._streams.items()}
        start = min(float(stamps[0]) for stamps in frames.values())
        return (
            Episode(
                name=self.path.name,
                frames={name: stamps - start for name, stamps in frames.items()},
                joints=None
                if joints is None
                else Joints(names=joints.names, times=joints.times - start, positions=joints.positions),
                policies=None if policies is None else Policies(times=policies.times - start, names=policies.names),
            ),
        )

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """See `Recording`."""
        stream, numbers = self._streams[camera], [frame for _, frame in frames]
        if not numbers:
            return
        # Messages received at the same time come in the order of the bag.
        begin = int(stream.received[numbers[0]])
        position = int(np.searchsorted(stream.received, begin))
        with self._opened() as reader:
            messages = self._messages(reader, stream.topic, begin)
            for number in numbers:
                while True:
                    kind, stamp, raw = next(messages)
                    position += 1
                    if position > number:
                        break
                where = f"{self.path.name}, topic {stream.topic}, {stamp / 1e9:.3f} s"
                yield ros.decode(reader.deserialize(raw, kind), where)

    @property
    def _format(self) -> str:
        if self.path.suffix == ".bag":
            return "ROS 1 bag"
        return "MCAP" if self.path.suffix == ".mcap" else "ROS 2 bag"

    @cached_property
    def _topics(self) -> dict[str, str]:
        """Topic → type of its messages, of topics with messages."""
        with self._opened() as reader:
            return {each.topic: each.msgtype for each in reader.connections if each.msgcount}

    @cached_property
    def _chosen(self) -> dict[str, str | None]:
        """Kind of stream → topic; None without one."""
        options, texts = self.options, list(self._topics.values()).count(_TEXT)
        policies = None
        if options.policy_topic or texts == 1 or not options.policies_elsewhere:
            policies = self._one(_TEXT, options.policy_topic, "--policy-topic")
        return {"joint positions": self._one(_JOINTS, options.joint_topic, "--joint-topic"), "policies": policies}

    def _one(self, kind: str, wanted: str | None, option: str) -> str | None:
        """The topic of a type: the one that is wanted, or the only one."""
        found = [topic for topic, each in self._topics.items() if each == kind]
        if wanted is not None:
            if wanted not in found:
                raise UserError(f"{self.path} has no topic {wanted} of {kind}; it has {', '.join(found) or 'none'}")
            return wanted
        if len(found) > 1:
            raise UserError(f"{self.path} has several topics of {kind} ({', '.join(found)}); choose one by {option}")
        return found[0] if found else None

    @cached_property
    def _streams(self) -> dict[str, _Stream]:
        """Camera → its images."""
        found = sorted(topic for topic, kind in self._topics.items() if kind in _IMAGES)
        if not found:
            raise UserError(f"{self.path} has no topic of {' or '.join(_IMAGES)}")
        named: dict[str, str] = {}
        of_name = defaultdict(list)
        for topic in found:
            of_name[camera_name(topic)].append(topic)
        for name, camera in (self.options.renamed or {each: each for each in of_name}).items():
            candidates = [camera] if camera in found else of_name.get(camera)
            if not candidates:
                raise UserError(f"{self.path} has no camera {camera!r}; images are on {', '.join(found)}")
            if len(candidates) > 1:
                raise UserError(
                    f"{self.path}: camera {name} is on {' and '.join(candidates)}; choose one by "
                    f"--cameras {name}={candidates[0]}"
                )
            named[name] = candidates[0]
        with self._opened() as reader:
            return {name: self._stamped(reader, topic) for name, topic in named.items()}

    def _stamped(self, reader: "AnyReader", topic: str) -> _Stream:
        """Time stamps of the messages of a topic, from their headers; the time of reception where these are empty."""
        messages = Samples()
        for _, received, raw in self._every(reader, topic):
            messages.add(stamp_of(raw, ros1=not reader.is2), received)
        times, stamps = np.asarray(messages.received), np.asarray(messages.stamps)
        return _Stream(topic, (stamps if stamps.all() else times) / 1e9, times)

    def _joints(self, topic: str) -> Joints:
        """The joint positions of a topic; messages of other nodes are ignored and counted, see `joints_of`."""
        found: dict[tuple[str, ...], Samples] = defaultdict(Samples)
        with self._opened() as reader:
            for kind, received, raw in self._every(reader, topic):
                message: Any = reader.deserialize(raw, kind)
                stamp = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
                names = tuple(message.name) if len(message.position) else ()
                found[names].add(stamp, received, message.position)
        where, counts = f"{self.path.name}, topic {topic}", {each: len(found[each].stamps) for each in found if each}
        names = joints_of(counts, self.options.joint_columns, where)
        samples, width = found[names], len(names)
        if wrong := [count for count in samples.counts if count != width]:
            raise UserError(f"{where}: {width} joints and {wrong[0]} positions")
        if others := sum(len(each.stamps) for each in found.values()) - len(samples.stamps):
            self._ignored["ignored_joint_messages"] = others
        stamps, positions = np.asarray(samples.stamps), np.asarray(samples.positions)
        times = np.where(stamps > 0, stamps / 1e9, self._stamped_at(np.asarray(samples.received)))
        return Joints(names=names, times=times, positions=positions.reshape(len(stamps), width))

    @cached_property
    def _ignored(self) -> Counter[str]:
        return Counter()

    def _policies(self, topic: str) -> Policies:
        """The texts of a topic; where they come as often as samples, each change of the text."""
        with self._opened() as reader:
            received, names = array("q"), list[str]()
            for kind, when, raw in self._every(reader, topic):
                received.append(when)
                names.append(sys.intern(str(getattr(reader.deserialize(raw, kind), "data", "")).strip()))
        times = self._stamped_at(np.asarray(received))
        repeated = are_samples(times)
        begins = [k for k, name in enumerate(names) if not (repeated and k and name == names[k - 1])]
        return Policies(times=times[begins], names=tuple(names[k] for k in begins))

    def _stamped_at(self, received: np.ndarray) -> Floats:
        """Time stamps, in seconds, of messages without header that the bag received at these times (ns).

        The clock of the headers may be another one, as with simulated time.  The images of the first camera have both
        times; in between they are interpolated.
        """
        stream = next(iter(self._streams.values()))
        known, late = stream.received / 1e9, stream.stamps - stream.received / 1e9
        seconds = received / 1e9
        return np.asarray(seconds + np.interp(seconds, known, late))

    def _messages(self, reader: "AnyReader", topic: str, start: int | None = None) -> Iterator[tuple[str, int, bytes]]:
        """Type, time of reception (ns) and bytes of the messages of a topic."""
        connections: list[Connection] = [each for each in reader.connections if each.topic == topic]
        for connection, received, raw in reader.messages(connections, start=start):
            yield connection.msgtype, received, raw

    def _every(self, reader: "AnyReader", topic: str) -> Iterator[tuple[str, int, bytes]]:
        """All messages of a topic, with progress."""
        total = sum(each.msgcount for each in reader.connections if each.topic == topic)
        with progress(f"reading {topic}, messages", total, show=self.options.progress) as update:
            for done, message in enumerate(self._messages(reader, topic)):
                if done % _UPDATE == 0:
                    update(done)
                yield message
            update(total)

    @contextmanager
    def _opened(self) -> Generator["AnyReader", None, None]:
        """The bag, opened; errors of its reader become one line."""
        highlevel, typesys = import_extra("rosbags.highlevel"), import_extra("rosbags.typesys")
        fallback = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
        try:
            with highlevel.AnyReader([self.path], default_typestore=fallback) as reader:
                yield reader
        except (UserError, GeneratorExit):
            raise
        except Exception as error:  # the reader raises errors of many kinds on damaged files
            ros.require_ros2([self.path] if self.path.is_file() else _bag_files(self.path))
            reason = " ".join(str(error).split()) or type(error).__name__
            raise UserError(
                f"{self.path} cannot be read as a bag ({reason}); copy it again, or mend it by rosbag reindex, "
                "ros2 bag reindex or mcap recover"
            ) from error


def _bag_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and path.is_file())
