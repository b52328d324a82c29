"""`ropes evaluate`: measures a run on test splits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from ropes.cli.options import RunFolder, at_least, distinct
from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError
from ropes.methods.registry import method_named, methods_of

_FACTORS = (
    "Evaluate disentanglement (DCI, MIG) and downstream factor regression instead of joint errors; always on for "
    f"{' and '.join(methods_of('factors'))}."
)


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure correlation and calibrated error on the test splits, with and without occlusion.

    Example:
      ropes evaluate runs/two-cameras --data data/two-cameras --out runs/two-cameras-evaluation
      ropes evaluate panda-2c --data data/two-cameras --out-of-distribution data/other-arm --out runs/packaged-ood
      ropes evaluate panda-2c --data data/two-cameras --hide object --out runs/packaged-hidden
      ropes evaluate runs/two-cameras --data data/two-cameras --factors --out runs/two-cameras-factors
    """

    renamed: ClassVar[dict[str, str]] = {"--unlike": "--out-of-distribution"}
    run: RunFolder
    """Folder of the run, or name of a packaged estimator (packaged:NAME where a folder has that name)."""
    data: Path
    """Data set with joint angles and test splits."""
    out: Path
    """Folder for results.json and the report's plots."""
    seed: int | None = None
    """Seed of samples and occlusions; 0 if omitted."""
    occlusions: tuple[int, ...] | None = None
    """Sides of the occluding squares in pixels, 0 for none; 0 16 32 64 if omitted."""
    hide: Literal["square", "grey", "noise", "texture", "object"] | None = None
    """Type of occluder. square: white, as in the paper (the default); grey, noise, texture: squares of grey, noise or a
    texture; object: a shaded ball."""
    out_of_distribution: tuple[Path, ...] = ()
    """Data sets that should be flagged as out of distribution, for example of other robots or cameras."""
    photographs: Path | None = None
    """For finger-cube: real photographs with their factors, finger_real.npz (docs/disentanglement.md)."""
    factors: Annotated[bool, tyro.conf.arg(help=_FACTORS)] = False
    precision: RequestedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: as in ropes predict."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed or 0, occlusions=min(self.occlusions or (0,)))
        distinct(occlusions=self.occlusions or ())
        if self.occlusions is not None and not self.occlusions:
            raise UserError("--occlusions needs at least one number of pixels; 0 leaves the images as they are")

    def execute(self) -> None:
        """Evaluate the run and print the table."""
        from ropes.evaluation.joints import evaluate
        from ropes.methods.run import Run
        from ropes.models.registry import find_run
        from ropes.report.terminal import print_table

        run, seed = find_run(self.run), self.seed or 0
        options: dict[str, Any] = {"precision": self.precision}
        learns = method_named(Run.read(run).method).learns
        optional: dict[str, Any] = {"occlusions": self.occlusions, "hide": self.hide}
        optional = {name: value for name, value in optional.items() if value is not None}
        if learns == "actions":
            given = self.out_of_distribution, self.photographs, self.factors
            if optional or self.seed is not None or any(given):
                raise UserError(
                    f"{run} predicts actions and is tested on all pairs; leave --seed, --out-of-distribution, "
                    "--occlusions, --hide, --factors and --photographs out"
                )
            from ropes.evaluation.actions import evaluate_actions

            results = evaluate_actions(run, self.data, self.out, **options)
        elif self.factors or learns == "factors":
            if self.out_of_distribution or optional:
                raise UserError(
                    f"--out-of-distribution, --occlusions and --hide go with errors of joint angles, not with {run}; "
                    "leave them out"
                )
            from ropes.evaluation.factors import evaluate_factors

            results = evaluate_factors(run, self.data, self.out, seed=seed, photographs=self.photographs, **options)
        elif self.photographs is not None:
            raise UserError(f"--photographs show finger and cube, and {run} predicts an arm's joints; leave it out")
        else:
            options |= optional | {"out_of_distribution": self.out_of_distribution}
            results = evaluate(run, self.data, self.out, seed=seed, **options)
        print_table(results)
        print(f"wrote {self.out / 'results.json'}")
