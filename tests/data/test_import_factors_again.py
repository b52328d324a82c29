"""The same import of images with factors again, with other regimes."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropes.data import writer
from ropes.data.factor_table import Columns, read_factor_table
from ropes.data.import_factor_images import import_factor_images
from ropes.errors import UserError
from tests import factor_files, tiny
from tests.kills import interrupt

ABOVE = Columns(folder=Path(".."))
WITH_POLICIES = replace(ABOVE, policy="regime")
POLICIES = ["observational", "elbow/1", "elbow/2", "wrist/1", "wrist/2"] * 2


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return factor_files.write(tmp_path / "image", factor_files.poses(10), {"regime": POLICIES})


@pytest.mark.parametrize("columns", [ABOVE, WITH_POLICIES])
def test_a_finished_import_with_other_regimes_is_refused(columns: Columns, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    import_factor_images(read_factor_table(table, columns), out=out, progress=False)
    before = tiny.tree(out)
    other = ABOVE if columns is WITH_POLICIES else WITH_POLICIES
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_factor_images(read_factor_table(table, other), out=out, progress=False)
    import_factor_images(read_factor_table(table, columns), out=out, progress=False)
    assert tiny.tree(out) == before


def test_an_interrupted_import_is_not_resumed_with_other_regimes(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "data"
    with monkeypatch.context() as patch:
        patch.setattr(writer, "finish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            import_factor_images(read_factor_table(table, ABOVE), out=out, progress=False)
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_factor_images(read_factor_table(table, WITH_POLICIES), out=out, progress=False)
