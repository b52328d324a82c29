"""`ropes inspect` and `graph`: check a data set before training, and infer the joints' causal graph."""

from dataclasses import dataclass
from pathlib import Path

from ropes.cli.options import DataFolder, RunFolder, at_least
from ropes.errors import UserError

_PICTURE = "inspection.png"


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Infer the causal graph of the joints from a run's coordinates under the interventions of a data set.

    Example:
      ropes graph runs/causal --data data/causal --out runs/causal-graph
    """

    run: RunFolder
    """Folder of the run, or name of a packaged estimator (packaged:NAME where a folder has that name)."""
    data: Path
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
    """Data set to inspect."""
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

        if self.out is not None:
            files.ensure_output_folder(self.out, _PICTURE)
        inspection = inspect_data(self.data, seed=self.seed)
        print_inspection(inspection)
        if self.json is not None:
            files.write_json(self.json, inspection.to_dict())
        if self.out is not None:
            with files.atomic_path(self.out / _PICTURE) as temporary:
                picture(inspection).savefig(temporary, format="png", dpi=110)
