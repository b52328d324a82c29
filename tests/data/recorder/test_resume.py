"""A recording that was begun with other cameras is not gone on with, nor called finished."""

from pathlib import Path
from typing import Any

import pytest

from ropes.common import files
from ropes.data import schema, writer
from ropes.data.recorder.folder import LOG
from ropes.data.recordings.views import View
from ropes.errors import UserError
from tests import tiny
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record


@pytest.mark.parametrize("anchors", [1, 2])  # finished, and to go on with
@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"cameras": {"front": "0"}},
            "--cameras has front, and before cam; give it as before, or choose another folder",
        ),
        ({"views": {None: View(rotate=90)}}, "camera cam has --rotate 90, and before 0; give it as before"),
        ({"views": {"cam": View(crop=(2, 4, 16, 16))}}, "camera cam has --crop 2,4,16,16, and before none; give it as"),
        ({"views": {None: View(size=16)}}, "camera cam has --image-size 16, and before none; give it as before"),
        ({"views": {"front": View()}}, "no camera 'front'; there are cam"),
    ],
)
def test_recording_with_other_cameras_is_refused_before_the_robot_is_connected(
    changes: dict[str, Any], line: str, anchors: int, kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    record(make_options(kind="scripted", anchors=1), out)
    before = tiny.tree(out)
    with pytest.raises(UserError) as refused:
        record(make_options(kind="scripted", anchors=anchors, **changes), out)
    assert str(refused.value).startswith(line)
    assert tiny.tree(out) == before
    assert len(kind.robots) == 1


def test_an_anchor_in_the_place_of_a_damaged_one_counts_only_with_its_own_entry(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between the file of an anchor and its entry in the log."""
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=3)
    record(options, out)
    for number in (0, 1):
        (out / schema.data_file(number)).write_bytes(b"torn")
    write = writer.write_shard

    def die(*given: Any) -> None:
        write(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(writer, "write_shard", die)
        with pytest.raises(KeyboardInterrupt):
            record(options, out)
    record(options, out)
    assert sorted(each["anchor"] for each in files.read_json(out / LOG)["anchors"]) == [0, 1, 2]
    assert len(kind.robots[-1].goals) == 10


def test_robot_is_told_which_anchors_are_recorded_already(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    """A simulated camera must not repeat its faults."""
    for anchors in (1, 3):
        record(make_options(kind="scripted", anchors=anchors), tmp_path / "D")
    assert [request.held for request in kind.requests] == [frozenset(), frozenset({0})]
    assert [request.held_share for request in kind.requests] == [0.0, 1 / 3]
