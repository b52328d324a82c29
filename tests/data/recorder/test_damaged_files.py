"""Files of a recording with damaged images do not count, and files that only cannot be opened are not replaced."""

import errno
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ropes.data import schema
from ropes.data.validate import validate
from ropes.errors import UserError
from tests import tiny
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record


def flip_a_bit_of_an_image(path: Path) -> None:
    """The number of rows can still be read."""
    image = pq.read_table(path)["observation.images.cam"][2].as_py()["bytes"]
    flipped = image[:50] + bytes([image[50] ^ 1]) + image[51:]
    path.write_bytes(path.read_bytes().replace(image, flipped))
    assert pq.read_metadata(path).num_rows == 5


@pytest.mark.parametrize("anchors", [3, 4])  # finished, and to go on with
def test_anchor_whose_image_is_damaged_is_recorded_again(
    anchors: int, kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=anchors)
    record(make_options(kind="scripted", anchors=3), out)
    path = out / schema.data_file(1)
    flip_a_bit_of_an_image(path)
    before = tiny.tree(out)
    line, plan, *_ = record(options, out)
    assert line == f"{path} is damaged: its anchor does not count, and one will be recorded in its place"
    assert plan.startswith(f"plan: 2 are recorded, {anchors - 2} are left; {anchors} anchors of 5 poses")
    assert len(kind.robots[1].goals) == 5 * (anchors - 2)
    after = tiny.tree(out)
    replaced = [name for name in before if name.startswith("data/") and after[name] != before[name]]
    assert replaced == [schema.data_file(1)]
    assert f"in {5 * anchors} frames" in validate(out, progress=False)


def test_damaged_file_is_named_where_fewer_anchors_are_asked_for(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    record(make_options(kind="scripted", anchors=3), out)
    flip_a_bit_of_an_image(out / schema.data_file(2))
    before = tiny.tree(out)
    with pytest.raises(UserError) as refused:
        record(make_options(kind="scripted", anchors=2), out)
    assert str(refused.value) == (
        f"{out / schema.data_file(2)} is missing or damaged; give --anchors 3 or more to record such anchors again"
    )
    (out / schema.data_file(1)).unlink()
    with pytest.raises(UserError, match=r"2 files, such as .*file-001.parquet, are missing or damaged; give"):
        record(make_options(kind="scripted", anchors=2), out)
    assert tiny.tree(out).items() <= before.items()


def test_file_that_cannot_be_opened_is_not_replaced(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=2)
    record(options, out)
    before, path = tiny.tree(out), out / schema.data_file(1)
    read = pq.read_metadata

    def refuse(source: Path) -> pq.FileMetaData:
        if Path(source) == path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return read(source)

    monkeypatch.setattr(pq, "read_metadata", refuse)
    with pytest.raises(UserError) as refused:
        record(options, out)
    assert str(refused.value) == (
        f"{path} cannot be read (Permission denied): mend that and run the same command again, or delete the file to "
        "record its anchor again"
    )
    assert tiny.tree(out) == before
    assert len(kind.robots) == 1


def test_file_without_an_entry_in_the_log_is_not_called_damaged(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    """The process died after it wrote the file."""
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=2)
    record(options, out)
    log = out / "meta" / "recording.json"
    log.write_text(log.read_text().replace('"anchor": 1', '"anchor": -1'))
    first, *_ = record(options, out)
    assert first.startswith("plan: 1 are recorded, 1 are left")
