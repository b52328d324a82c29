"""Records the episodes of a plan: moves the arm, takes and checks frames, and writes each episode when it is whole.

Whatever ends the recording, the arm is stopped and the episodes that are whole are kept.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ropes.common import png
from ropes.common.arrays import Floats, Images
from ropes.common.progress import progress as show_progress
from ropes.data import schema
from ropes.data.recorder.checks import EpisodeChecks, Fault
from ropes.data.recorder.folder import LOG, Entry, RecordingFolder
from ropes.data.recorder.interfaces import Camera, Robot
from ropes.data.recorder.plan import Plan, Stop
from ropes.data.recorder.route import Checker, duration
from ropes.data.recorder.stillness import Poser, Settling, Taken, measure_noise
from ropes.data.recorder.travel import samples
from ropes.data.recordings.calibration import stored_camera
from ropes.data.recordings.views import View
from ropes.errors import UserError

#: Times that an episode is recorded again where another try can mend a fault.
_AGAIN = 1
#: Number of attempts to stop the arm, and what is said when one succeeds.
_STOPS, _STOPPED = 5, "the arm is stopped"
#: Lines about the first faults of a kind that are printed; then those of the 10th, the 100th and so on.
_LINES = 3


@dataclass(frozen=True, kw_only=True)
class Devices:
    """A robot and cameras that answer.

    Attributes:
        robot: the arm.
        cameras: by name.
        views: how the images of each camera are cropped, resized and turned to grey.
        first: an image of each camera.
    """

    robot: Robot
    cameras: Mapping[str, Camera]
    views: Mapping[str, View]
    first: Mapping[str, Images]


@dataclass(frozen=True, kw_only=True)
class Session:
    """A robot and cameras that are ready, and what to record with them.

    Attributes:
        devices: the robot and the cameras.
        plan: the poses.
        ranges: lowest and highest angles, (joints,) each.
        settling: how to decide that the arm stands still.
        state: store what the encoders read.
        check: finds the first position that is not free.
    """

    devices: Devices
    plan: Plan
    ranges: tuple[Floats, Floats]
    settling: Settling
    state: bool
    check: Checker


def record(
    session: Session,
    folder: RecordingFolder,
    route: Sequence[Sequence[Stop]],
    *,
    say: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Record the episodes of a route.

    Args:
        session: robot, cameras and plan.
        folder: what is recorded so far; episodes are added.
        route: episodes to record, see `Plan.route`.
        say: prints how long it took.
        progress: show progress.

    Returns:
        The features of the data set.

    Raises:
        UserError: the robot or a camera does not answer, or an image has another size than before.
    """
    robot, noun = session.devices.robot, session.plan.protocol.noun
    clock, began = robot.clock, time.monotonic()
    started, report = clock.now(), _Reporter(noun)
    try:
        features = _record(session, folder, route, report, progress)
        say(_pace(f"{len(route)} {noun}s", clock.now() - started, time.monotonic() - began))
    except UserError as error:
        kept = f"; {len(folder.entries)} {noun}s are kept: run the same command again to go on"
        raise UserError(f"{error}; {_stopped(robot)}{kept if folder.entries else ''}") from error
    except BaseException:
        print(_stopped(robot), file=sys.stderr, flush=True)
        raise
    finally:
        report.totals()
    if (line := _stopped(robot)) != _STOPPED:  # all episodes are there: the data set is finished all the same
        print(line, file=sys.stderr, flush=True)
    return features


def _stopped(robot: Robot) -> str:
    """Stop the arm, and say whether it is stopped; a further Ctrl-C, or one lost message, does not prevent it."""
    reason = ""
    for _ in range(_STOPS):
        try:
            robot.stop()
            return _STOPPED
        except (Exception, KeyboardInterrupt) as error:  # drivers raise whatever they like
            reason = f"{type(error).__name__}: {error}"
    return f"THE ARM MAY STILL MOVE, PRESS THE EMERGENCY STOP ({reason})"


def _record(
    session: Session,
    folder: RecordingFolder,
    route: Sequence[Sequence[Stop]],
    report: "_Reporter",
    progress: bool,
) -> dict[str, Any]:
    devices, plan = session.devices, session.plan
    noise = {name: measure_noise(name, camera) for name, camera in devices.cameras.items()}
    shapes = {name: devices.views[name].apply(image).shape for name, image in devices.first.items()}
    features = schema.features(tuple(devices.cameras), shapes, plan.joints if session.state else None)
    folder.begin([_described(devices, name, shape) for name, shape in shapes.items()])
    raw = {name: image.shape for name, image in devices.first.items()}
    poser = Poser(devices.robot, devices.cameras, noise, raw, plan.speed, session.ranges, session.settling)
    checks = EpisodeChecks(plan.protocol, noise)
    with show_progress(f"recording, {plan.protocol.noun}s", len(route), show=progress) as update:
        for done, stops in enumerate(route, 1):
            entry, taken = _episode(session, poser, checks, stops, report)
            states = None
            if session.state:
                states = np.array([_known(each) for each in taken])
            images = [[png.encode(devices.views[name].apply(f)) for name, f in each.frames.items()] for each in taken]
            folder.add(entry, features, images, states)
            update(done)
    return features


