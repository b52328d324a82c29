"""`ropes report`, `csv` and `reproduce`: results as a page and as one table, experiments."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from ropes.cli.config import OPTIONS_FILE, options_beside, options_when_interrupted, write_options
from ropes.cli.options import (
    CLUSTER_HELP,
    EvaluationFolder,
    at_least,
    distinct,
    rendering_workers,
    require_cluster,
    say_renderer,
)
from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError
from ropes.methods.recipes import Preset
from ropes.methods.registry import method_of, methods_of, require_method
from ropes.methods.training.run_log import LoggerName
from ropes.simulation.backgrounds import SceneName

_METHODS_HELP = (
    f"Methods, separated by commas: {', '.join(methods_of('joints'))}; "
    f"for disentanglement {', '.join(methods_of('factors'))}; "
    f"for causal-triplet and hold-outs {', '.join(methods_of('actions'))}; for mpi3d anchored, ldr, cnn and those of "
    "disentanglement. Variants as METHOD@VARIANT, such as ropes@classifier of table1. Those of the experiment if "
    "omitted."
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one self-contained HTML page: a table that compares results with the paper's, plots and pictures.

    Example:
      ropes report runs/two-cameras-evaluation --out page.html
    """

    evaluation: EvaluationFolder
    """Folder with results.json."""
    out: Path | None = None
    """HTML file; report.html beside results.json if omitted."""

    def execute(self) -> None:
        """Write the page."""
        from ropes.report.html import write_report

        out = self.evaluation / "report.html" if self.out is None else self.out
        write_report(self.evaluation, out)
        write_options(self, options_beside(out))
        print(f"wrote {out}")


