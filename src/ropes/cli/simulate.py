"""`ropes simulate`: renders an arm, finger and cube, or pairs of actions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import (
    CLUSTER_HELP,
    DataLocation,
    at_least,
    parse_cameras,
    parse_ranges,
    rendering_workers,
    require_cluster,
    say_cut_off,
    say_renderer,
)
from ropes.errors import UserError
from ropes.simulation.backgrounds import BACKGROUNDS, SceneName, described_scenes, usual_scene

if TYPE_CHECKING:
    from ropes.simulation.settings import Setting
    from ropes.simulation.workers import Workers

# Names from ropes.simulation.settings, which takes a second to import.
_FINGER_CUBE, _PAIRS, _ARM_ACTIONS = "finger-cube", "action-pairs", "arm-actions"
#: Longest side of images, pixels; renderers draw images up to twice as large.
_LARGEST = 4096
#: Settings of image pairs, for which --samples counts training images.
_SAMPLED = (_FINGER_CUBE, _PAIRS, _ARM_ACTIONS)
_SCENE_HELP = (
    f"Background of an arm. {described_scenes()}. If omitted: room with --renderer mujoco, and otherwise that of the "
    "setting, which is white for the settings of ropes."
)


@dataclass(frozen=True, kw_only=True)
class Simulate:
    r"""Render an arm under interventions and store the images as a LeRobot v3.0 data set.

    To resume, run the same command again. Choose a setting, or give the URDF file of any arm with the joints to
    estimate and their ranges. Setting finger-cube is a robot finger with a cube: pairs of colour images that differ
    in one factor. Settings action-pairs (objects that are opened, lit, sliced, ...) and arm-actions (one joint of the
    Panda, or with --urdf of any arm, moves up or down) are pairs before and after an action.

    Example:
      ropes simulate --setting panda-2c-independent --anchors 50 --test-anchors 100 --seed 1 --out data/two-cameras
      ropes simulate --setting panda-2c-independent --scene panda-gym --anchors 1000 --out data/table
      ropes simulate --setting panda-2c-independent --scene panda-gym --chains 300 --out data/chains
      ropes simulate --setting panda-2c-independent --scene panda-gym --camera webcam --anchors 1000 --out data/webcam
      ropes simulate --setting panda-2c-independent --renderer mujoco --colour --anchors 1000 --out data/room
      ropes simulate --setting so101 --scene panda-gym --camera webcam --colour --anchors 1000 --out data/so101
      ropes simulate --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 lbr_iiwa_joint_4 \
        --ranges -1:1 -1.5:1.5 --anchors 50 --test-anchors 100 --out data/kuka
      ropes simulate --setting panda-2c-independent --anchors 1000 --on local --out data/two-cameras
      ropes simulate --setting finger-cube --samples 500 --out data/finger
      ropes simulate --setting action-pairs --samples 500 --objects 4 --out data/pairs
    """

    renamed: ClassVar[dict[str, str]] = {"--things": "--objects"}
    out: DataLocation
    """Folder of the data set; also a URL such as s3://BUCKET/FOLDER (docs/data.md)."""
    anchors: int | None = None
    """Training anchors; each is rendered once under every regime."""
    chains: int | None = None
    """In place of --anchors: chains of moves. Each move changes one joint, the joints take turns, and each moves five
    times in a chain."""
    frames_per_move: int | None = None
    """With --chains: frames on the way from each pose to the next; 2 if omitted. With --anchors: frames on the way from
    the observational pose to each pose under an intervention; none if omitted."""
    samples: int | None = None
    """With --setting finger-cube, action-pairs or arm-actions: training images, two per pair."""
    setting: str | None = None
    """panda-1c-independent, panda-2c-independent, panda-2c-causal, panda-1c-six (one camera; six joints vary, joints 2,
    4 and 6 are under intervention), panda-2c-chain, panda-2c-collider (joints cause one another, with nonlinear
    effects), so101 (pip install -e '.[so101]'), finger-cube, action-pairs, arm-actions, or a setting of another
    package."""
    objects: int | None = None
    """With --setting action-pairs: number of objects in a scene; the action changes one of them. 1 if omitted."""
    urdf: Path | None = None
    """URDF file of any other arm: a path, a file of pybullet_data, or so101."""
    joints: tuple[str, ...] = ()
    """With --urdf: names of the joints that vary."""
    ranges: tuple[str, ...] = ()
    """With --urdf: LOW:HIGH in radians for each of --joints, within the arm's limits."""
    camera: tuple[str, ...] = ()
    """For an arm: level of the simulated camera faults, clean, webcam or harsh; that of the setting if omitted. With
    --urdf also each camera as NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=DEG,roll=DEG,fov=DEG]; if omitted, two
    cameras that show the whole arm. The target, which the camera looks at, is in metres in the frame of the arm's base.
    At yaw 0 the camera looks along +y; a positive yaw turns it left, a positive pitch up, a positive roll clockwise.
    front:target=0/0/0.4,distance=2,yaw=90,pitch=-20 looks along -x from before the arm, and down."""
    camera_file: Path | None = None
    """JSON file with the parameters of real cameras, which take the place of the arm's: meta/ropes.json of an imported
    data set, see docs/live.md#overlays. Their images must be squares; --image-size is their size if omitted."""
    name: str | None = None
    """With --urdf: name of the setting; the robot's name in the URDF if omitted."""
    renderer: Literal["pybullet", "mujoco"] | None = None
    """pybullet, or mujoco with a furnished room, shadows and textures (pip install -e '.[mujoco]'). If omitted, mujoco
    for scenes that only it draws and where PyBullet is not installed, and otherwise pybullet."""
    scene: Annotated[SceneName | None, tyro.conf.arg(help=_SCENE_HELP)] = None
    colour: bool = False
    """Store images of an arm in RGB instead of grey."""
    image_size: int | None = None
    """Side of the square images in pixels, at most 4096; 128 if omitted, and 64 with --setting action-pairs."""
    test_anchors: int = 2000
    """Poses of each test split; with --samples, images of each split other than train."""
    labelled: int | None = None
    """With --setting finger-cube: images of each split for the regressors of `ropes evaluate`; as many as
    --test-anchors if omitted."""
    seed: int = 0
    """Random seed; equal seeds give identical files."""
    workers: int | None = None
    """Rendering processes; one per core if omitted."""
    on: Annotated[str | None, tyro.conf.arg(help=CLUSTER_HELP)] = None
    mesh: Literal["simplified", "full"] = "simplified"
    """Visual meshes: simplified to a twentieth of their triangles (with mujoco to 3%), or full."""
    state: bool = True
    """Store joint angles (or factors), for evaluation only."""

    def __post_init__(self) -> None:
        given = [name for name in ("samples", "anchors", "chains") if getattr(self, name) is not None]
        if given == ["anchors", "chains"]:
            raise UserError("give either --anchors or --chains, not both")
        if given not in ([["samples"]] if self.setting in _SAMPLED else [["anchors"], ["chains"]]):
            count, sampled = "samples" if self.setting in _SAMPLED else "anchors", ", ".join(_SAMPLED)
            raise UserError(
                f"give --{count}; --samples goes with --setting {sampled}, and --anchors or --chains with all others"
            )
        at_least(1, samples=self.samples, anchors=self.anchors, chains=self.chains)
        if self.frames_per_move is not None:
            if self.samples is not None:
                raise UserError("--frames-per-move goes with --anchors or --chains; leave it out")
            at_least(0, frames_per_move=self.frames_per_move)
        if self.setting in _SAMPLED and self.mesh != "simplified":
            raise UserError(f"--setting {self.setting} has one kind of meshes; leave --mesh out")
        if self.setting in (_FINGER_CUBE, _PAIRS) and self.scene is not None:
            raise UserError(f"--scene goes with arms, not with --setting {self.setting}; leave it out")
        if self.setting in (_FINGER_CUBE, _PAIRS) and self.colour:
            raise UserError(f"--setting {self.setting} is in colour anyway; leave --colour out")
        if self.renderer and self.scene and self.renderer not in BACKGROUNDS[self.scene].functions:
            drawer = BACKGROUNDS[self.scene].usual_renderer
            raise UserError(f"{drawer} draws --scene {self.scene}; leave --scene or --renderer {self.renderer} out")
        if self.labelled is not None:
            if self.setting != _FINGER_CUBE:
                raise UserError(f"--labelled goes with --setting {_FINGER_CUBE}; leave it out")
            at_least(0, labelled=self.labelled)
        if self.objects is not None and self.setting != _PAIRS:
            raise UserError(f"--objects goes with --setting {_PAIRS}; leave it out")
        if self.setting in (_PAIRS, _ARM_ACTIONS) and not self.state:
            raise UserError(f"--no-state does not go with --setting {self.setting}; leave it out")
        at_least(0, test_anchors=self.test_anchors, seed=self.seed)
        at_least(1, workers=self.workers)
        require_cluster(self.on, workers=self.workers)
        at_least(16, image_size=self.image_size)
        if self.image_size is not None and self.image_size > _LARGEST:
            raise UserError(f"--image-size is {self.image_size}; it must be {_LARGEST} or less")
        if (self.setting is None) == (self.urdf is None) and self.setting != _ARM_ACTIONS:
            raise UserError("give either --setting NAME or --urdf FILE with --joints and --ranges")
        if self.urdf is None and (self.joints or self.ranges or self._views or self.name):
            raise UserError("--joints, --ranges, views by --camera and --name go with --urdf, not with --setting")
        if self.camera_file is not None and (self._views or self.setting in _SAMPLED):
            other = f"--setting {self.setting}" if self.setting in _SAMPLED else "views by --camera"
            raise UserError(f"--camera-file goes with anchors of an arm, not with {other}")
        if self._level and self.setting in _SAMPLED:
            raise UserError(f"--camera {self._level} goes with anchors of an arm, not with --setting {self.setting}")

    @property
    def _level(self) -> str | None:
        """The level of the cameras' faults, where --camera names one."""
        levels = [text for text in self.camera if ":" not in text]
        if "" in levels:
            raise UserError("--camera is empty; give a view, or clean, webcam or harsh")
        if len(levels) > 1:
            raise UserError(f"--camera names two levels, {levels[0]} and {levels[1]}; give one")
        if not levels:
            return None
        from ropes.simulation.camera_levels import require_level

        require_level(levels[0])
        return levels[0]

    @property
    def _views(self) -> tuple[str, ...]:
        """The texts of --camera that describe views."""
        return tuple(text for text in self.camera if ":" in text)

    def execute(self) -> None:
        """Simulate the data set."""
        drawn: list[str] = []
        beside = options_beside(self.out)
        with rendering_workers(self.on, self.workers) as workers:
            self._simulate(workers, drawn.append)
        write_options(self, beside)
        print(f"wrote {self.out}")
        for scene in dict.fromkeys(drawn):
            say_renderer(scene)

    def _simulate(self, workers: "Workers", note: Callable[[str], None]) -> None:
        """Simulate the data set; `note` gets the scene if neither the user nor what is begun chooses its renderer."""
        common: dict[str, Any] = {"out": self.out, "seed": self.seed, "workers": workers}
        pairs = {**common, "samples": self.samples, "test_samples": self.test_anchors}
        if self.setting == _FINGER_CUBE:
            from ropes.data.generate_finger import simulate_finger
            from ropes.simulation.finger_setting import FingerSetting

            finger = FingerSetting(**self._drawn("white", note))
            simulate_finger(finger, **pairs, labelled=self.labelled, state=self.state)
        elif self.setting == _PAIRS:
            from ropes.data.generate_actions import simulate_pairs
            from ropes.simulation.actions import PairsSetting
            from ropes.simulation.settings import ACTION_PAIRS, OBJECT_SCENES

            objects = 1 if self.objects is None else self.objects
            name = OBJECT_SCENES if objects > 1 else ACTION_PAIRS
            simulate_pairs(PairsSetting(name=name, objects=objects, **self._drawn("white", note)), **pairs)
        elif self.setting == _ARM_ACTIONS:
            from ropes.data.generate_actions import simulate_arm_actions

            simulate_arm_actions(self._arm("panda-2c-independent", note), **pairs)
        else:
            from ropes.data.generate import simulate

            setting = self._arm(self.setting, note)
            common |= {"anchors": self.anchors, "test_anchors": self.test_anchors}
            only = {"chains": self.chains, "frames_per_move": self.frames_per_move}
            common |= {name: value for name, value in only.items() if value is not None}
            if self.camera_file is not None:
                say_cut_off(setting)
            simulate(setting, **common, mesh=self.mesh, state=self.state)

    def _renderer(self, scene: str, note: Callable[[str], None]) -> dict[str, Any]:
        """The renderer that is asked for, or else that of what is begun; a scene without either is noted."""
        from ropes.data.build import begun_renderer

        chosen = self.renderer or begun_renderer(self.out)
        if chosen is None:
            note(scene)
        return {} if chosen is None else {"renderer": chosen}

    def _drawn(self, scene: str, note: Callable[[str], None]) -> dict[str, Any]:
        """Renderer and image size of a setting without an arm, where they are not its own."""
        size = {} if self.image_size is None else {"image_size": self.image_size}
        return {**size, **self._renderer(scene, note)}

    def _arm(self, name: str | None, note: Callable[[str], None]) -> "Setting":
        """The setting of the URDF file, or the paper's setting of that name."""
        cameras, size = None, self.image_size
        if self.camera_file is not None:
            from ropes.simulation.pinhole import read_cameras

            cameras, side = read_cameras(self.camera_file)
            size = size or side
        if self.urdf is None:
            from ropes.simulation.settings import setting_named

            assert name is not None
            setting = setting_named(name)
            level, colour = self._level or setting.camera_level, self.colour or setting.colour
            scene, theirs = self._scene(setting.scene), setting.requested_renderer
            renderer = self.renderer or (theirs if theirs in BACKGROUNDS[scene].functions else None)
            if renderer is None:
                self._renderer(scene, note)
            return replace(
                setting,
                scene=scene,
                camera_level=level,
                colour=colour,
                requested_renderer=renderer,
                image_size=size or setting.image_size,
                cameras=tuple(cameras or setting.cameras),
            )
        from ropes.simulation.arm import arm_setting

        self._renderer(self._scene("white"), note)
        setting = arm_setting(
            urdf=str(self.urdf),
            joints=self.joints,
            ranges=parse_ranges(self.joints, self.ranges),
            cameras=cameras or parse_cameras(self._views) or None,
            cut_off=cameras is not None,
            name=self.name,
            scene=self._scene("white"),
            camera_level=self._level or "clean",
            colour=self.colour,
            **({} if size is None else {"image_size": size}),
        )
        return setting if self.renderer is None else replace(setting, requested_renderer=self.renderer)

    def _scene(self, default: SceneName) -> SceneName:
        """The scene of an arm."""
        if self.scene or self.renderer is None:
            return self.scene or default
        return usual_scene(self.renderer, default)
