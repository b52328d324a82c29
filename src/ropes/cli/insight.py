"""`ropes inspect` and `graph`: what the data allow, and which joint causes which."""

from dataclasses import dataclass
from pathlib import Path

from ropes.cli.options import DataFolder, RunFolder, at_least
from ropes.errors import UserError

_PICTURE = "inspection.png"


@dataclass(frozen=True, kw_only=True)
class Graph:
    """Infer which joint causes which, from a run's coordinates under the interventions of a data set.

    Example:
      ropes graph runs/causal --data data/causal --out runs/causal-graph
    """

    run: RunFolder
    """Folder that ropes fit wrote, or the name of a packaged estimator; packaged:NAME where a run has that name."""
    data: Path
    """Data set with both policies on every joint; its angles are not read."""
    out: Path | None = None
    """Folder for graph.json, graph.png and graph.svg; nothing is written where left out."""
    bound: float = 0.1
    """Least direct effect that counts as an edge, in shares of what a joint's own policies do to it."""
    seed: int = 0
    """Seed of the choice of anchors and of the bootstrap."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        if not 0 <= self.bound < 1:
            raise UserError(f"--bound is {self.bound:g}; it must be at least 0 and below 1")

    def execute(self) -> None:
        """Infer the graph, print it, and draw it where asked to."""
        from ropes.common.files import claim_folder, require_free
        from ropes.evaluation.causal_graph import causal_graph
        from ropes.models.registry import find_run
        from ropes.report.graph import print_graph, write_pictures

        run = find_run(self.run)
        if self.out is not None:
            require_free(self.out, "graph.json")
        found = causal_graph(run, self.data, bound=self.bound, seed=self.seed).to_dict()
        print_graph(found)
        if self.out is not None:
            claim_folder(self.out, "graph.json")
            write_pictures(found, self.out)
            print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Inspect:
    """Say before training whether a data set can work, which joint will be weak, and what would help.

    The verdict is the first line. Neither angles nor described distributions are needed; both are used where they are.

    Example:
      ropes inspect data/two-cameras
      ropes inspect data/two-cameras --json inspection.json --out inspection
    """

    data: DataFolder
    """Data set to look at."""
    json: Path | None = None
    """File for everything measured."""
    out: Path | None = None
    """Folder for inspection.png: an example of every regime, and where it moves pixels."""
    seed: int = 0
    """Seed of the sampled poses."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)

    def execute(self) -> None:
        """Inspect, print, and write what was asked for."""
        from ropes.common import files
        from ropes.evaluation.inspection import inspect_data
        from ropes.report.inspection import picture, print_inspection

        if self.out is not None:
            files.claim_folder(self.out, _PICTURE)
        found = inspect_data(self.data, seed=self.seed)
        print_inspection(found)
        if self.json is not None:
            files.write_json(self.json, found.to_dict())
        if self.out is not None:
            with files.atomic_path(self.out / _PICTURE) as temporary:
                picture(found).savefig(temporary, format="png", dpi=110)
