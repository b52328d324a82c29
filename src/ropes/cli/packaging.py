"""`ropes package` and `card`: estimators that come with the package."""

from dataclasses import dataclass
from pathlib import Path

from ropes.cli.options import RunFolder


@dataclass(frozen=True, kw_only=True)
class Package:
    r"""Copy what prediction needs of a calibrated run into a folder of packaged estimators, with a model card.

    Example:
      ropes package runs/two-cameras --name panda-2c --data data/two-cameras \
        --results runs/two-cameras-evaluation/results.json --out src/ropes/models/pretrained
    """

    run: RunFolder
    """Folder that ropes fit wrote and ropes calibrate completed."""
    name: str
    """What the estimator will be called; one of that name is replaced."""
    data: Path
    """Data set that the run was fitted on."""
    results: Path
    """results.json of its evaluation: the card's figures."""
    out: Path
    """Folder of packaged estimators; those in src/ropes/models/pretrained come with the package."""

    def execute(self) -> None:
        """Package the run."""
        from ropes.experiments.packaging import package
        from ropes.models.registry import own_run

        made = package(own_run(self.run), name=self.name, data=self.data, results=self.results, out=self.out)
        print(f"wrote {made}")


@dataclass(frozen=True, kw_only=True)
class Card:
    """Print the model card of a packaged estimator.

    Example:
      ropes card panda-2c
    """

    run: RunFolder
    """Name of a packaged estimator (packaged:NAME where a run has that name), or a folder that ropes package wrote."""

    def execute(self) -> None:
        """Print the card."""
        from ropes.models.registry import find_run, read_card

        print(read_card(find_run(self.run)), end="")
