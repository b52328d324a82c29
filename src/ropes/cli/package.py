"""`ropes package` and `card`: packaged estimators and their model cards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import DataLocation, RunFolder
from ropes.common.hardware import choose_accelerator
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Package:
    r"""Package a run: as a folder that ropes reads, or as one file of ONNX or torch.export for other programs.

    Nothing is uploaded or downloaded.

    Example:
      ropes package runs/two-cameras --name panda-2c --data data/two-cameras \
        --results runs/two-cameras-evaluation/results.json --out packages
      ropes package runs/arm --name my-arm --data data/arm --out packages
      ropes package runs/two-cameras --format onnx --data data/two-cameras --out exported
      ropes package panda-2c --format torch-export --out exported
    """

    run: RunFolder
    """Folder of a run; with --format onnx or torch-export also the name of a packaged estimator."""
    out: Path
    """Folder in which the new folder is created."""
    format: Literal["safetensors", "onnx", "torch-export"] = "safetensors"
    """safetensors: the files that ropes reads, of a run that gives radians (calibrated, or cnn and jointnet). onnx,
    torch-export: one file with the whole estimator from images to angles, compared with the run before it is kept
    (onnx: pip install -e '.[export]')."""
    name: str | None = None
    """Name of the new folder, required for safetensors; that of the run if omitted. An earlier package of that name is
    replaced."""
    data: DataLocation | None = None
    """Training data set of the run, required for safetensors and for --results; otherwise any data set with the run's
    cameras, for the comparison. If omitted, the comparison uses synthetic images."""
    results: Path | None = None
    """results.json of the run's evaluation, for the card."""

    def execute(self) -> None:
        """Package the run."""
        if self.format == "safetensors":
            self._package()
            return
        choose_accelerator("cpu")  # the exported network, its example and its runtime are on the processor
        from ropes.experiments.exporter import export, read_config
        from ropes.models.registry import find_run

        run = find_run(self.run)
        name = self.name or run.resolve().name
        folder = export(run, kind=self.format, name=name, out=self.out, data=self.data, results=self.results)
        config = read_config(folder)
        compared, unit = config["compared"], "rad" if config["unit"] == "rad" else "units of the coordinate"
        write_options(self, options_beside(folder))
        print(f"differs from the run by at most {compared['difference']:.1e} {unit} on {compared['poses']} poses")
        print(f"wrote {folder}")

    def _package(self) -> None:
        from ropes.experiments.packager import package
        from ropes.models.registry import own_run

        if self.name is None or self.data is None:
            missing = "name" if self.name is None else "data"
            raise UserError(f"--format safetensors needs --{missing}")
        folder = package(own_run(self.run), name=self.name, data=self.data, results=self.results, out=self.out)
        write_options(self, options_beside(folder))
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
