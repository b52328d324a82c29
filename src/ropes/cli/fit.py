"""`ropes fit`, `calibrate` and `predict`."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ropes.cli.config import OPTIONS_FILE, options_beside, options_when_interrupted, write_options
from ropes.cli.options import DataLocation, RunFolder, at_least, image_sources
from ropes.common.hardware import Accelerator, RequestedPrecision, choose_accelerator
from ropes.errors import UserError
from ropes.methods.anchored.recipe import ANCHOR_FIELDS
from ropes.methods.recipe import old_options
from ropes.methods.recipes import Recipe
from ropes.methods.registry import METHODS, method_named, recipe_of
from ropes.methods.training.run_log import LoggerName

if TYPE_CHECKING:
    from ropes.inference.calibration import Calibration

    MethodName = str
else:
    MethodName = tyro.extras.literal_type_from_choices(METHODS)
_SUMMARIES = "; ".join(f"{name}: {method_named(name).summary}" for name in METHODS)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Learn joint angles from a data set, without labels by default. To resume, run the same command again.

    --preset chooses a recipe. Each option after --preset changes one field of that recipe.

    Example:
      ropes fit --data data/two-cameras --out runs/two-cameras
      ropes fit --method ropes --preset compact --data data/two-cameras --out runs/two-cameras-ropes
      ropes fit --method jointnet --labels 0.05 --data data/two-cameras --out runs/two-cameras-jointnet
      ropes fit --devices 2 --accelerator cpu --data data/two-cameras --out runs/two-cameras
    """

    data: DataLocation
    """Data set to learn from, a folder or s3://BUCKET/FOLDER: simulated, or your own recordings (docs/data.md)."""
    out: Path
    """Run folder for checkpoints, weights and logs."""
    method: Annotated[MethodName, tyro.conf.arg(help=f"Training method. {_SUMMARIES}.")] = "anchored"
    seed: int = 0
    """Random seed of weights, splits and batches."""
    pretrained: Path | None = None
    """Run folder with the same data and seed, whose trained stages are reused: the pre-training of jointnet; AE1 of
    ropes, and its density ratios if their settings are equal."""
    precision: RequestedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: the faster one on this machine. A resumed run keeps its
    precision. Method ropes applies it to AE1 only; its other stages use 32-true."""
    logger: LoggerName | None = None
    """Write curves and recipe to OUT/logs with this logger; nothing is sent. csv: a table; the others need pip install
    -e '.[tensorboard]', '.[wandb]' or '.[mlflow]'. No log if omitted."""
    devices: int = 1
    """Devices of each machine that train together: GPUs, or processes on the cores of a machine without a GPU. Their
    number divides every batch, which they share."""
    nodes: int = 1
    """Machines that train together. SLURM or torchrun starts a process for each device (docs/devices.md)."""
    strategy: Annotated[str, tyro.conf.arg(metavar="{ddp}")] = "ddp"
    """How devices train together. ddp: each has all weights, and gradients are averaged."""
    accelerator: Accelerator = "auto"
    """cpu, gpu, or auto: a GPU if there is one."""
    recipe: Recipe

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        at_least(1, devices=self.devices, nodes=self.nodes)
        if self.method == "ldr":
            preset = recipe_of(self.method, self.recipe.preset)
            if changed := [name for name in ANCHOR_FIELDS if getattr(self.recipe, name) != getattr(preset, name)]:
                option = changed[0].replace("_", "-")
                raise UserError(f"--{option} has no effect with method ldr, which does not use anchors; leave it out")

    def execute(self) -> None:
        """Fit the method."""
        choose_accelerator(self.accelerator)
        from ropes.methods.fit import fit
        from ropes.methods.run import RUN_FILE
        from ropes.methods.training.team import global_rank

        how: dict[str, Any] = {name: getattr(self, name) for name in ("method", "pretrained", "precision", "logger")}
        several = {"devices": self.devices, "nodes": self.nodes, "strategy": self.strategy}
        how |= {name: value for name, value in several.items() if value not in (1, "ddp")}
        file = self.out / OPTIONS_FILE
        with options_when_interrupted(self, file, begun=self.out / RUN_FILE):
            fit(self.data, self.out, self.recipe, self.seed, **how)
        if global_rank(self.devices, self.nodes):
            return
        write_options(self, file)
        print(f"wrote {self.out}")


def fit_with_recipe(arguments: Sequence[str]) -> type[Fit]:
    """`Fit` with one dotted option for each field of the recipe that --method and --preset in `arguments` name.

    Reads --method, --preset and --labels before parsing: the fields of their recipe are the options' defaults.

    Raises:
        UserError: unknown method or preset, or --labels out of range.
    """
    scan = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scan.add_argument("--preset", nargs="?", default="compact")
    scan.add_argument("--method", nargs="?", default="anchored")
    scan.add_argument("--labels", nargs="?", default="1")
    given = scan.parse_known_args(list(arguments))[0]
    method = given.method or "anchored"
    labels = _label_fraction(given.labels) if method_named(method).reads_labels else 1.0
    recipe = recipe_of(method, given.preset or "compact", labels=labels)
    kind: Any = type(recipe)
    options = Annotated[kind, tyro.conf.arg(name="")]
    return make_dataclass(
        "Fit",
        [("recipe", options, field(default=recipe))],
        bases=(Fit,),
        namespace={"__doc__": Fit.__doc__, "renamed": dict(old_options(recipe))},
        frozen=True,
        kw_only=True,
    )


def _label_fraction(word: str | None) -> float:
    """The value of --labels; 1 if the word is missing, which the parser reports later."""
    try:
        fraction = float(word or 1)
    except ValueError:
        fraction = math.nan
    if not 0 < fraction <= 1:
        raise UserError(f"fit: --labels is {word}; give a fraction above 0 and at most 1, for example 0.05")
    return fraction


@dataclass(frozen=True, kw_only=True)
class Calibrate:
    """Fit the map from coordinates to radians on few labelled samples or none, and store it with the run.

    Example:
      ropes calibrate runs/two-cameras --data data/two-cameras --samples 100
      ropes calibrate runs/two-cameras --data data/two-cameras --commanded
      ropes calibrate runs/two-cameras --data data/my-arm --commanded commanded.json
      ropes calibrate runs/two-cameras --labels labels.csv
    """

    run: RunFolder
    """Run folder of ropes fit."""
    data: DataLocation | None = None
    """Data set: with joint angles for --samples, or with images under each policy for --commanded."""
    labels: Path | None = None
    """CSV file of labelled poses: a column of image paths for each camera, and a column of radians for each joint. The
    columns have the names of the cameras and the joints."""
    samples: int | None = None
    """Number of labelled samples drawn from --data; default 100."""
    commanded: Annotated[tuple[Path, ...] | None, tyro.conf.arg(metavar="[FILE.json]")] = None
    """Calibrate without labels, from the policy distributions that --data or this file describes."""
    seed: int = 0
    """Random seed of the samples that are drawn from --data."""
    level: float = 0.9
    """Nominal coverage of the intervals of ropes predict."""

    def __post_init__(self) -> None:
        at_least(2, samples=self.samples)
        if not 0 < self.level < 1:
            raise UserError(f"--level is {self.level:g}; it must lie between 0 and 1, for example 0.9")
        at_least(0, seed=self.seed)
        if (self.data is None) == (self.labels is None):
            raise UserError("give either --data DATA or --labels FILE.csv to calibrate on")
        if self.commanded is not None and self.data is None:
            raise UserError("--commanded needs --data, with images under each policy")
        if self.commanded is not None and len(self.commanded) > 1:
            raise UserError(f"--commanded takes one file, got {len(self.commanded)}; give RUN before it")
        if self.samples is not None and (self.labels is not None or self.commanded is not None):
            other = "--commanded" if self.labels is None else "--labels"
            raise UserError(f"--samples are drawn from labelled --data; leave it out with {other}")
        if self.labels is not None and self.seed != Calibrate.seed:
            raise UserError("--seed is of samples drawn from --data; leave it out with --labels, which are all used")

    def execute(self) -> None:
        """Calibrate the run's estimator, and print its errors."""
        from ropes.models.registry import own_run
        from ropes.report.terminal import print_calibration

        run = own_run(self.run)
        print_calibration(self._calibrate(run))
        write_options(self, options_beside(run / "calibration.json"))
        print(f"wrote {run / 'calibration.json'}; ropes predict now gives radians")

    def _calibrate(self, run: Path) -> "Calibration":
        if self.commanded is not None and self.data is not None:
            from ropes.inference.policy_calibration import calibrate_commanded

            file = self.commanded[0] if self.commanded else None
            return calibrate_commanded(run, self.data, file=file, seed=self.seed, level=self.level)
        from ropes.inference.prediction import calibrate

        samples = 100 if self.samples is None else self.samples
        return calibrate(run, data=self.data, labels=self.labels, samples=samples, seed=self.seed, level=self.level)


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Estimate joint angles from images; prints one JSON object per pose.

    Angles are in radians if the run is calibrated. Each angle has a standard deviation and an interval. Each pose has
    an out-of-distribution flag.

    Example:
      ropes predict panda-2c --images cam45=a.png cam135=b.png
      ropes predict runs/two-cameras --images photos
      ropes predict runs/two-cameras --images photos --poses panda_hand
      ropes predict panda-2c --images photos --overlay overlays
      ropes predict panda-2c --images data/benchmark --predictions panda-2c.npz
    """

    run: RunFolder
    """Run folder of ropes fit, or a packaged estimator's name; packaged:NAME if a run folder has the same name."""
    images: Annotated[tuple[str, ...], tyro.conf.arg(metavar="CAMERA=FILE ...|FILE|FOLDER|DATA")]
    """One image per camera, a folder of images, or a data set; for a run with one camera also a single image."""
    poses: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[LINK ...|all]")] = None
    """Add link poses in the base frame: of the end effector, of the named links, or of all."""
    urdf: Path | None = None
    """URDF file of the arm for --poses and --overlay: a path, or a file of pybullet_data; that of the data set or the
    setting if omitted."""
    overlay: Path | None = None
    """Folder for pictures CAMERA/NAME.png: the arm at the estimated angles drawn over each image, or beside it if the
    camera's parameters are unknown."""
    camera_file: Path | None = None
    """JSON file with intrinsics and extrinsics of the cameras for --overlay, in the format of meta/ropes.json;
    those of the data set or the setting if omitted."""
    split: str | None = None
    """Split of a data set, for example test-id; all if omitted."""
    predictions: Path | None = None
    """Write the predictions for the test poses of the benchmark to this .npz file in place of printing (see ropes
    score); --images is a data set with these poses."""
    precision: RequestedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: float32 for convolutional networks that estimate joints,
    the faster one on this machine for others. Method ropes uses 32-true."""

    def __post_init__(self) -> None:
        if self.urdf is not None and self.poses is None and self.overlay is None:
            raise UserError("--urdf needs --poses or --overlay")
        if self.camera_file is not None and self.overlay is None:
            raise UserError("--camera-file needs --overlay")
        if self.predictions is not None and (self.poses is not None or self.overlay is not None):
            raise UserError("--predictions has angles alone; leave --poses and --overlay out")
        if self.predictions is not None and self.split is not None:
            raise UserError("--predictions is of the test poses of the benchmark; leave --split out")

    def execute(self) -> None:
        """Print one line for each prediction, or write the predictions for the benchmark."""
        sources = image_sources(self.images)
        from ropes.models.registry import find_run

        if self.predictions is not None:
            from ropes.evaluation.benchmark.own_run import predict_test_poses

            if isinstance(sources, Mapping):
                raise UserError("--predictions needs --images DATA, a data set with the test poses of the benchmark")
            predict_test_poses(find_run(self.run), sources, self.predictions, precision=self.precision)
            write_options(self, options_beside(self.predictions))
            print(f"wrote {self.predictions}")
            return
        from ropes.inference.prediction import predict_lines

        options: dict[str, Any] = {"poses": self.poses, "urdf": self.urdf, "precision": self.precision}
        if self.split is not None:
            options["split"] = self.split
        if self.overlay is not None:
            options |= {"overlay": self.overlay, "camera_file": self.camera_file}
        for line in predict_lines(find_run(self.run), sources, **options):
            print(line, flush=True)
        if self.overlay is not None:
            write_options(self, options_beside(self.overlay))
