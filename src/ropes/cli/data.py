"""`ropes validate`, `strip` and `export`: check and copy data sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import DataFolder, at_least
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Validate:
    """Check a data set; report the file and row of the first fault.

    Example:
      ropes validate data/two-cameras
      ropes validate --format causal-triplet recordings/procthor
    """

    data: DataFolder
    """Data set to check."""
    format: Literal["lerobot", "causal-triplet"] = "lerobot"
    """LeRobot v3.0, or Causal Triplet's files (ProcTHOR or Epic-Kitchens) before ropes import."""

    def execute(self) -> None:
        """Validate the data set and describe its content."""
        if self.format == "causal-triplet":
            from ropes.data.import_pairs import validate_pairs

            if not isinstance(self.data, Path):
                raise UserError(f"--format causal-triplet reads local files, not {self.data}; copy them first")
            print(validate_pairs(self.data))
            return
        from ropes.data.validate import validate

        print(validate(self.data))


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Copy a data set without joint angles, commanded positions and seed, for training without labels.

    The policy distributions are kept; the Bayes-optimal cross-entropies are computed from them.

    Example:
      ropes strip data/two-cameras --out data/two-cameras-unlabelled
    """

    data: DataFolder
    """Data set to copy."""
    out: Path
    """Folder of the copy."""

    def execute(self) -> None:
        """Copy the data set without `observation.state` and `action`."""
        from ropes.data.layout import copy_without_labels

        copy_without_labels(self.data, self.out)
        write_options(self, options_beside(self.out))
        print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Export images of a data set as FOLDER/CAMERA/INDEX.png, for example for ropes predict.

    Example:
      ropes export data/two-cameras --split test-id --count 4 --out photos
    """

    data: DataFolder
    """Data set with the images."""
    out: Path
    """Folder of the images."""
    split: str = "test-id"
    """Split of the images."""
    count: int = 4
    """Number of poses, the first ones of the split; each has one image per camera."""

    def __post_init__(self) -> None:
        at_least(1, count=self.count)

    def execute(self) -> None:
        """Write the images."""
        from ropes.data.layout import export_images

        export_images(self.data, self.split, self.count, self.out)
        write_options(self, options_beside(self.out))
        print(f"wrote {self.out}")
