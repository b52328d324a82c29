"""Reads small tables, CSV or Parquet, and names the row of a wrong value."""

import csv
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ropes.errors import UserError, in_one_line

#: Columns that pandas writes for its index have no name, or begin so.
_INDEX = ("Unnamed:", "__index_level_")
#: A cell: a text in a CSV file; None is an empty cell.
Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """A table: column → cells.

    Attributes:
        path: of the file.
        columns: of equal lengths.
        rows: numbers of the rows, for messages: row 1 of a CSV file is its header; rows of Parquet files count from 0.
    """

    path: Path
    columns: Mapping[str, Sequence[Cell]]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def where(self, row: int) -> str:
        """Name of the table and number of the row, for messages."""
        return f"{self.path.name}, row {self.rows[row]}"

    def texts(self, column: str) -> tuple[str, ...]:
        """A column as texts without spaces around them."""
        return tuple("" if cell is None else str(cell).strip() for cell in self._cells(column))

    def numbers(self, column: str) -> NDArray[np.float64]:
        """A column as finite numbers, (rows,).

        Raises:
            UserError: no such column, or a cell is not a finite number.
        """
        values = np.empty(len(self))
        for row, cell in enumerate(self._cells(column)):
            number = as_number(cell)
            if number is None:
                unit = " of seconds" if column == "time" else ""
                raise UserError(f"{self.where(row)}: {column} {cell!r} is not a finite number{unit}")
            values[row] = number
        return values

    def counts(self, column: str) -> NDArray[np.int64]:
        """A column as numbers 0, 1, 2, …, (rows,).

        Raises:
            UserError: no such column, or a cell is not a whole number or is negative.
        """
        values = self.numbers(column)
        wrong = np.flatnonzero((values != np.floor(values)) | (values < 0))
        if len(wrong):
            row = int(wrong[0])
            raise UserError(f"{self.where(row)}: {column} {values[row]:g} is not a number 0, 1, 2, …")
        return values.astype(np.int64)

    def numeric(self) -> tuple[str, ...]:
        """Names of the columns whose cells are all finite numbers, without the index that pandas writes."""
        return tuple(
            name
            for name, cells in self.columns.items()
            if name and not name.startswith(_INDEX) and cells and all(as_number(cell) is not None for cell in cells)
        )

    def require_whole(self, advice: str, without: Collection[str | None] = ()) -> None:
        """Check that each column has numbers only, or hardly any: a joint with an empty cell must not vanish.

        Args:
            advice: what to do, for the message.
            without: columns that are not checked.

        Raises:
            UserError: most cells of a column are finite numbers, but one is not.
        """
        for name, cells in self.columns.items():
            numbers = [as_number(cell) is not None for cell in cells]
            if name and name not in without and numbers and 0.5 < sum(numbers) / len(numbers) < 1:
                row = numbers.index(False)
                raise UserError(f"{self.where(row)}: {name} is {cells[row]!r}, which is no number; {advice}")

    def _cells(self, column: str) -> Sequence[Cell]:
        if column not in self.columns:
            raise UserError(f"{self.path} has no column {column!r}; it has {', '.join(self.columns) or 'none'}")
        return self.columns[column]


def as_number(cell: Cell) -> float | None:
    """A cell as a finite number; None where it is none."""
    if cell is None or isinstance(cell, bool):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):  # a date or a list in a Parquet file
        return None
    return number if math.isfinite(number) else None


def read_table(path: Path) -> Table:
    """Read a CSV file with a header, or a Parquet file.

    Raises:
        UserError: the file is missing, empty or damaged, or a row has another number of cells than the header.
    """
    if not path.is_file():
        raise UserError(f"{path} is missing")
    if path.suffix == ".parquet":
        try:
            table = pq.read_table(path)
            columns = {name: table[name].to_pylist() for name in table.column_names}
        except (OSError, ValueError, pa.ArrowException) as error:
            raise UserError(f"{path} is no Parquet file that can be read ({in_one_line(error)})") from error
        return _filled(Table(path, columns, range(table.num_rows)))
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            rows = [(number, row) for number, row in enumerate(csv.reader(stream), 1) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} is no CSV file ({error})") from error
    header = [name.strip() for name in rows[0][1]] if rows else []
    if repeated := [name for name in header if header.count(name) > 1]:
        raise UserError(f"{path} has two columns {repeated[0]!r}; give each its own name")
    for number, row in rows[1:]:
        if len(row) != len(header):
            raise UserError(f"{path.name}, row {number} has {len(row)} columns, and the header {len(header)}")
    columns = {name: [row[k] for _, row in rows[1:]] for k, name in enumerate(header)}
    return _filled(Table(path, columns, [number for number, _ in rows[1:]]))


def _filled(table: Table) -> Table:
    if not len(table):
        raise UserError(f"{table.path} has no rows")
    return table
