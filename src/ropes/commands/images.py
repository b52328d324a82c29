"""Subcommands that make, check and copy data sets of images, and take images out of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ropes.commands.options import DataFolder, at_least, parse_cameras, parse_ranges
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.settings import Setting

# Names of ropes.settings, whose import takes a second.
_FINGER_CUBE, _PAIRS, _ARM_ACTIONS = "finger-cube", "action-pairs", "arm-actions"
#: Settings whose training images are counted as such, two to a pair.
_SAMPLED = (_FINGER_CUBE, _PAIRS, _ARM_ACTIONS)


@dataclass(frozen=True, kw_only=True)
class Simulate:
    r"""Film an arm under interventions and store the images as a LeRobot v3.0 data set.

    Interrupted, the same command goes on. Take one of the paper's settings, or any arm by its URDF file,
    the joints to estimate and a range for each. Setting finger-cube is a robot finger with a cube: pairs of colour
    images that differ in one factor. Settings action-pairs (things that are opened, lit, sliced, ...) and arm-actions
    (a joint of an arm up or down; the Panda's, or with --urdf any arm's) are pairs before and after an action.

    Example:
      ropes simulate --setting panda-2c-independent --anchors 50 --seed 1 --out data/two-cameras
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
    """panda-1c-independent, panda-2c-independent, panda-2c-causal, finger-cube, action-pairs or arm-actions."""
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
    test_anchors: int = 2000
    """Observational poses (or images, where --samples counts those of the training) of each test split."""
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

    def _pairs(self) -> None:
        from ropes.actions import PairsSetting
        from ropes.data.generate_actions import simulate_pairs
        from ropes.settings import ACTION_PAIRS, MANY_THINGS

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
        """That of the URDF file, or the paper's of this name."""
        if self.urdf is None:
            from ropes.settings import panda_setting

            assert named is not None
            return panda_setting(named)
        from ropes.simulate.arm import arm_setting

        return arm_setting(
            urdf=str(self.urdf),
            joints=self.joints,
            ranges=parse_ranges(self.joints, self.ranges),
            cameras=parse_cameras(self.camera) or None,
            name=self.name,
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


@dataclass(frozen=True, kw_only=True)
class Validate:
    """Check a data set, and name the file, the row and the fault where there is one.

    Example:
      ropes validate data/two-cameras
      ropes validate --format causal-triplet recordings/procthor
    """

    data: DataFolder
    """Data set to check."""
    format: Literal["lerobot", "causal-triplet"] = "lerobot"
    """LeRobot v3.0, as all commands read; or the files of Causal Triplet, ProcTHOR's or Epic-Kitchens', which ropes
    import takes over."""

    def execute(self) -> None:
        """Validate; faults are raised."""
        if self.format == "causal-triplet":
            from ropes.data.pair_checks import validate_pairs

            print(validate_pairs(self.data))
            return
        from ropes.data.validate import validate

        print(validate(self.data))


@dataclass(frozen=True, kw_only=True)
class Import:
    """Take over pairs of images before and after an action, in Causal Triplet's own layout, as a data set.

    Splits are drawn by its rules, or taken from a manifest: training, validation, and tests in distribution, on verbs
    with nouns that training never puts together, and on nouns that it never sees.

    Example:
      ropes import recordings/procthor --out data/procthor
      ropes import recordings/procthor --manifest manifest.json --image-size 224 --out data/procthor-224
    """

    folder: DataFolder
    """Folder with annotations.csv (ProcTHOR) or EPIC_100_train.csv (Epic-Kitchens); see docs/deltas.md."""
    out: Path
    """Folder of the data set."""
    image_size: int = 64
    """Side that the images are brought to, pixels."""
    manifest: Path | None = None
    """JSON file: split to a list of second images."""
    boxes: bool = True
    """Cut out the thing by its box, where there is one; or keep the whole scene."""
    seed: int = 0
    """Seed of the splits, where there is no manifest."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        at_least(16, image_size=self.image_size)

    def execute(self) -> None:
        """Take the pairs over."""
        from ropes.data.import_pairs import import_pairs

        import_pairs(
            self.folder,
            out=self.out,
            image_size=self.image_size,
            manifest=self.manifest,
            boxes=self.boxes,
            seed=self.seed,
        )
        print(f"wrote {self.out}")


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
