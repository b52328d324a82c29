"""The table of methods: each can be fitted and read, and another package's method joins by its entry point."""

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from ropes.common import plugins
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods import registry
from ropes.methods.recipes import PRESETS
from ropes.methods.registry import OWN_METHODS, method_named, methods_of, recipe_of, require_method
from ropes.methods.run import Run
from tests import tiny

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", OWN_METHODS)
def test_every_registered_method_is_complete(name: str) -> None:
    method = method_named(name)
    assert callable(method.load("fit"))
    assert callable(method.load("weights"))
    assert (method.reader is None) == (method.learns == "actions")
    assert method.reader is None or callable(method.load("reader"))
    for preset in PRESETS:
        assert isinstance(recipe_of(name, preset), method.recipe_type)


def test_method_kinds_are_derived_from_the_table() -> None:
    assert methods_of("factors") == ("ada-gvae", "beta-vae")
    assert methods_of("joints") == ("anchored", "cnn", "jointnet", "ldr", "ropes")
    assert [name for name in OWN_METHODS if method_named(name).reads_labels] == ["cnn", "jointnet"]
    assert len(methods_of("actions")) == 6
    assert list(OWN_METHODS) == sorted(OWN_METHODS)


@pytest.mark.parametrize(
    ("name", "found", "line"),
    [
        ("ldr", method_named("ldr"), "is part of ropes; choose another name"),
        ("other", method_named("ldr"), "is called other and its Method ldr"),
        ("other", "a word", "is a str, not a Method"),
        ("other", replace(method_named("sms"), name="other"), "a plug-in must learn joints and have a reader"),
        ("other", ImportError("no torch"), "ImportError: no torch"),
    ],
)
def test_broken_plug_in_is_skipped_and_reported_when_requested(
    name: str, found: object, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Point(EntryPoint):
        def load(self) -> object:
            if isinstance(found, Exception):
                raise found
            return found

    point = Point(name=name, value="other:METHOD", group="ropes.methods")
    monkeypatch.setattr(plugins, "entry_points", lambda *, group: [point] if group == "ropes.methods" else [])
    methods, broken = registry.method_table()
    assert tuple(methods) == OWN_METHODS
    assert line in broken[name]
    monkeypatch.setattr(registry, "BROKEN_METHODS", broken)
    if name == "other":
        with pytest.raises(UserError, match=r"method other cannot be loaded .*; update or uninstall its package"):
            require_method("other")


def test_run_of_an_uninstalled_package_is_reported(own_run: Path) -> None:
    content = read_json(own_run / "run.json")
    write_json(own_run / "run.json", {**content, "method": "linear"})
    with pytest.raises(UserError, match="is of method linear, which is not installed; install the package"):
        Run.read(own_run)


@pytest.mark.any_processor
@pytest.mark.slow
def test_example_package_adds_a_method_and_a_setting(tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    plugin = shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "plugin")  # as building leaves files behind
    options = ["--no-build-isolation", "--target", str(tmp_path / "installed"), str(plugin)]
    subprocess.run([*install, *options], check=True)
    data = tiny.write_data(tmp_path / "data", anchors=60)
    simulated = ["simulate", "--setting", "kuka-two-joints", "--anchors", "2", "--test-anchors", "1", "--workers", "1"]
    run, evaluation = tmp_path / "run", tmp_path / "evaluation"
    places = [str(tmp_path / "installed"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    fitting = ["fit", "--method", "linear", "--image-size", "16", "--data", str(data), "--out", str(run)]
    measuring = ["evaluate", str(run), "--data", str(data), "--out", str(evaluation), "--occlusions", "0"]
    calls = [[*simulated, "--out", str(tmp_path / "kuka")], fitting, measuring]
    # In one process, which imports torch once; exit codes are those of `python -m ropes`.
    script = f"import sys; from ropes.cli import main; sys.exit(any(main(words) for words in {calls!r}))"
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, stdout=subprocess.DEVNULL)
    assert open_dataset(tmp_path / "kuka").joints == ("lbr_iiwa_joint_2", "lbr_iiwa_joint_4")
    rows = [row for row in read_json(evaluation / "results.json")["rows"] if row["calibration_labels"] == 1000]
    assert {row["method"] for row in rows} == {"linear"}
    assert all(row["mcc_mean"] > 0.8 for row in rows)  # two blobs that follow two joints
