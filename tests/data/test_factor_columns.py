"""Which columns of a table are factors."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropes.data.factor_table import Columns, read_factor_table
from ropes.errors import UserError
from tests import factor_files, tiny

ABOVE = Columns(folder=Path(".."))


def test_columns_that_number_the_rows_are_no_factors(tmp_path: Path) -> None:
    columns = {"id": [*range(7, 17)], "weight": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]}
    numbered = factor_files.write(tmp_path / "image", factor_files.poses(10), columns)
    assert read_factor_table(numbered, ABOVE).names == (*tiny.JOINTS, "weight")
    asked = replace(ABOVE, factors=("id",))
    assert read_factor_table(numbered, asked).names == ("id",)


def test_column_of_regimes_is_not_checked_as_a_factor(tmp_path: Path) -> None:
    regimes = ["1", "2", "observational", *"1212121"]
    table = factor_files.write(tmp_path / "image", factor_files.poses(10), {"regime": regimes})
    with pytest.raises(UserError, match="row 2: regime '1' is no policy"):
        read_factor_table(table, replace(ABOVE, policy="regime"))
    with pytest.raises(UserError, match="row 4: regime is 'observational', which is no number"):
        read_factor_table(table, ABOVE)
