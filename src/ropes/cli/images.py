"""`ropes validate`, `import`, `strip` and `export`: check, convert, copy and export data sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ropes.cli.options import DataFolder, at_least


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
            from ropes.data.pair_checks import validate_pairs

            print(validate_pairs(self.data))
            return
        from ropes.data.validate import validate

        print(validate(self.data))


@dataclass(frozen=True, kw_only=True)
class Import:
    """Convert image pairs before and after an action from Causal Triplet's layout into a data set.

    Splits are drawn by Causal Triplet's rules, or taken from a manifest: training, validation, and three tests, in
    distribution, on combinations of verb and noun that are not in training, and on nouns that are not in training.

    Example:
      ropes import recordings/procthor --out data/procthor
      ropes import recordings/procthor --manifest manifest.json --image-size 224 --out data/procthor-224
    """

    folder: DataFolder
    """Folder with annotations.csv (ProcTHOR) or EPIC_100_train.csv (Epic-Kitchens); see docs/deltas.md."""
    out: Path
    """Folder of the data set."""
    image_size: int = 64
    """Side of the images in pixels."""
    manifest: Path | None = None
    """JSON file with the second images of each split; if omitted, the folder's manifest.json where there is one."""
    boxes: bool = True
    """Crop images to the object's bounding box, where there is one."""
    seed: int = 0
    """Seed of the splits, without a manifest."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        at_least(16, image_size=self.image_size)

    def execute(self) -> None:
        """Convert the pairs."""
        from ropes.data.import_pairs import import_pairs

        import_pairs(
            self.folder,
            out=self.out,
            image_size=self.image_size,
            manifest=self.manifest,
            boxes=self.boxes,
            seed=self.seed,
        )
        print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Copy a data set without joint angles, commanded positions and seed, for training without labels.

    The distributions of the angles stay, for the Bayes floors.

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
        from ropes.data.export import export_images

        export_images(self.data, self.split, self.count, self.out)
        print(f"wrote {self.out}")
