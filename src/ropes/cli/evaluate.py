"""`ropes inspect`, `evaluate` and `graph`: check a data set, measure a run, infer the joints' causal graph."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import tyro

from ropes.cli.config import OPTIONS_FILE, options_beside, write_options
from ropes.cli.options import DataFolder, DataLocation, RunFolder, at_least, distinct
from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError
from ropes.methods.registry import method_named, methods_of

_PICTURE = "inspection.png"


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Infer the causal graph of the joints from a run's coordinates under the interventions of a data set.

    Example:
      ropes graph runs/causal --data data/causal --out runs/causal-graph
    """

    run: RunFolder
    """Folder of the run, or name of a packaged estimator (packaged:NAME where a folder has that name)."""
    data: DataLocation
    """Data set with both policies on every joint; its angles are not read."""
    out: Path | None = None
    """Folder for graph.json, graph.png and graph.svg; no files if omitted."""
    bound: float = 0.1
    """Smallest direct effect of an edge, as a share of the effect of a joint's own policies."""
    seed: int = 0
    """Seed of the choice of anchors and of the bootstrap."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        if not 0 <= self.bound < 1:
            raise UserError(f"--bound is {self.bound:g}; it must be at least 0 and below 1")

    def execute(self) -> None:
        """Infer the graph and print it; with --out, write and draw it too."""
        from ropes.common.files import ensure_output_folder, require_free
        from ropes.evaluation.causal_graph import causal_graph
        from ropes.models.registry import find_run
        from ropes.report.graph import print_graph, write_pictures

        run = find_run(self.run)
        if self.out is not None:
            require_free(self.out, "graph.json")
        graph = causal_graph(run, self.data, bound=self.bound, seed=self.seed).to_dict()
        print_graph(graph)
        if self.out is not None:
            ensure_output_folder(self.out, "graph.json")
            write_pictures(graph, self.out)
            write_options(self, self.out / OPTIONS_FILE)
            print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Check before training whether a data set suffices, which joints will be inaccurate, and what would help.

    The first line is the verdict. Angles and policy distributions are used if the data set has them, but not required.

    Example:
      ropes inspect data/two-cameras
      ropes inspect data/two-cameras --json inspection.json --out inspection
    """

    data: DataFolder
    """Data set to inspect, or unfinished recording of ropes record."""
    json: Path | None = None
    """JSON file for all measurements."""
    out: Path | None = None
    """Folder for inspection.png: an example of every regime, and the pixels that it changes."""
    seed: int = 0
    """Seed of the sampled poses."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)

    def execute(self) -> None:
        """Inspect the data set, print the verdict, and write the requested files."""
        from ropes.common import files
        from ropes.evaluation.inspection import inspect_data
        from ropes.report.inspection import picture, print_inspection

        if self.json is not None:
            files.require_file(self.json)
        if self.out is not None:
            files.ensure_output_folder(self.out, _PICTURE)
        inspection = inspect_data(self.data, seed=self.seed)
        print_inspection(inspection)
        if self.json is not None:
            files.write_json(self.json, inspection.to_dict())
        if self.out is not None:
            with files.atomic_path(self.out / _PICTURE) as temporary:
                picture(inspection).savefig(temporary, format="png", dpi=110)
            write_options(self, self.out / OPTIONS_FILE)
        elif self.json is not None:
            write_options(self, options_beside(self.json))


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
    data: DataLocation
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
    calibration_poses: int | None = None
    """Test poses on which each line to radians is fitted; 1000 if omitted. The paper's numbers have 1000."""
    test_poses: int | None = None
    """Other test poses on which it is tested; 500 if omitted."""
    out_of_distribution: tuple[DataLocation, ...] = ()
    """Data sets that should be flagged as out of distribution, for example of other robots or cameras."""
    photographs: Path | None = None
    """For finger-cube: real photographs with their factors, finger_real.npz (docs/disentanglement.md)."""
    factors: Annotated[bool, tyro.conf.arg(help=_FACTORS)] = False
    precision: RequestedPrecision = "auto"
    """bf16-mixed: bf16 autocast; 32-true: float32; auto: as in ropes predict."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed or 0, occlusions=min(self.occlusions or (0,)))
        at_least(2, calibration_poses=self.calibration_poses, test_poses=self.test_poses)
        distinct(occlusions=self.occlusions or ())
        if self.occlusions is not None and not self.occlusions:
            raise UserError("--occlusions needs at least one number of pixels; 0 leaves the images as they are")

    def execute(self) -> None:
        """Evaluate the run and print the table."""
        from ropes.evaluation.joints import evaluate
        from ropes.methods.run import Run
        from ropes.metrics import PAPER_SIZES
        from ropes.models.registry import find_run
        from ropes.report.terminal import print_table

        run, seed = find_run(self.run), self.seed or 0
        options: dict[str, Any] = {"precision": self.precision}
        learns = method_named(Run.read(run).method).learns
        optional: dict[str, Any] = {"occlusions": self.occlusions, "hide": self.hide}
        optional = {name: value for name, value in optional.items() if value is not None}
        given_sizes = {"fit": self.calibration_poses, "test": self.test_poses}
        sizes = {name: value for name, value in given_sizes.items() if value is not None}
        if sizes:
            optional["sizes"] = replace(PAPER_SIZES, **sizes)
        if learns == "actions":
            given = self.out_of_distribution, self.photographs, self.factors
            if optional or self.seed is not None or any(given):
                raise UserError(
                    f"{run} predicts actions and is tested on all pairs; leave --seed, --out-of-distribution, "
                    "--occlusions, --hide, --calibration-poses, --test-poses, --factors and --photographs out"
                )
            from ropes.evaluation.actions import evaluate_actions

            results = evaluate_actions(run, self.data, self.out, **options)
        elif self.factors or learns == "factors":
            if self.out_of_distribution or optional:
                raise UserError(
                    "--out-of-distribution, --occlusions, --hide, --calibration-poses and --test-poses go with errors "
                    f"of joint angles, not with {run}; leave them out"
                )
            from ropes.evaluation.factors import evaluate_factors

            results = evaluate_factors(run, self.data, self.out, seed=seed, photographs=self.photographs, **options)
        elif self.photographs is not None:
            raise UserError(f"--photographs show finger and cube, and {run} predicts an arm's joints; leave it out")
        else:
            options |= optional | {"out_of_distribution": self.out_of_distribution}
            results = evaluate(run, self.data, self.out, seed=seed, **options)
        write_options(self, self.out / OPTIONS_FILE)
        print_table(results)
        print(f"wrote {self.out / 'results.json'}")
