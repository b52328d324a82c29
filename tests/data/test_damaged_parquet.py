"""Damaged Parquet files are refused in one line, although Arrow's own messages have several."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropes.data import parquet
from ropes.data.recordings import tables
from ropes.data.recordings.lerobot_layout import read_parquet
from ropes.errors import UserError


@pytest.mark.parametrize("read", [parquet.read_table, tables.read_table, read_parquet])
def test_a_damaged_page_is_refused_in_one_line(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"time": [float(k) for k in range(1000)]}), path)
    content = bytearray(path.read_bytes())
    content[20:400:7] = bytes(each ^ 0xFF for each in content[20:400:7])
    path.write_bytes(content)
    with pytest.raises(UserError) as refusal:
        read(path)
    assert str(refusal.value).startswith(f"{path} is ")
    assert "\n" not in str(refusal.value)
