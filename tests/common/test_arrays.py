"""Arrays that are computed in chunks."""

import numpy as np
import pytest

from ropes.common.arrays import Rows


def test_rows_are_those_of_the_chunks() -> None:
    whole = np.arange(14, dtype=np.float16).reshape(7, 2)
    rows = Rows[np.float16](7)
    assert rows.values is None
    for start in (3, 0, 6):
        rows.put(start, whole[start : start + 3])
    np.testing.assert_array_equal(rows.all(), whole)
    assert rows.all().dtype == np.float16
    with pytest.raises(ValueError, match="could not broadcast"):
        rows.put(6, whole[:2])
