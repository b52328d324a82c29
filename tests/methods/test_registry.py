"""The table of methods: each can be fitted and read, and another package's method joins by its entry point."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.methods import registry
from ropes.methods.method import Method
from ropes.methods.recipes import PRESETS
from ropes.methods.registry import DELTA_METHODS, LABELLED_METHODS, METHODS, VAE_METHODS, method_named, recipe_of
from tests import tiny

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_whole(name: str) -> None:
    method = method_named(name)
    assert callable(method.load("fit"))
    assert callable(method.load("weights"))
    assert (method.reader is None) == (method.learns == "actions")
    assert method.reader is None or callable(method.load("reader"))
    for preset in PRESETS:
        assert isinstance(recipe_of(name, preset), method.recipe_type)


def test_kinds_of_methods_are_read_off_the_table() -> None:
    assert VAE_METHODS == ("ada-gvae", "beta-vae")
    assert LABELLED_METHODS == ("cnn", "jointnet")
    assert len(DELTA_METHODS) == 6
    assert list(METHODS) == sorted(METHODS)


@pytest.mark.parametrize(
    ("found", "line"),
    [(method_named("ldr"), "registers method ldr, which there is"), ("a word", "is no Method but str")],
)
def test_what_other_packages_register_is_checked(found: object, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            return found

    point = Point(name="other", value="other:METHOD", group="ropes.methods")
    monkeypatch.setattr(registry, "entry_points", lambda *, group: [point] if group == "ropes.methods" else [])
    with pytest.raises(UserError, match=f"entry point other .*{line}"):
        registry._table()
    assert isinstance(method_named("ldr"), Method)


@pytest.mark.slow
def test_the_example_package_brings_a_method(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    plugin = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "plugin")  # as building leaves files behind
    options = ["--no-build-isolation", "--target", str(tmp_path / "installed"), str(plugin)]
    subprocess.run([*install, *options], check=True)
    data = tiny.write_data(tmp_path / "data", anchors=60)
    run, evaluation = tmp_path / "run", tmp_path / "evaluation"
    places = [str(tmp_path / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    fitting = ["fit", "--method", "linear", "--image-size", "16", "--data", str(data), "--out", str(run)]
    measuring = ["evaluate", str(run), "--data", str(data), "--out", str(evaluation), "--occlusions", "0"]
    for words in (fitting, measuring):
        subprocess.run([sys.executable, "-m", "ropes", *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    rows = [row for row in read_json(evaluation / "results.json")["rows"] if row["calibration_labels"] == 1000]
    assert {row["method"] for row in rows} == {"linear"}
    assert all(row["mcc_mean"] > 0.8 for row in rows)  # two blobs that follow two joints
