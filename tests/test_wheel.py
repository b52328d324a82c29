"""The wheel has the packaged estimators, and the templates of pages and cards."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests import tiny

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_wheel_contains_packaged_estimators_and_templates(tmp_path: Path) -> None:
    for file in ("pyproject.toml", "README.md", "LICENSE", "src/ropes/__init__.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    for folder in ("report", "models"):
        shutil.copytree(ROOT / "src" / "ropes" / folder, tmp_path / "src" / "ropes" / folder)
    build = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    done = subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True, text=True)
    with zipfile.ZipFile(tmp_path / "dist" / done.stdout.split()[-1]) as wheel:
        names = set(wheel.namelist())
    packaged = ROOT / "src" / "ropes" / "models" / "pretrained"
    assert "panda-2c/student/weights.safetensors" in tiny.tree(packaged)
    assert {f"ropes/models/pretrained/{file}" for file in tiny.tree(packaged)} <= names
    assert {"ropes/report/model_card.md.j2", "ropes/report/template.html.j2", "ropes/report/page.css"} <= names
