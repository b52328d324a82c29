"""`ropes record`: from options to a plan, to a robot, to a data set."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ropes.causal.scm import CausalModel
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.recorder.cameras import open_camera
from ropes.data.recorder.checks import require_same_cameras
from ropes.data.recorder.folder import RecordingFolder
from ropes.data.recorder.interfaces import Camera, Robot
from ropes.data.recorder.limits import Limits
from ropes.data.recorder.plan import Plan, Stop, draw_plan, middle_of
from ropes.data.recorder.protocols import AnchorProtocol, ChainProtocol, RecordingProtocol
from ropes.data.recorder.registry import RobotRequest, kind_named, open_robot
from ropes.data.recorder.route import Route, describe, free_route, from_start
from ropes.data.recorder.session import Devices, Session, record
from ropes.data.recorder.stillness import Settling, asked, read_positions, take
from ropes.data.recordings.views import View
from ropes.errors import UserError
from ropes.simulation.availability import locate
from ropes.simulation.collisions import CollisionChecker
from ropes.simulation.joints import Joint
from ropes.simulation.settings import Setting
from ropes.simulation.urdf import read_urdf

#: What is asked before the arm moves.
_MAY_MOVE = "Is the way free, and the emergency stop at hand? The arm moves now"
#: Distance from its place in the simulated plan above which an uncommanded joint is reported, radians.
_ELSEWHERE = 0.1
#: Frames of a pose, about, for which a simulated camera draws its faults.
_FRAMES = 3


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """What to record, with what, and how.

    Attributes:
        kind: of the robot.
        setting: arm and distributions ("train"); for the simulated kind also cameras and scene.
        limits: of the arm.
        anchors: how many the data set has in the end.
        chains: how many chains of moves it has in the end, in place of anchors.
        cameras: name → source, see `open_camera`; empty for the robot's own.
        robot_options: of the kind.
        views: camera → view; None is the key for all other cameras.
        state: store what the encoders read.
        settling: how to decide that the arm stands still.
        seed: draws the poses.
        redraw: draw episodes that are not free again.
        only_plan: print the plan, and move nothing.
        ask: asks a question whose answer must be yes: after the plan is printed whether the arm may move, and before
            that whether the robot may be connected, see `RobotRequest`.  None to go on without asking, where nothing is
            in doubt.
        require_answer: called before devices are connected, where the arm has to move and `ask` is given; raises
            UserError where nobody can answer.

    Raises:
        UserError: anchors and chains are given, or neither, or fewer than 1; or a joint depends on another one.
    """

    kind: str
    setting: Setting
    limits: Limits
    anchors: int | None = None
    chains: int | None = None
    cameras: Mapping[str, str] = field(default_factory=dict)
    robot_options: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str | None, View] = field(default_factory=dict)
    state: bool = True
    settling: Settling = field(default_factory=Settling)
    seed: int = 0
    redraw: bool = False
    only_plan: bool = False
    ask: Callable[[str], None] | None = None
    require_answer: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        if (self.anchors is None) == (self.chains is None) or self.episodes < 1:
            raise UserError("give either a number of anchors or a number of chains, at least 1")
        if self.model.weights:
            cause, joint = next(iter(self.model.weights))
            raise UserError(f"joint {joint} of the setting depends on {cause}; a recording draws each joint by itself")

    @property
    def episodes(self) -> int:
        """How many episodes the data set has in the end."""
        return self.anchors or self.chains or 0

    @property
    def protocol(self) -> RecordingProtocol:
        """What an episode is."""
        return AnchorProtocol(self.model) if self.chains is None else ChainProtocol(self.model)

    @property
    def model(self) -> CausalModel:
        """Distributions of the joints."""
        return self.setting.splits["train"]

    def identity(self) -> dict[str, Any]:
        """What must agree where a recording goes on."""
        return {
            "recorder": {"kind": self.kind, "state": self.state},
            "seed": self.seed,
            "setting": building.described(self.setting),
        }


def record_data(
    options: RecordOptions, out: Path, *, say: Callable[[str], None] = print, progress: bool = True
) -> Dataset | None:
    """Record a data set, or go on with one.

    Args:
        options: see `RecordOptions`.
        out: folder of the data set.
        say: prints the plan.
        progress: show progress.

    Returns:
        The finished data set; None if only the plan was asked for.

    Raises:
        UserError: the plan is not free, the robot or a camera does not answer, or `out` holds something else or a
            recording with another robot, other distributions, another seed or other cameras.
    """
    kind_named(options.kind)
    request = {**building.versions(), "limits": options.limits.to_dict()}
    protocol, wanted = options.protocol, options.episodes
    folder = RecordingFolder(out, options.identity(), request, protocol, progress=progress)
    folder.require_cameras(tuple(options.cameras), options.views)
    done = {entry.number for entry in folder.entries}
    if (held := len(folder.slots)) > wanted:
        raise UserError(_too_few(out, folder, protocol.noun, held))
    for path in folder.damaged:
        say(f"{path} is damaged: its {protocol.noun} does not count, and one will be recorded in its place")
    if folder.finished and len(done) == wanted:
        return open_dataset(out)
    plan = draw_plan(protocol, wanted, options.seed, options.limits.speeds(options.model.joints))
    # Episodes of an earlier, longer plan may be beyond this one; they count all the same.
    left = sorted(set(range(wanted)) - done)[: wanted - len(done)]
    if not left:
        for line in describe(Route(plan, [], 0), options.settling.settle, (), len(done)):
            say(line)
        return None if options.only_plan else _finish_as_it_is(options, folder, progress)
    if options.ask is not None and not options.only_plan:
        options.require_answer()
    with ExitStack() as stack:
        # The simulation of a long plan takes minutes: so devices that do not answer are reported first.
        devices = None if options.only_plan else _connect(stack, options, plan, folder)
        checker = stack.enter_context(_checker(options))
        route = free_route(plan, left, checker.first, redraw=options.redraw, show=progress)
        for line in describe(route, options.settling.settle, checker.ignored, len(done), checker.unchecked):
            say(line)
        if devices is None:
            return None
        _agree(options, devices.robot, route, say)
        session = Session(
            devices=devices,
            plan=route.plan,
            ranges=options.limits.ranges(options.model.joints),
            settling=options.settling,
            state=options.state,
            check=checker.first,
        )
        # Somebody may have moved the arm before the answer.
        stops = from_start(read_positions(devices.robot), route.stops, middle_of(options.model), checker.first)
        features = record(session, folder, stops, say=say, progress=progress)
    return folder.finish(features, locate(options.setting.robot.urdf), progress=progress)


def _too_few(out: Path, folder: RecordingFolder, noun: str, held: int) -> str:
    """The message on a smaller number of episodes than there are places for, of which `held` are taken."""
    gone = [out / schema.data_file(place) for place, entry in enumerate(folder.slots) if entry is None]
    if not gone:
        return f"{out} holds {held} {noun}s already; give --{noun}s {held} or more"
    which = f"{gone[0]} is" if len(gone) == 1 else f"{len(gone)} files, such as {gone[0]}, are"
    return f"{which} missing or damaged; give --{noun}s {held} or more to record such {noun}s again"


def _checker(options: RecordOptions) -> CollisionChecker:
    """Checks positions of the arm."""
    joints = options.model.joints
    middle = np.clip(middle_of(options.model), *options.limits.ranges(joints))
    return CollisionChecker(options.setting.robot, joints, middle, options.limits.workspace)


def _finish_as_it_is(options: RecordOptions, folder: RecordingFolder, progress: bool) -> Dataset:
    """Write the metadata of a recording whose episodes are all there."""
    shapes = {camera["name"]: camera["shape"] for camera in folder.cameras or []}
    joints = options.model.joints if options.state else None
    features = schema.features(tuple(shapes), shapes, joints)
    return folder.finish(features, locate(options.setting.robot.urdf), progress=progress)


def _agree(options: RecordOptions, robot: Robot, route: Route, say: Callable[[str], None]) -> None:
    """Ask whether the arm may move, after all doubts are told; ask again if there are new ones with the answer.

    Raises:
        UserError: the answer is no, or there are doubts and nobody is asked.
    """
    told: set[str] | None = None
    arm = read_urdf(locate(options.setting.robot.urdf)).moving
    while True:
        doubts = _elsewhere(asked("the robot", robot.others), options.setting.robot.neutral, arm)
        if read_positions(robot) is None:
            doubts["the start"] = _unknown_start(route.plan, route.stops[0][0], arm)
        new = {what: line for what, line in doubts.items() if what not in (told or ())}
        if told is not None and not new:
            return
        if new and options.ask is None:
            raise UserError(f"{'; '.join(new.values())}; or leave --yes out, to be asked")
        for line in new.values():
            say(line)
        if options.ask is not None:
            options.ask(_MAY_MOVE)
        told = {*(told or ()), *new}


def _unknown_start(plan: Plan, first: Stop, arm: Mapping[str, Joint]) -> str:
    """What somebody must do before an arm without encoders moves."""
    goal = zip(plan.joints, first.pose.tolist(), strict=True)
    pose = ", ".join(f"{name} {arm[name].position_in_words(value)}" for name, value in goal)
    return (
        "no encoders: the first move starts from an unknown place and is not checked; bring the arm near its goal "
        f"first: {pose}"
    )


def _elsewhere(others: Mapping[str, float], neutral: Mapping[str, float], arm: Mapping[str, Joint]) -> dict[str, str]:
    """A line for each joint that the plan leaves out and that is not where the plan was simulated with it."""
    return {
        name: f"joint {name} stands at {arm[name].position_in_words(value)}; "
        f"the plan was simulated with it at {arm[name].position_in_words(neutral[name])}: move it there"
        for name, value in others.items()
        if name in neutral and abs(value - neutral[name]) > _ELSEWHERE
    }


def _connect(stack: ExitStack, options: RecordOptions, plan: Plan, folder: RecordingFolder) -> Devices:
    """Connect to the robot and the cameras, and check that they answer; `stack` closes them.  Nothing moves."""
    request = RobotRequest(
        joints=plan.joints,
        setting=options.setting,
        limits=options.limits,
        options=options.robot_options,
        seed=options.seed,
        frames=max(1, plan.regimes.size * _FRAMES),
        held=frozenset(entry.number for entry in folder.entries),
        held_share=min(1.0, len(folder.entries) / options.episodes),
        off=options.settling.off,
        ask=options.ask,
    )
    robot = open_robot(options.kind, request)
    stack.callback(_quietly, robot.close)
    if robot.joints != plan.joints:
        raise UserError(f"the robot commands {', '.join(robot.joints)}, not {', '.join(plan.joints)}")
    if options.state and read_positions(robot) is None:
        raise UserError("the robot has no encoders; give --state none")
    cameras: dict[str, Camera] = {}
    for name, source in options.cameras.items():
        cameras[name] = open_camera(name, source)
        stack.callback(_quietly, cameras[name].close)
    if not options.cameras:
        cameras = dict(robot.cameras())
        for camera in cameras.values():
            stack.callback(_quietly, camera.close)
    if not cameras:
        raise UserError("this robot has no cameras of its own; give --cameras NAME=SOURCE")
    if unknown := [name for name in options.views if name is not None and name not in cameras]:
        raise UserError(f"no camera {unknown[0]!r}; there are {', '.join(cameras)}")
    views = {name: options.views.get(name, options.views.get(None, View())) for name in cameras}
    first = {name: take(name, camera, None) for name, camera in cameras.items()}
    for name, image in first.items():
        views[name].require_inside(name, image)
    if len({view.apply(first[name]).ndim for name, view in views.items()}) > 1:
        raise UserError("some cameras are grey and others in colour; give --grey to make all grey")
    require_same_cameras(folder, {name: view.apply(first[name]) for name, view in views.items()})
    return Devices(robot=robot, cameras=cameras, views=views, first=first)


def _quietly(close: Callable[[], None]) -> None:
    """Close a device that may have gone."""
    with suppress(Exception):
        close()
