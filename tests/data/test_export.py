import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.common import png
from ropes.data.layout import export_images
from ropes.errors import UserError
from ropes.inference.prediction import predict_lines
from tests.data.conftest import Tiny


def test_images_are_written_by_camera_and_row(tiny: Tiny, tmp_path: Path) -> None:
    for _ in range(2):  # the same export again is no obstacle
        export_images(tiny.path, "test-id", 3, tmp_path / "photos")
    rows = tiny.dataset.frames("test-id").index[:3]
    assert rows[0] == 35
    for view, camera in enumerate(tiny.dataset.cameras):
        found = sorted((tmp_path / "photos" / camera).iterdir())
        assert [path.name for path in found] == ["000035.png", "000036.png", "000037.png"]
        for path, pixels in zip(found, tiny.images["test-id"][:3, 0, view], strict=True):
            with Image.open(path) as image:
                assert image.mode == "L"
                np.testing.assert_array_equal(np.asarray(image), pixels)
            assert path.read_bytes() == png.encode(pixels)


def test_failed_export_leaves_no_output(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no split 'test-ood'"):
        export_images(tiny.path, "test-ood", 3, tmp_path / "photos")
    with pytest.raises(UserError, match="split 'test-id' has 9 poses, fewer than --count 10"):
        export_images(tiny.path, "test-id", 10, tmp_path / "photos")
    assert not (tmp_path / "photos").exists()


def test_exports_are_not_mixed(tiny: Tiny, tmp_path: Path) -> None:
    export_images(tiny.path, "test-id", 3, tmp_path / "photos")
    with pytest.raises(UserError, match="holds another export; choose an empty or new folder"):
        export_images(tiny.path, "test-id", 2, tmp_path / "photos")
    with pytest.raises(UserError, match="holds something else"):
        export_images(tiny.path, "test-id", 2, tiny.path)


@pytest.mark.slow
def test_predict_reads_exported_images(tiny_data: Path, tiny_run: Path, tmp_path: Path) -> None:
    export_images(tiny_data, "test-id", 3, tmp_path / "photos")
    from_files = [json.loads(line)["joints"] for line in predict_lines(tiny_run, tmp_path / "photos")]
    from_data = {}
    for line in predict_lines(tiny_run, tiny_data):
        content = json.loads(line)
        from_data[content["images"]["split"], content["images"]["index"]] = content["joints"]
    wanted = [joints for (split, _), joints in sorted(from_data.items()) if split == "test-id"][:3]
    assert len(from_files) == 3
    for ours, theirs in zip(from_files, wanted, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
