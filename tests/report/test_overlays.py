"""The page's first picture."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from ropes.common import files
from ropes.evaluation.paper import ONE_CAMERA
from ropes.report.html import write_report
from tests.report.pages import Page


@pytest.mark.slow
def test_overlays_precede_the_table_of_contents(tmp_path: Path, run_folder: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    path = folder / "artefacts" / ONE_CAMERA / "ropes" / "evaluation.npz"
    with np.load(path) as arrays:
        content = {name: arrays[name] for name in arrays.files}
    files.write_arrays(path, content | {"overlay_images": np.zeros((2, len(content["cameras"]), 8, 8, 3), np.uint8)})
    write_report(folder, folder / "report.html")
    text = (folder / "report.html").read_text(encoding="utf-8")
    words = Page(text).text
    assert "The arm at the estimated angles, drawn over images of the test split" in words
    assert text.index('<figure class="overlays">') < text.index("<nav")
    write_report(run_folder, tmp_path / "without.html")
    assert '<figure class="overlays">' not in (tmp_path / "without.html").read_text(encoding="utf-8")
