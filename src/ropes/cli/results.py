"""`ropes report`, `reproduce` and `tables`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ropes.cli.options import EvaluationFolder, at_least, distinct
from ropes.common.hardware import AskedPrecision
from ropes.errors import UserError
from ropes.methods.recipes import Preset
from ropes.methods.registry import require_method


@dataclass(frozen=True, kw_only=True)
class Report:
    """Write one self-contained HTML page: the table against the paper, plots and pictures.

    Example:
      ropes report runs/two-cameras-evaluation --out page.html
    """

    evaluation: EvaluationFolder
    """Folder with results.json."""
    out: Path | None = None
    """The page; report.html beside results.json where left out."""

    def execute(self) -> None:
        """Write the page and say where."""
        from ropes.report.html import write_report

        out = self.evaluation / "report.html" if self.out is None else self.out
        write_report(self.evaluation, out)
        print(f"wrote {out}")


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Run an experiment from simulation to report, unattended. To resume, run the same command again.

    Example:
      ropes reproduce demo --out runs/demo
      ropes reproduce panda-2c --out runs/panda-2c
      ropes reproduce table1 --preset compact --methods ropes,ldr,anchored --out runs/table1
      ropes reproduce curves --out runs/curves
      ropes reproduce table2 --out runs/table2
      ropes reproduce eq3 --out runs/eq3
      ropes reproduce disentanglement --out runs/disentanglement
      ropes reproduce supervision --out runs/supervision
      ropes reproduce causal-triplet --out runs/actions
      ropes reproduce hold-outs --out runs/hold-outs
      ropes reproduce delta-options --out runs/delta-options
      ropes reproduce six-joints --out runs/six-joints
    """

    name: Annotated[
        Literal[
            "causal-triplet",
            "coverage",
            "curves",
            "delta-options",
            "demo",
            "disentanglement",
            "eq3",
            "hold-outs",
            "panda-2c",
            "six-joints",
            "supervision",
            "table1",
            "table2",
        ],
        tyro.conf.Positional,
    ]
    """demo: two cameras and six joints in minutes; panda-2c: the same with 10,000 anchors, as it is packaged;
    table1: the paper's Table 1; table2: how many labels a method without labels is worth; curves: error against
    anchors, pixels, and squares in training images; coverage: how many true angles the 90% intervals hold;
    disentanglement: VAEs of a robot finger with a cube; supervision: what interventions and pairs teach from the same
    images; eq3: objectives of method ropes, the paper's own among them; six-joints: one camera and six joints, three
    of which are intervened on; causal-triplet: what was done, told from
    images before and after; hold-outs: the same with five other choices of things never seen; delta-options: what
    other readings of causal delta embeddings do."""
    out: Path
    """Folder for data, runs, results.json and report.html."""
    preset: Preset = "compact"
    """compact: two CPU cores; paper: one CUDA GPU and the paper's sizes."""
    seeds: tuple[int, ...] = ()
    """Training seeds; the experiment's own where left out."""
    methods: str = ""
    """Methods with commas between: anchored, cnn, jointnet, ldr, ropes; for disentanglement ada-gvae, beta-vae; for
    causal-triplet and hold-outs cde-global, cde-patch, icm, plain-resnet, plain-vit, sms; the experiment's own where
    left out."""
    workers: int | None = None
    """Processes that render; one for each core where left out."""
    data: Path | None = None
    """With causal-triplet: its own files (see ropes validate --format causal-triplet), instead of what is simulated.
    With disentanglement: photographs to test on as well (see ropes evaluate --photographs), given from the start."""
    processes: int | None = None
    """With disentanglement, supervision, eq3 and experiments of actions: models that are fitted at a time; one for each
    core where left out."""
    precision: AskedPrecision = "auto"
    """Of fits and evaluations, as in ropes fit and ropes evaluate."""

    scene: Literal["white", "panda-gym"] | None = None
    """What stands behind arms, as in ropes simulate; panda-gym, as in the ROPES paper, where left out."""

    def __post_init__(self) -> None:
        at_least(0, seeds=min(self.seeds, default=0))
        if "" in self.chosen:
            raise UserError(
                f"--methods {self.methods!r} has an empty name; give names with one comma between, as ldr,ropes"
            )
        distinct(seeds=self.seeds, methods=self.chosen)
        for method in self.chosen:
            require_method(method)
        for name, number in (("workers", self.workers), ("processes", self.processes)):
            if number is not None:
                at_least(1, **{name: number})

    @property
    def chosen(self) -> tuple[str, ...]:
        """The methods asked for; none where left out."""
        return tuple(word.strip() for word in self.methods.split(",")) if self.methods.strip() else ()

    def execute(self) -> None:
        """Run the experiment, write the report and print the table."""
        from ropes.errors import UnfinishedError
        from ropes.evaluation.results import read
        from ropes.experiments.run import reproduce
        from ropes.report.html import write_report
        from ropes.report.terminal import print_table

        try:
            results = reproduce(
                self.name,
                preset=self.preset,
                out=self.out,
                methods=self.chosen or None,
                seeds=self.seeds or None,
                workers=self.workers,
                processes=self.processes,
                recorded=self.data,
                precision=self.precision,
                scene=self.scene,
            )
        except UnfinishedError:
            done = read(self.out / "results.json")
            if done.rows or done.model_rows or done.action_rows:
                write_report(self.out, self.out / "report.html")
                print(f"wrote {self.out / 'results.json'} and {self.out / 'report.html'} of what is done")
            raise
        write_report(self.out, self.out / "report.html")
        print_table(results)
        print(f"wrote {self.out / 'results.json'} and {self.out / 'report.html'}")


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Write the tables of README.md and of pages in docs/ from the committed results, or check that they agree.

    With --run, first commit the results of an experiment: its results.json and its figures go to --results; with --keep
    beside the committed rows of other methods.

    Example:
      ropes tables --run runs/table1
      ropes tables --run runs/table1-anchored --keep
      ropes tables --check
    """

    pages: tuple[Path, ...] = (
        Path("README.md"),
        Path("docs/curves.md"),
        Path("docs/deltas.md"),
        Path("docs/disentanglement.md"),
        Path("docs/eq3.md"),
        Path("docs/results.md"),
        Path("docs/supervised.md"),
        Path("docs/trust.md"),
    )
    """Files with the table markers."""
    results: Path = Path("results")
    """Folder with NAME-PRESET.json."""
    check: bool = False
    """Write nothing; fail where a table differs."""
    run: Path | None = None
    """Folder of a finished experiment to take results and figures from."""
    keep: bool = False
    """With --run: leave committed rows of methods that the experiment lacks as they are."""

    def __post_init__(self) -> None:
        if not self.pages:
            raise UserError("--pages needs the name of a file with table markers")
        if self.keep and self.run is None:
            raise UserError("--keep says what to do with what --run brings; give --run as well")
        if self.check and self.run is not None:
            raise UserError("--check writes nothing, so it does not go with --run")

    def execute(self) -> None:
        """Update or check the tables."""
        from ropes.report.readme_tables import update
        from ropes.report.stills import publish

        if self.run is not None:
            for path in publish(self.run, self.results, keep=self.keep):
                print(f"wrote {path}")
        for page in self.pages:
            update(page, self.results, self.check)
