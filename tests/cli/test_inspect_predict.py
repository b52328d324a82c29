"""Options of `ropes inspect` and `ropes predict`."""

from pathlib import Path

import pytest

from ropes.cli import entry as cli
from tests.command_line import Stub, refusal


def test_inspect_refuses_a_folder_in_place_of_its_file_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refusal(capsys, "inspect", "no data", "--json", str(tmp_path))
    assert line == f"{tmp_path} is a folder; give the name of a file"


def test_predict_reads_one_split_on_request(stub: Stub) -> None:
    calls = stub("ropes.inference.prediction.predict_lines", result=[])
    assert cli.main(["predict", "R", "--images", "D", "--split", "test-id"]) == 0
    assert calls[0][1]["split"] == "test-id"