def _described(devices: Devices, name: str, shape: Sequence[int]) -> dict[str, Any]:
    """The record of a camera, with intrinsics and extrinsics of the stored images where they are known."""
    view, pinhole = devices.views[name], devices.cameras[name].pinhole()
    parameters = {} if pinhole is None else stored_camera(pinhole, view).to_record()
    source = list(devices.first[name].shape[:2])
    return {**parameters, "name": name, "view": view.to_dict(), "source_size": source, "shape": list(shape)}


def _pace(episodes: str, robot: float, wall: float) -> str:
    """How long it took, in seconds of the robot and of this machine."""
    faster = f", {robot / wall:.1f} times faster than real time" if robot > 1.5 * wall else ""
    return f"recorded {episodes} in {duration(robot)} of robot time{faster}"


def _known(taken: Taken) -> Floats:
    if taken.positions is None:
        raise UserError("the robot has no encoders; give --state none")
    return taken.positions


def _episode(
    session: Session, poser: Poser, checks: EpisodeChecks, stops: Sequence[Stop], report: "_Reporter"
) -> tuple[Entry, list[Taken]]:
    """Record one episode, and again where that can mend a fault; frames are in the order of their places."""
    plan, number, interruptions = session.plan, stops[0].episode, _interruptions(session.devices)
    clock, seconds = session.devices.robot.clock, np.zeros(len(stops))
    for attempt in range(_AGAIN + 1):
        # Again the arm is already at the first pose, and the detour to it began somewhere else.
        ways = [stop.via if not attempt or k else () for k, stop in enumerate(stops)]
        began, before = time.time(), _interruptions(session.devices)
        taken = {stop.place: poser.take(stop.pose, via) for stop, via in zip(stops, ways, strict=True)}
        seconds += [taken[stop.place].seconds for stop in stops]
        ordered = [taken[place] for place in range(len(stops))]
        stored: dict[str, list[Images]] = {
            name: [view.apply(each.frames[name]) for each in ordered] for name, view in session.devices.views.items()
        }
        faults = checks.faults(stored, plan.poses[number], plan.regimes[number], [each.still for each in ordered])
        for name, count in _interruptions(session.devices).items():
            if count > interruptions[name]:
                what = f"camera {name} gave no frame and was opened again; compare its exposure"
                # The note stays with frames that were all taken after the camera was opened again.
                faults.append(Fault(what, kind=what, again=count > before[name]))
        if attempt == _AGAIN or not any(fault.again for fault in faults):
            break
        first, again = next(fault for fault in faults if fault.again), f"; the {plan.protocol.noun} is recorded again"
        report(number, first.what + again, first.kind + again)
        left = clock.now()
        for pose in _way_back(stops, session.check):
            poser.move(pose)
        seconds[0] += clock.now() - left
    for fault in faults:
        report(number, fault.what, fault.kind)
    entry = Entry(
        number=number,
        began=round(began, 3),
        seconds=tuple(seconds.round(3).tolist()),
        order=tuple(stop.regime for stop in stops),
        faults=tuple(fault.what for fault in faults),
        unmended=tuple(fault.what for fault in faults if fault.again),
    )
    return entry, ordered


def _interruptions(devices: Devices) -> dict[str, int]:
    """Camera → how often it was opened again."""
    return {name: camera.interruptions for name, camera in devices.cameras.items()}


def _way_back(stops: Sequence[Stop], check: Checker) -> list[Floats]:
    """Poses on the way from the last pose of an episode to its first one, both left out.

    None if the direct move is free.  The plan does not have this move; it has the way through all poses.
    """
    direct = check(samples(np.array([stops[-1].pose, stops[0].pose]))[0])
    way = [stops[0].pose, *(pose for stop in stops[1:] for pose in stop.way)]
    return [] if direct is None else way[-2:0:-1]


class _Reporter:
    """Prints the first lines about faults of each kind and then ever fewer, and at the end the number of all."""

    def __init__(self, noun: str) -> None:
        self._noun, self._counts = noun, Counter[str]()

    def __call__(self, episode: int, what: str, kind: str) -> None:
        self._counts[kind] += 1
        count = self._counts[kind]
        if count <= _LINES:
            print(f"{self._noun} {episode}: {what}", file=sys.stderr, flush=True)
        elif str(count).rstrip("0") == "1":
            print(f"{self._noun} {episode}: {what} (the {count}th time)", file=sys.stderr, flush=True)

    def totals(self) -> None:
        """Print how often each kind came of which lines were left out."""
        lines = [f"{kind}: {count} times" for kind, count in self._counts.items() if count > _LINES]
        for line in [*lines, f"{LOG} lists what is wrong with each {self._noun}"] if lines else ():
            print(line, file=sys.stderr, flush=True)