@dataclass(frozen=True, kw_only=True)
class Csv:
    """Write all figures of results as one flat CSV, one row a figure.

    Example:
      ropes csv runs/two-cameras-evaluation
      ropes csv runs/table1 runs/table2 --out figures.csv
    """

    results: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders with results.json, or results files."""
    out: Path | None = None
    """CSV file; results.csv beside the results if omitted."""

    def __post_init__(self) -> None:
        if not self.results:
            raise UserError("ropes csv needs a folder with results.json, or a results file")
        if self.out is None and len(self.results) > 1:
            raise UserError(f"{len(self.results)} results need the name of one file; give --out")

    def execute(self) -> None:
        """Write the file."""
        from ropes.evaluation.flat import write_csv
        from ropes.evaluation.results import read

        paths = [path / "results.json" if path.is_dir() else path for path in self.results]
        out = paths[0].with_suffix(".csv") if self.out is None else self.out
        resolved = [path.resolve() for path in paths]
        if len(set(resolved)) < len(resolved):
            raise UserError("the same results are named twice; name each once")
        if out.is_dir() or out.resolve() in resolved:
            raise UserError(f"{out} is {'a folder' if out.is_dir() else 'one of the results'}; give --out another name")
        count = write_csv(out, {str(path): read(path) for path in paths})
        write_options(self, options_beside(out))
        print(f"wrote {out}: {count} figures")


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Run an experiment from simulation to report, unattended. To resume, run the same command again.

    Example:
      ropes reproduce demo --out runs/demo
      ropes reproduce panda-2c --out runs/panda-2c
      ropes reproduce disentanglement --on ray://head:10001 --gpus-per-fit .25 --out /shared/disentanglement
      ropes reproduce table1 --preset compact --methods ropes,ldr,anchored --out runs/table1
      ropes reproduce curves --out runs/curves
      ropes reproduce resolution --out runs/resolution
      ropes reproduce robot-hours --out runs/robot-hours
      ropes reproduce table2 --out runs/table2
      ropes reproduce eq3 --out runs/eq3
      ropes reproduce disentanglement --out runs/disentanglement
      ropes reproduce supervision --out runs/supervision
      ropes reproduce causal-triplet --out runs/actions
      ropes reproduce hold-outs --out runs/hold-outs
      ropes reproduce delta-options --out runs/delta-options
      ropes reproduce six-joints --out runs/six-joints
      ropes reproduce so101 --out runs/so101
      ropes reproduce cameras --out runs/cameras
      ropes reproduce mpi3d --data mpi3d_real.npz --out runs/mpi3d
      ropes reproduce table1 --preset paper --trial --out runs/table1-trial
    """

    name: Annotated[
        Literal[
            "cameras",
            "causal-triplet",
            "coverage",
            "curves",
            "delta-options",
            "demo",
            "disentanglement",
            "eq3",
            "hold-outs",
            "mpi3d",
            "panda-2c",
            "resolution",
            "robot-hours",
            "six-joints",
            "so101",
            "supervision",
            "table1",
            "table2",
        ],
        tyro.conf.Positional,
    ]
    """demo: two cameras and six joints in minutes; panda-2c: the same with 10,000 anchors, the packaged estimator;
    table1: the paper's Table 1; table2: comparison with supervised methods at several numbers of labels; curves: error
    against anchors and image size; resolution: windows around the hand from images of up to 512 pixels; robot-hours:
    error against robot time, from anchors with and without filmed moves, and from chains of moves; coverage: coverage
    of the 90% intervals; disentanglement: VAEs on a robot finger with a cube; supervision: interventions and
    pairs as supervision, on the same images; eq3: objectives of method ropes; six-joints: one camera and six joints,
    three under intervention; so101: an SO-101 before two webcams, in colour (needs pip install -e '.[so101]');
    causal-triplet: action recognition from image pairs; hold-outs: causal-triplet with five other sets of held-out
    objects; delta-options: variants of causal delta embeddings; cameras: the same poses by both renderers, clean and
    with the faults of a webcam and of a harsh camera (needs MuJoCo); mpi3d: joints and factors of a real arm from
    MPI3D's photographs (needs --data)."""
    out: Path
    """Folder for data, runs, results.json and report.html."""
    preset: Preset = "compact"
    """compact: two CPU cores; paper: one CUDA GPU and the paper's sizes."""
    seeds: tuple[int, ...] = ()
    """Training seeds; those of the experiment if omitted."""
    methods: Annotated[str, tyro.conf.arg(help=_METHODS_HELP)] = ""
    settings: str = ""
    """Settings to run now, separated by commas, such as panda-2c-causal of table1; all of the experiment if omitted."""
    workers: int | None = None
    """Rendering processes; one per core if omitted."""
    on: Annotated[str | None, tyro.conf.arg(help=CLUSTER_HELP)] = None
    gpus_per_fit: float | None = None
    """With --on: share of a GPU, or number of GPUs, of each fit; if omitted, 1 if the cluster has GPUs."""
    data: Path | None = None
    """With mpi3d: mpi3d_real.npz (docs/photographs.md). With causal-triplet: Causal Triplet's files (see ropes validate
    --format causal-triplet) in place of simulated pairs. With disentanglement: photographs for further tests (see ropes
    evaluate --photographs); they must be given in the first call."""
    processes: int | None = None
    """Parallel fits, which share the cores: on a CPU N fits at once end sooner than one after the other on all cores,
    and take more memory. If omitted: one per core with disentanglement, supervision, eq3 and experiments of actions,
    otherwise one. Fits of ropes or jointnet that share their first stages stay one after the other. Parallel fits begin
    when all data sets are rendered."""
    precision: RequestedPrecision = "auto"
    """Precision of fits and evaluations, as in ropes fit and ropes evaluate."""
    logger: LoggerName | None = None
    """Logger of every fit, as in ropes fit; files are in logs of the folder of each fit."""
    scene: SceneName | None = None
    """Background of arms, as in ropes simulate; panda-gym, as in the ROPES paper, if omitted. Not with cameras."""
    mesh: Literal["simplified", "full"] | None = None
    """Visual meshes of arms, as in ropes simulate. If omitted: full with --preset paper, otherwise simplified."""
    trial: bool = False
    """Run all stages, the cleaner of passers-by too, with 1% of the data and of the training steps, and networks of
    full size: shows in minutes whether the experiment runs on this machine, such as --preset paper without a GPU."""

    def __post_init__(self) -> None:
        at_least(0, seeds=min(self.seeds, default=0))
        if "" in self.method_names:
            raise UserError(f"--methods {self.methods!r} has an empty name; separate names by a comma, as ldr,ropes")
        if "" in self.setting_names:
            raise UserError(f"--settings {self.settings!r} has an empty name; separate names by a comma")
        distinct(seeds=self.seeds, methods=self.method_names, settings=self.setting_names)
        for method in self.method_names:
            if not method_of(method):
                raise UserError(f"--methods {method} lacks the method before the @; give METHOD@VARIANT")
            require_method(method_of(method))
        at_least(1, workers=self.workers, processes=self.processes)
        require_cluster(self.on, self.gpus_per_fit, workers=self.workers, processes=self.processes)

    @property
    def method_names(self) -> tuple[str, ...]:
        """The requested methods; empty for those of the experiment."""
        return _names(self.methods)

    @property
    def setting_names(self) -> tuple[str, ...]:
        """The requested settings; empty for all of the experiment."""
        return _names(self.settings)

    def execute(self) -> None:
        """Run the experiment, write the report and print the table."""
        from ropes.errors import UnfinishedError
        from ropes.evaluation.results import read
        from ropes.experiments.folder import EXPERIMENT_FILE
        from ropes.experiments.run import reproduce
        from ropes.report.html import write_report
        from ropes.report.terminal import print_table

        path, page = self.out / "results.json", self.out / "report.html"
        gpus: dict[str, Any] = {} if self.gpus_per_fit is None else {"gpus_per_fit": self.gpus_per_fit}
        options, begun = self.out / OPTIONS_FILE, self.out / EXPERIMENT_FILE
        try:
            with (
                options_when_interrupted(self, options, begun),
                rendering_workers(self.on, self.workers) as workers,
            ):
                results = reproduce(
                    self.name,
                    preset=self.preset,
                    out=self.out,
                    methods=self.method_names or None,
                    seeds=self.seeds or None,
                    settings=self.setting_names or None,
                    workers=workers,
                    processes=self.processes,
                    recorded=self.data,
                    precision=self.precision,
                    logger=self.logger,
                    scene=self.scene,
                    mesh=self.mesh,
                    trial=self.trial,
                    **gpus,
                )
        except UnfinishedError:
            finished = read(path)
            if finished.rows or finished.model_rows or finished.action_rows:
                write_report(self.out, page)
                print(f"wrote {path} and {page} with the finished fits")
            raise
        if self.name != "cameras" and self.data is None:  # cameras names its renderers, recordings need none
            say_renderer(self.scene or "white")
        write_report(self.out, page)
        write_options(self, options)
        print_table(results)
        print(f"wrote {path} and {page}")


def _names(words: str) -> tuple[str, ...]:
    """Names separated by commas; none for an empty string."""
    return tuple(word.strip() for word in words.split(",")) if words.strip() else ()
