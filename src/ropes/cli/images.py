"""`ropes validate`, `import`, `strip` and `export`: check, copy and extract images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ropes.cli.options import DataFolder, at_least


@dataclass(frozen=True, kw_only=True)
class Validate:
    """Check a data set, and name the file, the row and the fault where there is one.

    Example:
      ropes validate data/two-cameras
      ropes validate --format causal-triplet recordings/procthor
    """

    data: DataFolder
    """Data set to check."""
    format: Literal["lerobot", "causal-triplet"] = "lerobot"
    """LeRobot v3.0, as all commands read; or the files of Causal Triplet, ProcTHOR's or Epic-Kitchens', which ropes
    import takes over."""

    def execute(self) -> None:
        """Validate; faults are raised."""
        if self.format == "causal-triplet":
            from ropes.data.pair_checks import validate_pairs

            print(validate_pairs(self.data))
            return
        from ropes.data.validate import validate

        print(validate(self.data))


@dataclass(frozen=True, kw_only=True)
class Import:
    """Take over pairs of images before and after an action, in Causal Triplet's own layout, as a data set.

    Splits are drawn by its rules, or taken from a manifest: training, validation, and tests in distribution, on verbs
    with nouns that training never puts together, and on nouns that it never sees.

    Example:
      ropes import recordings/procthor --out data/procthor
      ropes import recordings/procthor --manifest manifest.json --image-size 224 --out data/procthor-224
    """

    folder: DataFolder
    """Folder with annotations.csv (ProcTHOR) or EPIC_100_train.csv (Epic-Kitchens); see docs/deltas.md."""
    out: Path
    """Folder of the data set."""
    image_size: int = 64
    """Side that the images are brought to, pixels."""
    manifest: Path | None = None
    """JSON file: split to a list of second images."""
    boxes: bool = True
    """Cut out the thing by its box, where there is one; or keep the whole scene."""
    seed: int = 0
    """Seed of the splits, where there is no manifest."""

    def __post_init__(self) -> None:
        at_least(0, seed=self.seed)
        at_least(16, image_size=self.image_size)

    def execute(self) -> None:
        """Take the pairs over."""
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
    """Copy a data set without its joint angles, commanded positions and seed: complete for label-free training.

    The distributions that the angles were drawn from stay, for the Bayes floors.

    Example:
      ropes strip data/two-cameras --out data/two-cameras-unlabelled
    """

    data: DataFolder
    """Data set to copy."""
    out: Path
    """Folder of the copy."""

    def execute(self) -> None:
        """Copy all but `observation.state` and `action`."""
        from ropes.data.layout import strip_states

        strip_states(self.data, self.out)
        print(f"wrote {self.out}")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write images of a data set as files, FOLDER/CAMERA/INDEX.png, for example to try ropes predict with.

    Example:
      ropes export data/two-cameras --split test-id --count 4 --out photos
    """

    data: DataFolder
    """Data set to take the images from."""
    out: Path
    """Folder of the images."""
    split: str = "test-id"
    """Split to take them from."""
    count: int = 4
    """Poses, the first ones of the split; one image for each camera and pose."""

    def __post_init__(self) -> None:
        at_least(1, count=self.count)

    def execute(self) -> None:
        """Write the images."""
        from ropes.data.export import export_images

        export_images(self.data, self.split, self.count, self.out)
        print(f"wrote {self.out}")
