"""A simulated arm with gravity, motors and delays, and cameras that see it late.

Time is simulated too: the clock advances only when somebody waits, so nothing sleeps.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from ropes.common.arrays import Floats, Images
from ropes.common.seeds import integer
from ropes.data.recorder.interfaces import Camera, Clock, Robot
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recorder.travel import progress_at, travel_time
from ropes.errors import UserError
from ropes.simulation.arm_dynamics import MovingArm
from ropes.simulation.camera_model import CameraModel, creep_of
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.scene import ArmScene
from ropes.simulation.settings import Camera as View
from ropes.simulation.workers import arm_scene

#: Frames a second; seconds from a command to the motors, and from the light to the frame.
FRAME_RATE, COMMAND_DELAY, CAMERA_DELAY = 30.0, 0.05, 0.1
#: Longest delay of a camera, seconds: the arm remembers no older positions.
_LONGEST = 1.0
#: Name of a recording's random draws.
_RECORDING = "record"


class SimulatedClock(Clock):
    """The clock of a simulated arm; waiting steps the arm."""

    def __init__(self, arm: MovingArm) -> None:
        self._arm = arm

    def now(self) -> float:
        """Simulated seconds."""
        return self._arm.now

    def sleep(self, seconds: float) -> None:
        """Step the arm."""
        if seconds > 0:
            self._arm.advance(seconds)


class SimulatedCamera(Camera):
    """Renders the arm as it stood some time ago.

    Args:
        arm: the arm.
        scene: draws it for one camera.
        pinhole: parameters of that camera.
        faults: for each frame in turn, a function that lays the camera's faults over it; None for none.
        delay: seconds from the light to the frame.
    """

    def __init__(
        self,
        arm: MovingArm,
        scene: ArmScene,
        pinhole: Pinhole,
        faults: Iterator[Callable[..., Images]] | None,
        delay: float,
    ) -> None:
        self._arm, self._scene, self._pinhole, self._faults = arm, scene, pinhole, faults
        self._delay, self._next = delay, 0.0

    def frame(self) -> Images:
        """Wait for the next frame and return it."""
        if (left := self._next - self._arm.now) > 0:
            self._arm.advance(left)
        self._next = self._arm.now + 1 / FRAME_RATE
        [(images, arms)] = self._scene.render_with_arms(self._arm.pose(self._delay)[None])
        return images[0] if self._faults is None else next(self._faults)(images[0], arm=arms[0])

    def skip(self, clock: Clock) -> None:
        """Let time pass until the next frame; frames that nobody sees are not rendered."""
        clock.sleep(self._next - clock.now())
        self._next = clock.now() + 1 / FRAME_RATE

    def pinhole(self) -> Pinhole:
        """The parameters with which the scene is drawn."""
        return self._pinhole

    def close(self) -> None:
        """Free the renderer."""
        self._scene.close()


class SimulatedRobot(Robot):
    """An arm that PyBullet steps, or MuJoCo where PyBullet is not installed.

    Args:
        request: arm, cameras and seed.
        command_delay: seconds from a command to the motors.
        camera_delay: seconds from the light to the frame.
    """

    def __init__(self, request: RobotRequest, command_delay: float, camera_delay: float) -> None:
        self.joints, self._request, self._camera_delay = request.joints, request, camera_delay
        low, high = request.limits.ranges(request.joints)
        self._arm = MovingArm(request.setting.robot, self.joints, (low + high) / 2, delay=command_delay)
        self.clock = SimulatedClock(self._arm)

    def positions(self) -> Floats:
        """Angles of the simulated joints."""
        return self._arm.positions

    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Start a move."""
        start, began = self._arm.positions, self._arm.now
        total = float(travel_time(start, positions, speed))
        self._arm.follow(lambda now: start + progress_at(now - began, total) * (positions - start))

    def stop(self) -> None:
        """Hold the arm where it is."""
        self._arm.hold()

    def cameras(self) -> Mapping[str, Camera]:
        """The cameras of the setting."""
        return {view.name: self._camera(view) for view in self._request.setting.cameras}

    def _camera(self, view: View) -> SimulatedCamera:
        setting, request = self._request.setting, self._request
        faults = None if setting.camera_level == "clean" else camera_faults(request, view.name)
        scene, pinhole = arm_scene(setting, cameras=[view], seed=request.seed), Pinhole.of(view, setting.image_size)
        return SimulatedCamera(self._arm, scene, pinhole, faults, self._camera_delay)

    def close(self) -> None:
        """Free the simulator."""
        self._arm.close()


def camera_faults(request: RobotRequest, camera: str) -> Iterator[Callable[..., Images]]:
    """Endless faults of a simulated camera.

    They are drawn for as many frames as the recording takes, about.  If it takes more, they continue from the last
    frame with new draws: light, mount and passers-by go on, and the noise is another one.  In a recording that goes on
    after a stop, light, passers-by and noise are other ones than before.  Its mount goes on from where the frames of
    the recorded episodes moved it, as if nothing had stopped, unless the number of all frames has changed.

    Args:
        request: setting, number of frames, seed, and the episodes that are recorded already.
        camera: its name.

    Yields:
        For each frame, a function from the image and the mask of the arm to the degraded image.
    """
    setting, first = request.setting, min(round(request.held_share * request.frames), request.frames - 1)
    shape = (setting.image_size,) * 2 + ((3,) if setting.colour else ())
    draw = partial(CameraModel, setting.camera_level, shape, seed=request.seed, camera=camera)
    recording, frames, creep = _RECORDING, request.frames, None
    if request.held:
        recording, frames = f"{_RECORDING} after {integer(0, *sorted(request.held))}", request.frames - first
        whole = creep_of(setting.camera_level, request.frames, seed=request.seed, camera=camera, recording=_RECORDING)
        creep = whole.part(first, frames)
    model = draw(frames, recording=recording, creep=creep)
    for further in itertools.count(1):
        for frame in range(model.frames):
            yield partial(model, frame=frame)
        model = draw(request.frames, recording=f"{recording}, {further}", after=model)


def open_robot(request: RobotRequest) -> SimulatedRobot:
    """A simulated robot; options command-delay and camera-delay are in seconds.

    Raises:
        UserError: an option is wrong.
    """
    given = request.take("command-delay", "camera-delay")
    seconds = partial(_seconds, given)
    return SimulatedRobot(request, seconds("command-delay", COMMAND_DELAY), seconds("camera-delay", CAMERA_DELAY))


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    try:
        value = float(given.get(name, default))
    except ValueError:
        value = -1.0
    if not 0 <= value <= _LONGEST:
        raise UserError(f"--robot-options: {name} is {given[name]!r}; it must be 0 to {_LONGEST:g} seconds")
    return value
