"""What a recording notes and says beside its images."""

from pathlib import Path

import pytest

from ropes.common import files
from ropes.common.arrays import Images
from ropes.data.recorder.folder import LOG
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record


def test_camera_that_was_opened_again_is_noted(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reopened(image: Images, number: int) -> Images:
        if len(kind.robots[-1].goals) == 7:
            kind.cameras[0].interruptions = 1
        return image

    kind.change = reopened
    record(make_options(kind="scripted"), tmp_path / "D")
    assert len(kind.robots[0].goals) == 15
    line = "camera cam gave no frame and was opened again; compare its exposure"
    assert f"{line}; the anchor is recorded again\n" in capsys.readouterr().err
    assert [entry["faults"] for entry in files.read_json(tmp_path / "D" / LOG)["anchors"]] == [[], [line]]
