"""`ropes tables`: tables of pages from the committed results."""

from dataclasses import dataclass
from pathlib import Path

from ropes.errors import UserError

#: Pages in docs/ with tables of results.
_PAGES = (
    "anchored",
    "benchmark",
    "camera-levels",
    "chains",
    "curves",
    "deltas",
    "disentanglement",
    "eq3",
    "recording",
    "results",
    "ropes",
    "so101",
    "supervised",
    "trust",
)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Write the tables of README.md and docs/ from the committed results, or check that they agree.

    With --run, the command first copies results.json and the figures of an experiment to --results. With --keep, it
    keeps the committed rows of other methods and settings; with --keep-seeds, those of other training seeds too.

    Example:
      ropes tables --run runs/table1
      ropes tables --run runs/table1-anchored --keep
      ropes tables --run runs/table1-second-seed --keep-seeds
      ropes tables --check
    """

    pages: tuple[Path, ...] = (Path("README.md"), *(Path(f"docs/{name}.md") for name in _PAGES))
    """Files with table markers."""
    results: Path = Path("results")
    """Folder with NAME-PRESET.json."""
    check: bool = False
    """Write nothing; fail if a table differs."""
    run: Path | None = None
    """Folder of a finished experiment whose results to copy."""
    keep: bool = False
    """With --run: keep committed rows of methods and settings that the experiment lacks."""
    keep_seeds: bool = False
    """With --run: keep these and committed rows of other training seeds of its methods, made by the same code."""

    def __post_init__(self) -> None:
        if not self.pages:
            raise UserError("--pages needs the name of a file with table markers")
        for option, given in (("--keep", self.keep), ("--keep-seeds", self.keep_seeds)):
            if given and self.run is None:
                raise UserError(f"{option} goes with --run; give --run as well")
        if self.check and self.run is not None:
            raise UserError("--check writes nothing and does not go with --run; leave one of them out")

    def execute(self) -> None:
        """Update or check the tables."""
        from ropes.report.readme_tables import update
        from ropes.report.stills import publish

        if self.run is not None:
            for path in publish(self.run, self.results, keep=self.keep, keep_seeds=self.keep_seeds):
                print(f"wrote {path}")
        for page in self.pages:
            update(page, self.results, self.check)
