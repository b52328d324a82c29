"""Settings: a robot, its cameras, and the causal model of each split."""

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from ropes.causal.scm import CausalModel
from ropes.common.plugins import load_plugins
from ropes.errors import UserError, one_of, suggestion
from ropes.simulation.availability import SO101
from ropes.simulation.backgrounds import BACKGROUNDS, RendererName, SceneName


def usual_renderer(scene: str) -> RendererName:
    """The renderer of a scene where both are installed; PyBullet for a scene that this version does not have."""
    return BACKGROUNDS[scene].usual_renderer if scene in BACKGROUNDS else "pybullet"


def default_renderer(scene: str) -> RendererName:
    """The renderer of a scene on this machine: the usual one, or MuJoCo where PyBullet is not installed."""
    usual = usual_renderer(scene)
    return usual if usual == "mujoco" or find_spec("pybullet") else "mujoco"


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A pinhole camera that looks at `target` (metres) from `distance` (metres); angles in degrees.

    `fov` is the angle from the upper to the lower border.  `centre` is where the optical axis meets the image: right of
    and below its middle, as shares of the side.  `stretch` is the horizontal over the vertical focal length.
    """

    name: str
    target: tuple[float, float, float]
    distance: float
    yaw: float
    pitch: float
    roll: float
    fov: float
    centre: tuple[float, float] = (0.0, 0.0)
    stretch: float = 1.0

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            ValueError: a value is not possible.
        """
        if not re.fullmatch(r"[^\s/=]+", self.name) or self.name in (".", ".."):
            # The name is part of folder names and of options CAMERA=FILE.
            raise ValueError(f"the name {self.name!r} is empty or has a slash, a dot alone, an = or white space in it")
        if len(self.target) != 3:
            raise ValueError(f"target has {len(self.target)} numbers, not x, y and z in metres")
        for name in ("target", "distance", "yaw", "pitch", "roll", "fov", "centre", "stretch"):
            value = getattr(self, name)
            if not all(math.isfinite(number) for number in (value if isinstance(value, tuple) else (value,))):
                raise ValueError(f"{name} is {value}, which is not finite")
        if self.distance <= 0:
            raise ValueError(f"distance is {self.distance:g} m; it must be above 0")
        if not 0 < self.fov < 180:
            raise ValueError(f"fov is {self.fov:g}°; it must be above 0 and below 180")
        if self.stretch <= 0:
            raise ValueError(f"stretch is {self.stretch:g}; it must be above 0")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description; without `centre` and `stretch`, which older ones lack, where they are the usual."""
        return camera_description(asdict(self))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Camera":
        """Build a camera from the description of `to_dict`."""
        pairs = {name: tuple(content[name]) for name in ("target", "centre") if name in content}
        return cls(**{**content, **pairs})


def camera_description(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`Camera.to_dict` of the fields of a camera, as `dataclasses.asdict` gives them."""
    content = {**fields, "target": list(fields["target"]), "centre": list(fields["centre"])}
    if not any(content["centre"]):
        del content["centre"]
    if content["stretch"] == 1:
        del content["stretch"]
    return content


