"""A recording that was begun with other cameras is not gone on with, nor called finished."""

from pathlib import Path
from typing import Any

import pytest

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
