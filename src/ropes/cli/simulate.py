"""`ropes simulate`: renders an arm, the finger with its cube, or pairs of actions."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ropes.cli.options import at_least, parse_cameras, parse_ranges
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.simulation.settings import Setting

# Names of ropes.simulation.settings, whose import takes a second.
_FINGER_CUBE, _PAIRS, _ARM_ACTIONS = "finger-cube", "action-pairs", "arm-actions"
#: Settings whose training images are counted as such, two to a pair.
_SAMPLED = (_FINGER_CUBE, _PAIRS, _ARM_ACTIONS)


@dataclass(frozen=True, kw_only=True)
class Simulate:
    r"""Film an arm under interventions and store the images as a LeRobot v3.0 data set.

    To resume, run the same command again. Take one of the paper's settings, or any arm by its URDF file,
    the joints to estimate and a range for each. Setting finger-cube is a robot finger with a cube: pairs of colour
    images that differ in one factor. Settings action-pairs (things that are opened, lit, sliced, ...) and arm-actions
    (a joint of an arm up or down; the Panda's, or with --urdf any arm's) are pairs before and after an action.

    Example:
      ropes simulate --setting panda-2c-independent --anchors 50 --seed 1 --out data/two-cameras
      ropes simulate --setting panda-2c-independent --scene panda-gym --anchors 50 --out data/table
      ropes simulate --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 lbr_iiwa_joint_4 \
        --ranges -1:1 -1.5:1.5 --anchors 50 --out data/kuka
      ropes simulate --setting finger-cube --samples 500 --out data/finger
      ropes simulate --setting action-pairs --samples 500 --things 4 --out data/pairs
    """

    out: Path
    """Folder of the data set."""
    anchors: int | None = None
    """Anchors to draw for training; each is filmed once under every regime."""
    samples: int | None = None
    """With --setting finger-cube, action-pairs or arm-actions: training images, two to a pair."""
    setting: str | None = None
    """panda-1c-independent, panda-2c-independent, panda-2c-causal, panda-1c-six (one camera, all six joints vary, 2, 4
    and 6 are intervened on), finger-cube, action-pairs or arm-actions."""
    things: int | None = None
    """With --setting action-pairs: things in a scene, of which one is acted upon; 1 where left out."""
    urdf: Path | None = None
    """Any other arm: its URDF file (or one of pybullet_data)."""
    joints: tuple[str, ...] = ()
    """With --urdf: the joints that vary, by their names in the URDF."""
    ranges: tuple[str, ...] = ()
    """With --urdf: LOW:HIGH in radians for each of --joints, within the arm's limits."""
    camera: tuple[str, ...] = ()
    """With --urdf: NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=DEG,roll=DEG,fov=DEG], one for each camera;
    two views that keep the whole arm in sight where left out."""
    name: str | None = None
    """With --urdf: what the setting is called; the robot's name in the URDF where left out."""
    scene: Literal["white", "panda-gym"] = "white"
    """What stands behind an arm: nothing but white, or the table on a plane of panda-gym, as in the paper's images."""
    test_anchors: int = 2000
    """Observational poses (or images, where --samples counts those of the training) of each test split."""
    labelled: int | None = None
    """With --setting finger-cube: images of each split that regressors learn the factors from, in `ropes evaluate`; as
    many as --test-anchors where left out."""
    seed: int = 0
    """The same seed gives the same bytes, whatever the number of workers."""
    workers: int | None = None
    """Processes that render; one for each core where left out."""
    mesh: Literal["simplified", "full"] = "simplified"
    """Visual meshes with a twentieth of their triangles, or as they are."""
    state: bool = True
    """Store the joint angles (or factors) too, for the evaluation; training never reads them."""

    def __post_init__(self) -> None:
        asked, other = ("samples", "anchors") if self.setting in _SAMPLED else ("anchors", "samples")
        if getattr(self, asked) is None or getattr(self, other) is not None:
            named = ", ".join(_SAMPLED)
            raise UserError(f"give --{asked}; --samples goes with --setting {named}, --anchors with all others")
        at_least(1, **{asked: getattr(self, asked)})
        if self.setting in _SAMPLED and self.mesh != "simplified":
            raise UserError(f"--setting {self.setting} has one kind of meshes; leave --mesh out")
        if self.setting in (_FINGER_CUBE, _PAIRS) and self.scene != "white":
            raise UserError(f"--scene is of arms, and --setting {self.setting} has its own; leave it out")
        if self.labelled is not None:
            if self.setting != _FINGER_CUBE:
                raise UserError(f"--labelled are images of --setting {_FINGER_CUBE}; leave it out")
            at_least(0, labelled=self.labelled)
        if self.things is not None and self.setting != _PAIRS:
            raise UserError(f"--things are those of --setting {_PAIRS}; leave it out")
        if self.setting in (_PAIRS, _ARM_ACTIONS) and not self.state:
            raise UserError(f"--no-state goes with policies, not with --setting {self.setting}; leave it out")
        at_least(0, test_anchors=self.test_anchors, seed=self.seed)
        if self.workers is not None:
            at_least(1, workers=self.workers)
        if (self.setting is None) == (self.urdf is None) and self.setting != _ARM_ACTIONS:
            raise UserError("give either --setting NAME or --urdf FILE with --joints and --ranges")
        if self.urdf is None and (self.joints or self.ranges or self.camera or self.name):
            raise UserError("--joints, --ranges, --camera and --name go with --urdf, not with --setting")

    def execute(self) -> None:
        """Resolve the setting, then simulate it."""
        match self.setting:
            case name if name == _FINGER_CUBE:
                self._finger_and_cube()
            case name if name == _PAIRS:
                self._pairs()
            case name if name == _ARM_ACTIONS:
                self._arm_actions()
            case _:
                self._arm()
        print(f"wrote {self.out}")

    def _finger_and_cube(self) -> None:
        from ropes.data.generate_finger import simulate_finger
        from ropes.simulation.finger_setting import FingerSetting

        assert self.samples is not None
        simulate_finger(
            FingerSetting(),
            out=self.out,
            samples=self.samples,
            test_samples=self.test_anchors,
            labelled=self.labelled,
            seed=self.seed,
            workers=self.workers,
            state=self.state,
        )

    def _pairs(self) -> None:
        from ropes.data.generate_actions import simulate_pairs
        from ropes.simulation.actions import PairsSetting
        from ropes.simulation.settings import ACTION_PAIRS, MANY_THINGS

        assert self.samples is not None
        things = 1 if self.things is None else self.things
        simulate_pairs(
            PairsSetting(name=MANY_THINGS if things > 1 else ACTION_PAIRS, things=things),
            out=self.out,
            samples=self.samples,
            test_samples=self.test_anchors,
            seed=self.seed,
            workers=self.workers,
        )

    def _arm_actions(self) -> None:
        from ropes.data.generate_actions import simulate_arm_actions

        assert self.samples is not None
        simulate_arm_actions(
            self._setting_of_arm("panda-2c-independent"),
            out=self.out,
            samples=self.samples,
            test_samples=self.test_anchors,
            seed=self.seed,
            workers=self.workers,
        )

    def _setting_of_arm(self, named: str | None) -> "Setting":
        """That of the URDF file, or the paper's of this name, in the scene that is asked for."""
        if self.urdf is None:
            from ropes.simulation.settings import panda_setting

            assert named is not None
            return replace(panda_setting(named), scene=self.scene)
        from ropes.simulation.arm import arm_setting

        return arm_setting(
            urdf=str(self.urdf),
            joints=self.joints,
            ranges=parse_ranges(self.joints, self.ranges),
            cameras=parse_cameras(self.camera) or None,
            name=self.name,
            scene=self.scene,
        )

    def _arm(self) -> None:
        from ropes.data.generate import simulate

        assert self.anchors is not None
        simulate(
            self._setting_of_arm(self.setting),
            out=self.out,
            anchors=self.anchors,
            test_anchors=self.test_anchors,
            seed=self.seed,
            workers=self.workers,
            mesh=self.mesh,
            state=self.state,
        )
