"""`ropes package` and `card`: packaged estimators and their model cards."""

from dataclasses import dataclass
from pathlib import Path

from ropes.cli.options import RunFolder


@dataclass(frozen=True, kw_only=True)
class Package:
    r"""Copy a calibrated run into a folder of packaged estimators: the files for prediction, and a model card.

    Example:
      ropes package runs/two-cameras --name panda-2c --data data/two-cameras \
        --results runs/two-cameras-evaluation/results.json --out src/ropes/models/pretrained
    """

    run: RunFolder
    """Folder of a calibrated run."""
    name: str
    """Name of the packaged estimator; an estimator of that name is replaced."""
    data: Path
    """Training data set of the run."""
    results: Path
    """results.json of the run's evaluation, for the card."""
    out: Path
    """Folder of packaged estimators; src/ropes/models/pretrained is part of the Python package."""

    def execute(self) -> None:
        """Package the run."""
        from ropes.experiments.packaging import package
        from ropes.models.registry import own_run

        folder = package(own_run(self.run), name=self.name, data=self.data, results=self.results, out=self.out)
        print(f"wrote {folder}")


@dataclass(frozen=True, kw_only=True)
class Card:
    """Print the model card of a packaged estimator.

    Example:
      ropes card panda-2c
    """

    run: RunFolder
    """Name of a packaged estimator (packaged:NAME where a folder has that name), or its folder."""

    def execute(self) -> None:
        """Print the card."""
        from ropes.models.registry import find_run, read_card

        print(read_card(find_run(self.run)), end="")
