"""Subcommands that make, check and copy data sets of images, and take images out of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ropes.commands.options import DataFolder, at_least, parse_cameras, parse_ranges
from ropes.errors import UserError

_FINGER_CUBE = "finger-cube"  # that of ropes.settings, whose import takes a second


@dataclass(frozen=True, kw_only=True)
class Simulate:
    r"""Film an arm under interventions and store the images as a LeRobot v3.0 data set.

    Interrupted, the same command goes on. Take one of the paper's settings, or any arm by its URDF file,
    the joints to estimate and a range for each. Setting finger-cube is a robot finger with a cube: pairs of colour
    images that differ in one factor.

    Example:
      ropes simulate --setting panda-2c-independent --anchors 50 --seed 1 --out data/two-cameras
      ropes simulate --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 lbr_iiwa_joint_4 \
        --ranges -1:1 -1.5:1.5 --anchors 50 --out data/kuka
      ropes simulate --setting finger-cube --samples 500 --out data/finger
    """

    out: Path
    """Folder of the data set."""
    anchors: int | None = None
    """Anchors to draw for training; each is filmed once under every regime."""
    samples: int | None = None
    """With --setting finger-cube: training images, two to a pair."""
    setting: str | None = None
    """panda-1c-independent, panda-2c-independent, panda-2c-causal or finger-cube."""
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
    test_anchors: int = 2000
    """Observational poses (or images of finger and cube) of each test split."""
    seed: int = 0
    """The same seed gives the same bytes, whatever the number of workers."""
    workers: int | None = None
    """Processes that render; one for each core where left out."""
    mesh: Literal["simplified", "full"] = "simplified"
    """Visual meshes with a twentieth of their triangles, or as they are."""
    state: bool = True
    """Store the joint angles (or factors) too, for the evaluation; training never reads them."""

    def __post_init__(self) -> None:
        asked, other = ("samples", "anchors") if self.setting == _FINGER_CUBE else ("anchors", "samples")
        if getattr(self, asked) is None or getattr(self, other) is not None:
            raise UserError(f"give --{asked}; --samples goes with --setting {_FINGER_CUBE}, --anchors with all others")
        at_least(1, **{asked: getattr(self, asked)})
        if self.setting == _FINGER_CUBE and self.mesh != "simplified":
            raise UserError(f"--setting {_FINGER_CUBE} has one kind of meshes; leave --mesh out")
        at_least(0, test_anchors=self.test_anchors, seed=self.seed)
        if self.workers is not None:
            at_least(1, workers=self.workers)
        if (self.setting is None) == (self.urdf is None):
            raise UserError("give either --setting NAME or --urdf FILE with --joints and --ranges")
        if self.urdf is None and (self.joints or self.ranges or self.camera or self.name):
            raise UserError("--joints, --ranges, --camera and --name go with --urdf, not with --setting")

    def execute(self) -> None:
        """Resolve the setting, then simulate it."""
        if self.setting == _FINGER_CUBE:
            self._finger_and_cube()
        else:
            self._arm()
        print(f"wrote {self.out}")

    def _finger_and_cube(self) -> None:
        from ropes.data.generate_finger import simulate_finger
        from ropes.finger import FingerSetting

        assert self.samples is not None
        simulate_finger(
            FingerSetting(),
            out=self.out,
            samples=self.samples,
            test_samples=self.test_anchors,
            seed=self.seed,
            workers=self.workers,
            state=self.state,
        )

    def _arm(self) -> None:
        assert self.anchors is not None
        if self.setting is not None:
            from ropes.settings import panda_setting

            setting = panda_setting(self.setting)
        else:
            from ropes.simulate.arm import arm_setting

            assert self.urdf is not None
            setting = arm_setting(
                urdf=str(self.urdf),
                joints=self.joints,
                ranges=parse_ranges(self.joints, self.ranges),
                cameras=parse_cameras(self.camera) or None,
                name=self.name,
            )
        from ropes.data.generate import simulate

        simulate(
            setting,
            out=self.out,
            anchors=self.anchors,
            test_anchors=self.test_anchors,
            seed=self.seed,
            workers=self.workers,
            mesh=self.mesh,
            state=self.state,
        )


@dataclass(frozen=True, kw_only=True)
class Validate:
    """Check a data set, and name the file, the row and the fault where there is one.

    Example:
      ropes validate data/two-cameras
    """

    data: DataFolder
    """Data set to check."""

    def execute(self) -> None:
        """Validate; faults are raised."""
        from ropes.data.validate import validate

        print(validate(self.data))


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Copy a data set without its joint angles, commanded positions and seed: complete for label-free training.

    The distributions that the angles were drawn from stay, for the Bayes floors.

    Example:
      ropes strip data/two-cameras --out data/two-cameras-unlabelled
    """

    data: DataFolder
    """Data set to copy."""
    out: Path
    """Folder of the copy."""

    def execute(self) -> None:
        """Copy all but `observation.state` and `action`."""
        from ropes.data.layout import strip_states

        strip_states(self.data, self.out)
        print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write images of a data set as files, FOLDER/CAMERA/INDEX.png, for example to try ropes predict with.

    Example:
      ropes export data/two-cameras --split test-id --count 4 --out photos
    """

    data: DataFolder
    """Data set to take the images from."""
    out: Path
    """Folder of the images."""
    split: str = "test-id"
    """Split to take them from."""
    count: int = 4
    """Poses, the first ones of the split; one image for each camera and pose."""

    def __post_init__(self) -> None:
        at_least(1, count=self.count)

    def execute(self) -> None:
        """Write the images."""
        from ropes.data.export import export_images

        export_images(self.data, self.split, self.count, self.out)
        print(f"wrote {self.out}")
