"""`ropes evaluate`: measures a run on test splits."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ropes.cli.options import RunFolder, at_least, distinct
from ropes.common.hardware import AskedPrecision
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Measure correlation and calibrated error on the test splits, with and without occlusion.

    Example:
      ropes evaluate runs/two-cameras --data data/two-cameras --out runs/two-cameras-evaluation
      ropes evaluate panda-2c --data data/two-cameras --unlike data/other-arm --out runs/packaged-evaluation
      ropes evaluate panda-2c --data data/two-cameras --hide object --out runs/packaged-hidden
      ropes evaluate runs/two-cameras --data data/two-cameras --factors --out runs/two-cameras-factors
    """

    run: RunFolder
    """Folder that ropes fit wrote, or the name of a packaged estimator; packaged:NAME where a run has that name."""
    data: Path
    """Data set with joint angles and test splits."""
    out: Path
    """Folder for results.json and what the report shows."""
    seed: int | None = None
    """Seed of the drawn samples and of the occlusions; 0 where left out."""
    occlusions: tuple[int, ...] | None = None
    """Sides in pixels of the squares to cover images with, 0 for none; 0 16 32 64 where left out."""
    hide: Literal["square", "grey", "noise", "texture", "object"] | None = None
    """What hides a part of each image: a white square as in the paper (also where left out), a square of any one grey,
    of noise, of a blurred pattern, or a lit ball."""
    unlike: tuple[Path, ...] = ()
    """Data sets of other robots or cameras, to test the out-of-distribution flag."""
    photographs: Path | None = None
    """Of finger-cube: real photographs with their factors, finger_real.npz (docs/disentanglement.md)."""
    factors: bool = False
    """Measure instead how disentangled the coordinates are, and what regressors make of them; of beta-vae and ada-gvae
    always."""
    precision: AskedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: as ropes predict."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed or 0, occlusions=min(self.occlusions or (0,)))
        distinct(occlusions=self.occlusions or ())
        if self.occlusions is not None and not self.occlusions:
            raise UserError("--occlusions needs at least one number of pixels; 0 leaves the images as they are")

    def execute(self) -> None:
        """Evaluate every split of `data` at every occlusion, and print the table."""
        from ropes.evaluation.joints import evaluate
        from ropes.methods.registry import DELTA_METHODS, VAE_METHODS
        from ropes.methods.run import Run
        from ropes.models.registry import find_run
        from ropes.report.terminal import print_table

        run, seed = find_run(self.run), self.seed or 0
        chosen: dict[str, Any]
        method = Run.read(run).method
        if method in DELTA_METHODS:
            given = [value is not None for value in (self.seed, self.occlusions, self.hide, self.photographs)]
            if any(given) or self.unlike or self.factors:
                raise UserError(
                    f"{run} tells actions, of which every pair is read; leave --seed, --unlike, --occlusions, --hide, "
                    "--factors and --photographs out"
                )
            from ropes.evaluation.actions import evaluate_actions

            results = evaluate_actions(run, self.data, self.out, precision=self.precision)
        elif self.factors or method in VAE_METHODS:
            if self.unlike or self.occlusions is not None or self.hide is not None:
                raise UserError(
                    f"--unlike, --occlusions and --hide go with errors of joint angles, not with {run}; leave them out"
                )
            from ropes.evaluation.factors import evaluate_factors

            chosen = {"photographs": self.photographs, "precision": self.precision}
            results = evaluate_factors(run, self.data, self.out, seed=seed, **chosen)
        elif self.photographs is not None:
            raise UserError(f"--photographs are of finger and cube, and {run} reads an arm's joints; leave it out")
        else:
            chosen = {"unlike": self.unlike, "precision": self.precision}
            chosen |= {} if self.occlusions is None else {"occlusions": self.occlusions}
            chosen |= {} if self.hide is None else {"hide": self.hide}
            results = evaluate(run, self.data, self.out, seed=seed, **chosen)
        print_table(results)
        print(f"wrote {self.out / 'results.json'}")
