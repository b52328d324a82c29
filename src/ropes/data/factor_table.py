"""Reads images that a table lists with the values of their factors, as in CausalVerse and Causal3D.

A row of the table is an image: a column has its path, and columns of numbers have its factors.  A further column may
name the regime under which it was taken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.data.interventions import single_interventions
from ropes.data.recordings.logs import LOG_SUFFIXES, files
from ropes.data.recordings.source import IMAGE_SUFFIXES, digest
from ropes.data.recordings.tables import Table, read_table
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a table to read.

    Attributes:
        factors: with the factors; all of numbers that vary if empty.
        image: with the paths of the images; the only one with names of images if None.
        policy: with the regimes; None for images without intervention.
        folder: that the paths are relative to, itself relative to the table's folder.
    """

    factors: tuple[str, ...] = ()
    image: str | None = None
    policy: str | None = None
    folder: Path = Path()


@dataclass(frozen=True, kw_only=True)
class FactorImages:
    """Images with their factors.

    Attributes:
        names: of the factors.
        factors: (n, f), in the units of the table.
        images: path of each image.
        regimes: regime of each image.
        record: origin for `meta/ropes.json`, as JSON can hold it.
    """

    names: tuple[str, ...]
    factors: Floats
    images: tuple[Path, ...]
    regimes: tuple[Regime, ...]
    record: Mapping[str, object]

    def __len__(self) -> int:
        return len(self.images)


def find_table(source: Path) -> Path:
    """The table itself, or the only one in a folder.

    Raises:
        UserError: the folder has none, or several.
    """
    if source.is_file():
        return source
    found = files(source, LOG_SUFFIXES)
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise UserError(f"{source} needs one table, CSV or Parquet, and has {names}; give the path of a table")
    return found[0]


def read_factor_table(path: Path, columns: Columns) -> FactorImages:
    """Read a table of images and factors; images themselves are not opened.

    Raises:
        UserError: a column is missing, a factor is not a finite number, an image is missing, or a text is no regime.
    """
    table = read_table(path)
    image = columns.image or _only_image_column(table)
    folder = path.parent / columns.folder
    images = tuple(_images(table, image, folder))
    names = columns.factors or _varying(table, {image, columns.policy})
    regimes = (Regime(),) * len(table) if columns.policy is None else _regimes(table, columns.policy)
    record = {"format": "table", "table_sha256": digest(path, [path]), "sha256": digest(folder, images)}
    return FactorImages(
        names=names,
        factors=np.stack([table.numbers(name) for name in names], axis=1),
        images=images,
        regimes=regimes,
        record={"name": path.name, **record},
    )


def require_regimes(regimes: Sequence[Regime], names: Sequence[str], where: str) -> None:
    """Check that interventions are on factors: two on each of some of them, or one on each beside no intervention.

    Raises:
        UserError: an intervention is on no factor, or some factors have one of two interventions.
    """
    seen = set(regimes)
    for regime in sorted(seen, key=lambda each: each.name):
        if regime.joint is None:
            continue
        if regime.joint not in names:
            raise UserError(f"{where}: policy {regime.name} is of no factor ({', '.join(names)})")
        if Regime(regime.joint, 3 - regime.policy) not in seen and not single_interventions(tuple(seen)):
            raise UserError(
                f"{where}: factor {regime.joint} has policy {regime.policy} alone; give two policies on each factor, "
                "or policy 1 alone on each and images without intervention"
            )


def _images(table: Table, column: str, folder: Path) -> list[Path]:
    """The path of each row's image, which must exist."""
    found = []
    for row, name in enumerate(table.texts(column)):
        if not name or Path(name).is_absolute():
            fault = "is absolute" if name else "is empty"
            raise UserError(f"{table.where(row)}: {column} {name!r} {fault}; give a path relative to {folder}")
        if not (folder / name).is_file():
            raise UserError(f"{table.where(row)}: image {name} is missing in {folder}; restore it, or remove the row")
        found.append(folder / name)
    return found


def _only_image_column(table: Table) -> str:
    named = [
        name for name in table.columns if all(Path(text).suffix.lower() in IMAGE_SUFFIXES for text in table.texts(name))
    ]
    if len(named) != 1:
        several = f"several columns with names of images ({', '.join(named)})"
        fault = several if named else f"no column with names of images; it has {', '.join(table.columns)}"
        raise UserError(f"{table.path} has {fault}; name the column by --image-column")
    return named[0]


def _varying(table: Table, others: set[str | None]) -> tuple[str, ...]:
    """The columns of numbers that vary, without those that number the rows.

    Raises:
        UserError: there is none, or a column has numbers in most of its cells, but not in all.
    """
    table.require_whole("mend the cell, remove the row, or name the factors by --factor-columns", without=others)
    names = tuple(
        name
        for name in table.numeric()
        if name not in others and np.ptp(values := table.numbers(name)) > 0 and not _numbers_rows(values)
    )
    if not names:
        raise UserError(f"{table.path} has no column of numbers that vary; name the factors by --factor-columns")
    return names


def _numbers_rows(values: Floats) -> bool:
    """Whether a column counts the rows, as an index or an id does: whole numbers, each one more than the last."""
    return len(values) > 2 and bool((np.diff(values) == 1).all())


def _regimes(table: Table, column: str) -> tuple[Regime, ...]:
    regimes = []
    for row, name in enumerate(table.texts(column)):
        try:
            regimes.append(Regime.parse(name))
        except ValueError:
            raise UserError(
                f"{table.where(row)}: {column} {name!r} is no policy (observational, or a factor, a slash and 1 or 2, "
                "as red/1)"
            ) from None
    return tuple(regimes)