@dataclass(frozen=True, kw_only=True)
class Robot:
    """A fixed-base arm.

    Attributes:
        urdf: path of the URDF file, absolute, or relative as `ropes.simulation.availability.locate` resolves it.
        joints: URDF names of the joints that a pose sets.
        neutral: angles in radians of the joints that a pose omits; 0 by default.
        check_limits: reject poses outside the URDF's limits.  Only the paper's Panda, whose simulated joint 4 leaves
            them, turns this off; never do so for a real robot.
    """

    urdf: str
    joints: tuple[str, ...]
    neutral: Mapping[str, float] = field(default_factory=dict)
    check_limits: bool = True


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A robot, its cameras, a causal model for each split, the images' side in pixels, and the background.

    `camera_level` is that of the cameras' faults, see `ropes.simulation.camera_levels.LEVELS`.  With `colour`, images
    are RGB instead of grey.  `requested_renderer` is None for `default_renderer`.
    """

    name: str
    robot: Robot
    cameras: tuple[Camera, ...]
    splits: Mapping[str, CausalModel]
    image_size: int = 128
    scene: SceneName = "white"
    camera_level: str = "clean"
    colour: bool = False
    requested_renderer: RendererName | None = None

    @property
    def renderer(self) -> RendererName:
        """The renderer that draws the scene on this machine."""
        return self.requested_renderer or default_renderer(self.scene)

    def with_renderer(self, begun: RendererName | None = None) -> "Setting":
        """The setting with a requested renderer, so that its description is the same on every machine.

        Args:
            begun: renderer of the data set that goes on, unless another one is requested; None for `renderer`.
        """
        return replace(self, requested_renderer=self.requested_renderer or begun or self.renderer)

    @property
    def independent(self) -> bool:
        """Whether no joint depends on another in training."""
        return not self.splits["train"].weights

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description; `from_dict` is its inverse."""
        renderer = self.requested_renderer
        return {
            "name": self.name,
            "robot": {**asdict(self.robot), "joints": list(self.robot.joints), "neutral": dict(self.robot.neutral)},
            "cameras": [camera.to_dict() for camera in self.cameras],
            "splits": {split: model.to_dict() for split, model in self.splits.items()},
            "image_size": self.image_size,
            # Older descriptions have none of these.
            **({} if self.scene == "white" else {"scene": self.scene}),
            **({} if self.camera_level == "clean" else {"camera_level": self.camera_level}),
            **({"colour": True} if self.colour else {}),
            **({} if renderer in (None, usual_renderer(self.scene)) else {"renderer": renderer}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Setting":
        """Build a setting from the description of `to_dict`."""
        robot = {**content["robot"], "joints": tuple(content["robot"]["joints"])}
        return cls(
            name=content["name"],
            robot=Robot(**robot),
            cameras=tuple(Camera.from_dict(camera) for camera in content["cameras"]),
            splits={split: CausalModel.from_dict(model) for split, model in content["splits"].items()},
            image_size=content["image_size"],
            scene=one_of(tuple(BACKGROUNDS), content.get("scene", "white"), "scene"),
            camera_level=content.get("camera_level", "clean"),
            colour=content.get("colour", False),
            requested_renderer=content.get("renderer"),
        )


#: The setting of the disentanglement study, see `ropes.simulation.finger_setting`.
FINGER_CUBE = "finger-cube"
#: Settings of actions, see `ropes.simulation.actions`: on one object, on one of several objects, on an arm's joints.
ACTION_PAIRS, OBJECT_SCENES, ARM_ACTIONS = "action-pairs", "action-scenes", "arm-actions"
#: `action-pairs` with other objects held out: setting → seed of the hold-out.
RANDOM_HOLD_OUTS = {f"{ACTION_PAIRS}-drawn-{seed}": seed for seed in range(5)}
#: The setting whose arm and cameras `arm-actions` uses; the packaged estimator reads its images.
ARM_SETTING = "panda-2c-independent"
#: Causal Triplet's recordings: images cropped to the object, and whole scenes.
RECORDED_PAIRS, RECORDED_SCENES = "causal-triplet", "causal-triplet-scenes"
#: MPI3D's photographs: anchors of the arm's two axes, pairs that differ in one factor, and test points for both.
MPI3D, MPI3D_FACTORS, MPI3D_GRID = "mpi3d", "mpi3d-factors", "mpi3d-grid"
#: The paper's settings of the Panda, see `ropes.simulation.panda`.
SETTINGS = ("panda-1c-independent", "panda-2c-independent", "panda-2c-causal", "panda-1c-six")
#: Settings of the Panda with other causal graphs, whose effects are not linear.
GRAPH_SETTINGS = ("panda-2c-chain", "panda-2c-collider")
#: All settings of the Panda.
PANDA = (*SETTINGS, *GRAPH_SETTINGS)
_NAMES = {SO101, FINGER_CUBE, ACTION_PAIRS, OBJECT_SCENES, ARM_ACTIONS, RECORDED_PAIRS, RECORDED_SCENES}
_NAMES |= {MPI3D, MPI3D_FACTORS, MPI3D_GRID}
_NAMES |= {*PANDA, *RANDOM_HOLD_OUTS}


def setting_named(name: str) -> Setting:
    """The setting of an arm of that name: one of the Panda, the SO-101, or one of another package.

    Other packages add a `Setting` by the entry point "ropes.settings", under the setting's name.

    Raises:
        UserError: no setting of that name, or its package cannot be loaded.
    """
    if (setting := find_setting(name)) is not None:
        return setting
    plugins, broken = plugin_settings()
    if name in broken:
        raise UserError(f"setting {name} cannot be loaded ({broken[name]}); update or uninstall its package")
    if name in (FINGER_CUBE, ACTION_PAIRS, ARM_ACTIONS):
        raise UserError(f"setting {name} has pairs of images, not poses; use `ropes simulate --setting {name}`")
    names = (*PANDA, SO101, *plugins)
    raise UserError(f"unknown setting {name!r}: {suggestion(name, names, 'choose one of ' + ', '.join(names))}")


def find_setting(name: str) -> Setting | None:
    """As `setting_named`; None if there is no such setting."""
    if name in PANDA:
        from ropes.simulation.panda import panda_setting  # which imports this module

        return panda_setting(name)
    if name == SO101:  # the setting has the name of its arm
        from ropes.simulation.so101 import so101_setting

        return so101_setting()
    return plugin_settings()[0].get(name)


@cache
def plugin_settings() -> tuple[dict[str, Setting], dict[str, str]]:
    """Load the settings of other packages, once in a process.

    Returns:
        Name → setting of another package; and name → fault of each plug-in that cannot be used.
    """
    return load_plugins("ropes.settings", _fault)


def _fault(name: str, setting: object) -> str | None:
    if not isinstance(setting, Setting):
        return f"its entry point is a {type(setting).__name__}, not a Setting"
    if setting.name != name:
        return f"its entry point is called {name} and its Setting {setting.name}"
    if "train" not in setting.splits:
        return "its splits lack train"
    return f"setting {name} is part of ropes; choose another name" if name in _NAMES else None
