"""`ropes fit`, `calibrate` and `predict`."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ropes.cli.options import RunFolder, at_least, image_sources
from ropes.common.hardware import AskedPrecision
from ropes.errors import UserError
from ropes.methods.recipes import Recipe
from ropes.methods.recipes.base import old_options
from ropes.methods.recipes.encoder import OF_ANCHORS
from ropes.methods.registry import LABELLED_METHODS, METHODS, method_named, recipe_of

if TYPE_CHECKING:
    from ropes.inference.calibration import Calibration

    MethodName = str
else:
    MethodName = tyro.extras.literal_type_from_choices(METHODS)
_SUMMARIES = "; ".join(f"{name}: {method_named(name).summary}" for name in METHODS)


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Learn joint angles from a data set, without labels by default. To resume, run the same command again.

    The recipe of --preset can be changed field by field with the dotted options.

    Example:
      ropes fit --data data/two-cameras --out runs/two-cameras
      ropes fit --method ropes --preset compact --data data/two-cameras --out runs/two-cameras-ropes
      ropes fit --method jointnet --labels 0.05 --data data/two-cameras --out runs/two-cameras-jointnet
    """

    data: Path
    """Data set to learn from: simulated, or recordings of your own (docs/data.md)."""
    out: Path
    """Folder of the run: checkpoints, weights and logs."""
    method: Annotated[MethodName, tyro.conf.arg(help=f"What to learn with. {_SUMMARIES}.")] = "anchored"
    seed: int = 0
    """Seed of weights, splits and batches."""
    pretrained: Path | None = None
    """With jointnet: another run of it, of the same data and seed, to take over the pre-training of.  With ropes:
    likewise AE1, and the density ratios where they are asked to be the same."""
    precision: AskedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: the faster one on this machine.  A run that goes on keeps its
    own.  Of method ropes it is that of AE1; its further stages take 32-true."""
    recipe: Recipe

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        if self.method == "ldr":
            usual = recipe_of(self.method, self.recipe.preset)
            if changed := [name for name in OF_ANCHORS if getattr(self.recipe, name) != getattr(usual, name)]:
                option = changed[0].replace("_", "-")
                raise UserError(f"--{option} says how to learn from anchors, which method ldr leaves out; leave it out")

    def execute(self) -> None:
        """Fit the method."""
        from ropes.methods.fit import fit

        how: dict[str, Any] = {"method": self.method, "pretrained": self.pretrained, "precision": self.precision}
        fit(self.data, self.out, self.recipe, self.seed, **how)
        print(f"wrote {self.out}")


def fit_with_recipe(arguments: Sequence[str]) -> type[Fit]:
    """`Fit` with one dotted option for each field of the recipe that `arguments` choose by --method and --preset.

    Method, preset and share of the labels have to be known before parsing: their recipe's values are the options'
    defaults.

    Raises:
        UserError: no method or preset of that name, or no such share of the labels.
    """
    scan = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scan.add_argument("--preset", nargs="?", default="compact")
    scan.add_argument("--method", nargs="?", default="anchored")
    scan.add_argument("--labels", nargs="?", default="1")
    chosen = scan.parse_known_args(list(arguments))[0]
    method = chosen.method or "anchored"
    share = _share(chosen.labels) if method in LABELLED_METHODS else 1.0
    recipe = recipe_of(method, chosen.preset or "compact", labels=share)
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


def _share(word: str | None) -> float:
    """A share of the labels as it was typed; all of them where the word is missing, which parsing then says."""
    try:
        share = float(word or 1)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise UserError(
            f"fit: --labels is {word}; it is a share of the labels, above 0 and at most 1, for example 0.05"
        )
    return share


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
    """Folder that ropes fit wrote."""
    data: Path | None = None
    """Data set with joint angles to draw the samples from, or for --commanded."""
    labels: Path | None = None
    """Or a CSV file: a column of image paths for each camera, of radians for each joint, by name."""
    samples: int | None = None
    """Labelled samples to draw from --data; 100 where left out."""
    commanded: Annotated[tuple[Path, ...] | None, tyro.conf.arg(metavar="[FILE.json]")] = None
    """Read no label: fit what the policies of --data were commanded to draw, as it tells, or the file."""
    seed: int = 0
    """Seed of the draw."""
    level: float = 0.9
    """Share of the true angles that the intervals of ropes predict are meant to hold."""

    def __post_init__(self) -> None:
        if self.samples is not None:
            at_least(2, samples=self.samples)
        if not 0 < self.level < 1:
            raise UserError(f"--level is {self.level:g}; it must lie between 0 and 1, for example 0.9")
        at_least(0, seed=self.seed)
        if (self.data is None) == (self.labels is None):
            raise UserError("give either --data DATA or --labels FILE.csv to calibrate on")
        if self.commanded is not None and self.data is None:
            raise UserError("--commanded needs --data, whose images it reads under each policy")
        if self.commanded is not None and len(self.commanded) > 1:
            raise UserError(f"--commanded takes one file, got {len(self.commanded)}; give RUN before it")
        if self.samples is not None and (self.labels is not None or self.commanded is not None):
            other = "--commanded" if self.labels is None else "--labels"
            raise UserError(f"--samples are drawn from labelled --data; leave it out with {other}")

    def execute(self) -> None:
        """Calibrate the run's estimator, and print what is known of its errors."""
        from ropes.models.registry import own_run
        from ropes.report.terminal import print_calibration

        run = own_run(self.run)
        print_calibration(self._calibrate(run))
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
    """Read joint angles off images: a JSON line for each pose, in radians once the run is calibrated.

    Each angle comes with a standard deviation and an interval, each pose with a flag for unusual images.

    Example:
      ropes predict panda-2c --images cam45=a.png cam135=b.png
      ropes predict runs/two-cameras --images photos
      ropes predict runs/two-cameras --images photos --poses panda_hand
    """

    run: RunFolder
    """Folder that ropes fit wrote, or the name of a packaged estimator; packaged:NAME where a run has that name."""
    images: Annotated[tuple[str, ...], tyro.conf.arg(metavar="CAMERA=FILE ...|FILE|FOLDER|DATA")]
    """An image for each camera, or a folder of images, or a data set; of a run with one camera also an image alone."""
    poses: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="[LINK ...|all]")] = None
    """Add where links of the arm are, in the frame of its base: the end effector, or those named, or all."""
    urdf: Path | None = None
    """With --poses: the arm's URDF file (or one of pybullet_data); the setting's where left out."""
    precision: AskedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: float32 for joints read by convolutions, for others the
    faster one on this machine.  Method ropes reads in 32-true."""

    def __post_init__(self) -> None:
        if self.urdf is not None and self.poses is None:
            raise UserError("--urdf is for poses; give --poses as well")

    def execute(self) -> None:
        """Print the predictions as they come."""
        sources = image_sources(self.images)
        from ropes.inference.prediction import predict_lines
        from ropes.models.registry import find_run

        options: dict[str, Any] = {"poses": self.poses, "urdf": self.urdf, "precision": self.precision}
        for line in predict_lines(find_run(self.run), sources, **options):
            print(line, flush=True)
