"""Predictions for one split of a data set, and the warning about images that the run learned from."""

import json
from pathlib import Path

import pytest

from ropes.data.layout import export_images
from ropes.errors import UserError
from ropes.inference.prediction import predict_lines
from tests import tiny


def test_one_split_of_a_data_set_is_read(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2, tests=3)
    lines = [json.loads(line) for line in predict_lines(tiny_run, data, split="test-id")]
    assert [line["images"] for line in lines] == [{"split": "test-id", "index": k} for k in range(10, 13)]
    next(predict_lines(tiny_run, data))
    learned = "the run learned from the images of split train"
    assert learned not in capsys.readouterr().err  # other training images
    next(predict_lines(tiny_run, tiny_data, split="test-id"))
    assert learned not in capsys.readouterr().err
    next(predict_lines(tiny_run, tiny_data))
    assert learned in capsys.readouterr().err
    with pytest.raises(UserError, match="has no split 'test'; it has train, test-id"):
        next(predict_lines(tiny_run, data, split="test"))
    export_images(tiny_data, "test-id", 2, tmp_path / "photos")
    with pytest.raises(UserError, match="split 'test-id' goes with a data set"):
        next(predict_lines(tiny_run, tmp_path / "photos", split="test-id"))
