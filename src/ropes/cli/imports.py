"""`ropes import`: makes data sets of recordings, image pairs and photographs."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ropes.cli.config import options_beside, write_options
from ropes.cli.import_kinds import ARMS, CHAMBERS, DREAM, PAIRS, PHOTOGRAPHS, TABLE, require_sources, require_use
from ropes.cli.options import SourcePaths, at_least, distinct, parse_numbers, shared_options
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.data.recordings.plan import ImportOptions
    from ropes.data.recordings.views import View

#: Side of Causal Triplet's images where --image-size is not given, pixels.
_PAIRS_SIZE = 64
#: MPI3D's training anchors where --anchors is not given.
_ANCHORS = 2_000


@dataclass(frozen=True, kw_only=True)
class Import:
    """Import recordings of arms, or images: DREAM, MPI3D, tables of factors, causal chambers, Causal Triplet.

    The command detects the format from the files. To resume an interrupted import, run the same command again. The
    policy of each frame is the episode's task, the text on a topic, or a column of the log, unless --policies gives it.

    A policy here is one of two distributions of a joint's angle, not a controller. A regime is a policy of one joint,
    as elbow/1, or none: observational. An anchor is a pose without a policy, recorded again under each policy.

    Example:
      ropes import recordings/lerobot --out data/mine
      ropes import recordings/bag --cameras left=/left/image_raw right=/right/image_raw --dwell 0.5 --out data/mine
      ropes import recordings/monday.bag recordings/tuesday.bag --out data/mine
      ropes import recordings/so101 --policies policies.csv --state degrees --out data/so101
      ropes import recordings/left.mp4 --log recordings/log.csv --rotate 90 --image-size 320 --out data/mine
      ropes import dream/real/panda-3cam_azure --image-size 128 --test-share 0.5 --out data/azure
      ropes import recordings/procthor --manifest manifest.json --image-size 224 --out data/procthor-224
      ropes import mpi3d_real.npz --anchors 3000 --out data/mpi3d
      ropes import mpi3d_real.npz --anchors 3000 --policies axes.json --out data/mpi3d-dependent
      ropes import mpi3d_real.npz --samples 20000 --fixed object_size=1 --out data/mpi3d-factors
      ropes import image/FALL/FALL.csv --image-column render_path --image-folder .. --image-size 64 --out data/fall
      ropes import lt_crl_benchmark_v1 --experiment buchholz_1 --out data/chambers
    """

    source: SourcePaths
    """A LeRobot folder (v3.0 or v2.1), a ROS 1 or 2 bag (folder, .bag, .db3 or .mcap), a video, a folder of videos or
    of frames, or several of one kind with the same cameras; or one of: a folder of DREAM (docs/dream.md), Causal
    Triplet's files (docs/deltas.md), MPI3D's mpi3d_real.npz (docs/photographs.md), a table (CSV or Parquet) of images
    with their factors, an image data set of the causal chambers (docs/tables.md)."""
    out: Path | None = None
    """Folder of the data set (required without --preview)."""
    cameras: tuple[str, ...] = ()
    """Names of the cameras to import, or NAME=CAMERA to give a camera another name; for a bag also NAME=TOPIC; for
    MPI3D top, center, bottom. All if omitted. For a folder of DREAM: name of its camera, rgb if omitted."""
    policies: Path | None = None
    """Table (CSV or Parquet) that names the policy of each frame: a column policy, and one of task; episode; episode
    and frame; frame; time; and a column source for several recordings. For MPI3D's anchors: JSON file with a causal
    model of the axes (docs/photographs.md)."""
    policy_column: str | None = None
    """Column of a LeRobot data set, a log or a table of factors with the active policy. If omitted: the task of a
    LeRobot data set, or the column policy of a log; images of a table of factors then have no policies."""
    policy_topic: str | None = None
    """Topic of a bag (std_msgs/String) whose messages name the policy that is active from then on; the only one if
    omitted."""
    joint_topic: str | None = None
    """Topic of a bag with the joint positions (sensor_msgs/JointState); the only one if omitted."""
    log: Path | None = None
    """Table (CSV or Parquet) for a video or a folder of frames, with columns time (seconds) or frame, policy, and joint
    positions; the one beside the video or in the folder if omitted."""
    joint_columns: tuple[str, ...] = ()
    """Columns of --log with the joint positions; all columns of numbers if omitted. For a bag: joints that its messages
    must have if several nodes publish; those with the most joints if omitted."""
    offset: float = 0.0
    """Seconds to add to the times of --log, for videos."""
    frames: Literal["every", "stretch", "dwell"] | None = None
    """Frames that are poses: every; one of each stretch of a policy; one of each dwell (the arm stands still). If
    omitted: dwell if the arm moves during the recording, otherwise every."""
    dwell: float = 0.3
    """Shortest time for which the arm stands still, in seconds."""
    group: Literal["auto", "anchors", "stretches"] = "auto"
    """Episodes are anchors, or stretches (consecutive frames under one policy). auto: anchors if the recording has
    them."""
    tolerance: float = 0.02
    """Largest difference of the time stamps of one pose, in seconds."""
    different_rates: bool = False
    """Accept cameras of different frame rates; poses have the rate of the slowest one."""
    state: Literal["radians", "degrees", "percent", "none"] | None = None
    """Unit of the joint positions, which are for evaluation only; radians if omitted, and positions that look like
    degrees are then refused. percent: -100 to 100 of each joint's range, as LeRobot records without use_degrees; none
    leaves them out. LeRobot's gripper of an SO-100 or SO-101, 0 to 100, is converted with degrees and percent."""
    lerobot_calibration: Path | None = None
    """With --state percent: the file of lerobot-calibrate with the range of each joint."""
    crop: tuple[str, ...] = ()
    """LEFT,TOP,WIDTH,HEIGHT in pixels after --rotate, or none, which keeps the whole image; CAMERA=... for one camera.
    If omitted, the part of the image that moves, with a margin; of a folder of DREAM the whole image."""
    rotate: tuple[str, ...] = ()
    """0, 90, 180 or 270 degrees clockwise, or CAMERA=DEGREES."""
    image_size: tuple[str, ...] = ()
    """Longer side of the images in pixels, or CAMERA=PIXELS; that of the recording if omitted. Images are never
    enlarged. For Causal Triplet's pairs: side of the images, 64 if omitted."""
    grey: bool = False
    """Store grey images instead of RGB."""
    preview: Path | None = None
    """Import nothing. Draw in this folder what --crop and --rotate keep of each camera, from 60 frames."""
    manifest: Path | None = None
    """For Causal Triplet's pairs: JSON file with the second images of each split; if omitted, the folder's
    manifest.json if it has one."""
    boxes: bool = True
    """For Causal Triplet's pairs: crop images to the object's bounding box, where it is known."""
    seed: int = 0
    """For Causal Triplet's pairs: seed of the splits, without a manifest. For MPI3D: seed of the poses or pairs. For
    images with factors: seed of the test images."""
    anchors: int | None = None
    """For MPI3D: training anchors, each with one pose under each policy of the two axes; 2,000 if omitted."""
    samples: int | None = None
    """For MPI3D, in place of anchors: training images, two per pair; a pair differs in one of the seven factors."""
    test_anchors: int = 2000
    """For MPI3D: poses of each test split; with --samples, images of it."""
    labelled: int | None = None
    """For MPI3D with --samples: images for the regressors of `ropes evaluate`; as many as --test-anchors if omitted."""
    fixed: tuple[str, ...] = ()
    """For MPI3D: FACTOR=NUMBER for each factor that is the same in all photographs, such as object_color=2."""
    test_share: float | None = None
    """Share that becomes the split test-id; the others become train. For a folder of DREAM: of the frames, the last
    ones; 0.5 if omitted. For images with factors: of those without intervention, drawn at random; 0.2 if omitted."""
    urdf: Path | None = None
    """For a folder of DREAM: URDF file of the arm; the Panda's if omitted."""
    factor_columns: tuple[str, ...] = ()
    """For images with factors: columns of the factors. If omitted: all columns of numbers that vary; for the causal
    chambers red, green, blue, pol_1 and pol_2."""
    image_column: str | None = None
    """For images with factors: column with the paths of the images. If omitted: the only column with names of images;
    for the causal chambers image_file."""
    image_folder: Path = Path()
    """For images with factors: folder that these paths are relative to, itself relative to the table's folder. If
    omitted: the table's folder; for the causal chambers its only folder of images."""
    experiment: str | None = None
    """For the causal chambers: the experiment, such as buchholz_1, with all its regimes; the only one if omitted."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed, test_anchors=self.test_anchors, labelled=self.labelled)
        at_least(1, anchors=self.anchors, samples=self.samples)
        if self.out is None and self.preview is None:
            raise UserError("give --out FOLDER for the data set, or --preview FOLDER for pictures alone")
        if self.anchors is not None and self.samples is not None:
            raise UserError("--anchors and --samples are two kinds of data sets; leave one of them out")
        if self.policies is not None and self.samples is not None:
            raise UserError("--policies goes with --anchors, not with --samples; leave it out")
        if self.labelled is not None and self.samples is None:
            raise UserError("--labelled goes with --samples; leave it out")
        if self.frames in ("every", "stretch") and self.dwell != Import.dwell:
            raise UserError(f"--dwell goes with --frames dwell, not with --frames {self.frames}; leave it out")

    def execute(self) -> None:
        """Import the recording."""
        require_sources(self.source)
        self._import()
        if self.preview is None:
            write_options(self, options_beside(self._folder))
            print(f"wrote {self._folder}")

    @property
    def _folder(self) -> Path:
        """Folder of the data set, which only a preview does without."""
        if self.out is None:
            raise UserError("--preview shows recordings; give --out FOLDER")
        return self.out

    def _import(self) -> None:
        """Import it, or with --preview show what would be imported."""
        from ropes.data.causal_triplet import holds_pairs
        from ropes.data.mpi3d import holds_grid

        if holds_pairs(self.source[0]):
            if self.preview is not None:
                raise UserError("--preview shows recordings; leave it out for Causal Triplet's pairs")
            require_use(self, PAIRS)
            self._import_pairs()
            return
        from ropes.data.dream import holds_dream

        if holds_dream(self.source[0]):
            require_use(self, DREAM)
            self._import_dream()
            return
        if holds_grid(self.source[0]):
            require_use(self, PHOTOGRAPHS)
            self._import_photographs()
            return
        from ropes.data.chambers import holds_chambers
        from ropes.data.recordings.logs import LOG_SUFFIXES

        if holds_chambers(self.source[0]):
            require_use(self, CHAMBERS)
            self._import_factor_images(of_chambers=True)
            return
        is_table = self.source[0].is_file() and self.source[0].suffix in LOG_SUFFIXES
        if is_table or self.factor_columns or self.image_column:
            require_use(self, TABLE)
            self._import_factor_images(of_chambers=False)
            return
        require_use(self, ARMS)
        from ropes.data.recordings.importer import import_recording
        from ropes.data.recordings.preview import preview_recording

        if self.preview is not None:
            for line in preview_recording(*self.source, folder=self.preview, options=self._options()):
                print(line)
            return
        print(import_recording(*self.source, out=self._folder, options=self._options()))

    def _options(self) -> "ImportOptions":
        """The options of an import, parsed."""
        from ropes.data.recordings.plan import ImportOptions
        from ropes.data.recordings.source import Options
        from ropes.data.recordings.views import by_camera, parse_crop, parse_rotation, parse_size

        parsed = {
            "streams": Options(**shared_options(self, Options), calibration=self.lerobot_calibration),
            "rotate": by_camera("--rotate", self.rotate, parse_rotation),
            "crop": by_camera("--crop", self.crop, parse_crop),
            "size": by_camera("--image-size", self.image_size, parse_size),
        }
        return ImportOptions(**shared_options(self, ImportOptions) | parsed)

    def _import_dream(self) -> None:
        from ropes.data.import_dream import CAMERA, DreamOptions, import_dream

        if len(self.cameras) > 1 or any("=" in name or "/" in name for name in self.cameras):
            raise UserError("--cameras of a folder of DREAM is one name, of its only camera")
        camera = self.cameras[0] if self.cameras else CAMERA
        view = self._view(camera, f"the camera of a folder of DREAM is {camera} here (--cameras)")
        given = {} if self.test_share is None else {"test_share": self.test_share}
        options = DreamOptions(urdf=self.urdf, camera=camera, view=view, **given)
        print(import_dream(self.source[0], out=self._folder, options=options))

    def _view(self, camera: str, only: str) -> "View":
        """What happens to the images of the only camera; `only` names it if an option names another one."""
        from ropes.data.recordings.views import View, by_camera, parse_crop, parse_size

        crop, size = by_camera("--crop", self.crop, parse_crop), by_camera("--image-size", self.image_size, parse_size)
        if other := [name for name in (*crop, *size) if name not in (None, camera)]:
            raise UserError(f"no camera {other[0]!r}; {only}")
        return View(crop=crop.get(camera, crop.get(None)), size=size.get(camera, size.get(None)), grey=self.grey)

    def _import_factor_images(self, *, of_chambers: bool) -> None:
        from ropes.data.chambers import read_chambers
        from ropes.data.factor_table import Columns, find_table, read_factor_table
        from ropes.data.import_factor_images import CAMERA, TEST_SHARE, import_factor_images

        distinct(factor_columns=self.factor_columns)
        columns = Columns(
            factors=self.factor_columns, image=self.image_column, policy=self.policy_column, folder=self.image_folder
        )
        view = self._view(CAMERA, f"the camera of images with factors is {CAMERA}")
        if of_chambers:
            source = read_chambers(self.source[0], self.experiment, columns)
        else:
            source = read_factor_table(find_table(self.source[0]), columns)
        share = TEST_SHARE if self.test_share is None else self.test_share
        print(import_factor_images(source, out=self._folder, view=view, test_share=share, seed=self.seed))

    def _import_pairs(self) -> None:
        from ropes.data.import_pairs import import_pairs
        from ropes.data.recordings.views import by_camera, parse_size

        size = by_camera("--image-size", self.image_size, parse_size)
        if size.keys() - {None}:
            raise UserError("--image-size of Causal Triplet's pairs is one number; leave the camera out")
        import_pairs(
            self.source[0],
            out=self._folder,
            image_size=size.get(None, _PAIRS_SIZE),
            manifest=self.manifest,
            boxes=self.boxes,
            seed=self.seed,
        )

    def _import_photographs(self) -> None:
        from ropes.data.import_mpi3d import SHARED, import_anchors, import_factors

        common: dict[str, Any] = {"out": self._folder, "seed": self.seed, "cameras": self.cameras, "grey": self.grey}
        common["fixed"] = parse_numbers("--fixed", self.fixed)
        if self.samples is not None:
            common |= {"samples": self.samples, "test_samples": self.test_anchors, "labelled": self.labelled}
            import_factors(self.source[0], **common)
        else:
            if self.policies is not None:
                from ropes.data.causal_model_file import read_causal_models
                from ropes.data.mpi3d import AXES

                common["models"] = read_causal_models(self.policies, AXES)
            anchors = _ANCHORS if self.anchors is None else self.anchors
            dataset = import_anchors(self.source[0], **common, anchors=anchors, test_anchors=self.test_anchors)
            if shared := (dataset.provenance or {})[SHARED]:
                print(f"{shared} test poses have a photograph of training: few combinations of factors are left free")
