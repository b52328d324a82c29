"""Public functions take a name, a path as a string, or the object, and refuse everything else in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import ropes
from ropes.methods.registry import recipe_of
from ropes.methods.run import Run
from ropes.simulation.settings import setting_named
from tests import tiny
from tests.fake_renderer import SMALL, FakeRenderer, renderer, tree

__all__ = ["renderer"]


@pytest.mark.slow
def test_a_setting_is_simulated_by_its_name(renderer: FakeRenderer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"anchors": 2, "test_anchors": 1, "progress": False}
    by_name = ropes.simulate(SMALL.name, out=str(tmp_path / "name"), **options)
    ropes.simulate(setting_named(SMALL.name), out=tmp_path / "setting", **options)
    renderer.scene = "panda-gym"
    in_scene = ropes.simulate(SMALL.name, out=tmp_path / "scene", scene="panda-gym", **options)
    assert by_name.provenance is not None
    assert in_scene.provenance is not None
    assert in_scene.provenance["setting"] == {**by_name.provenance["setting"], "scene": "panda-gym"}
    assert by_name.provenance["setting"]["name"] == "panda-2c-causal"
    assert tree(tmp_path / "name") == tree(tmp_path / "setting")


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("panda-2c-casual", r"unknown setting .panda-2c-casual.: did you mean panda-2c-causal\?"),
        (
            "finger-cube",
            "setting finger-cube has pairs of images, not poses; use `ropes simulate --setting finger-cube`",
        ),
        (3, "give a setting as its name or a Setting, not as int"),
    ],
)
def test_invalid_settings_are_refused(setting: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(ropes.UserError, match=line):
        ropes.simulate(setting, out=tmp_path / "data", anchors=1)
    scene: Any = "kitchen"
    with pytest.raises(ropes.UserError, match="unknown scene 'kitchen': choose one of white, panda-gym"):
        ropes.simulate(SMALL.name, out=tmp_path / "data", anchors=1, scene=scene)
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_run_is_fitted_by_method_and_preset_and_loaded(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def tiny_recipe(method: str, preset: str) -> Any:
        asked.append((method, preset))
        return tiny.recipe_of(method)

    monkeypatch.setattr("ropes.methods.fit.recipe_of", tiny_recipe)
    run = ropes.fit(str(tiny_data), str(tmp_path / "run"), method="ropes", preset="paper", show=False)
    again = ropes.fit(ropes.open_dataset(tiny_data), tmp_path / "run", method="ropes", show=False)
    assert asked == [("ropes", "paper"), ("ropes", "compact")]
    assert run == again == Run.read(tmp_path / "run")
    assert run.folder == again.folder == tmp_path / "run"
    images = ropes.load(run).images(tiny_data, "train", 3)
    by_folder = ropes.load(str(tmp_path / "run"))
    np.testing.assert_array_equal(ropes.load(run).coordinates(images), by_folder.coordinates(images))
    options: dict[str, Any] = {"method": "ropes", "pretrained": str(tmp_path / "run"), "show": False}
    ropes.fit(tiny_data, tmp_path / "reused", tiny.recipe(), **options)
    assert tiny.weights(tmp_path / "reused") == tiny.weights(tmp_path / "run")


def test_invalid_recipes_are_refused(tiny_data: Path, tmp_path: Path) -> None:
    fit: Any = ropes.fit
    open_dataset: Any = ropes.open_dataset
    for options, line in (
        ({"recipe": "paper"}, r"recipe is the string 'paper'; give preset='paper', or a recipe of ropes\.recipe_of"),
        ({"recipe": recipe_of("anchored", "compact"), "preset": "paper"}, "give a recipe or a preset, not both"),
        ({"preset": "papper"}, r"unknown preset 'papper': did you mean paper\?"),
        ({"method": "anchord"}, r"unknown method 'anchord': did you mean anchored\?"),
    ):
        with pytest.raises(ropes.UserError, match=line):
            fit(tiny_data, tmp_path / "run", **options)
    with pytest.raises(ropes.UserError, match="give a data set as its folder or a Dataset, not as NoneType"):
        fit(None, tmp_path / "run")
    with pytest.raises(ropes.UserError, match="give a data set as its folder or a Dataset, not as int"):
        open_dataset(3)
    assert not (tmp_path / "run").exists()


def test_missing_runs_and_invalid_types_are_refused(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    load: Any = ropes.load
    line = r"give a run as its folder, the name of a packaged estimator, or what ropes\.fit returned, not as"
    with pytest.raises(ropes.UserError, match=f"{line} int"):
        load(3)
    for function in (ropes.calibrate, ropes.evaluate):
        call: Any = function
        with pytest.raises(ropes.UserError, match=f"{line} Estimator"):
            call(ropes.load(tiny_run), data=tiny_data, **({"out": tmp_path} if function is ropes.evaluate else {}))
    with pytest.raises(ropes.UserError, match="this Run has no folder"):
        load(Run.of(ropes.open_dataset(tiny_data), method="ropes", recipe=tiny.recipe(), seed=0))


def test_path_is_loaded_as_a_folder_despite_a_packaged_name(
    own_run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_data: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    own_run.rename("panda-2c")
    assert ropes.load(Path("panda-2c")).run.joints == ropes.load("./panda-2c").run.joints == tiny.JOINTS
    with pytest.raises(ropes.UserError, match="is a run's folder and a packaged estimator"):
        ropes.load("panda-2c")
    ropes.calibrate(Path("panda-2c"), data=tiny_data, samples=10)
    assert ropes.load(Path("panda-2c")).calibration is not None


def test_a_run_is_calibrated_by_strings_and_objects(own_run: Path, tiny_data: Path) -> None:
    dataset, run = ropes.open_dataset(tiny_data), Run.read(own_run)
    fitted = [
        ropes.calibrate(str(own_run), data=str(tiny_data), samples=10),
        ropes.calibrate(own_run, data=dataset, samples=10),
        ropes.calibrate(run, data=tiny_data, samples=10),
    ]
    for other in fitted[1:]:
        np.testing.assert_array_equal(other.slope, fitted[0].slope)
    before = tiny.tree(own_run)
    calibrate: Any = ropes.calibrate
    for options, line in (
        ({"data": dataset, "labels": "labels.csv"}, "give labelled samples as data or as labels, not both"),
        ({"data": dataset, "level": 90}, "level is 90; it must lie between 0 and 1"),
        ({"data": dataset, "samples": 1}, "samples is 1; a line needs at least 2"),
        ({"labels": "labels.csv"}, r"cannot read labels\.csv: No such file"),
    ):
        with pytest.raises(ropes.UserError, match=line):
            calibrate(own_run, **options)
    with pytest.raises(ropes.UserError, match="is a packaged estimator and stays as it is"):
        ropes.calibrate("panda-2c", data=dataset)
    assert tiny.tree(own_run) == before


@pytest.mark.slow
def test_a_run_is_evaluated_by_strings_and_objects(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"occlusions": (0,), "sizes": tiny.SIZES, "show": False}
    dataset = ropes.open_dataset(tiny_data)
    names: dict[str, Any] = {"out_of_distribution": str(tiny_data)}
    by_string = ropes.evaluate(str(tiny_run), str(tiny_data), str(tmp_path / "a"), **names, **options)
    names = {"unlike": [dataset]}  # in earlier versions
    with pytest.warns(DeprecationWarning, match="unlike is now out_of_distribution"):
        by_object = ropes.evaluate(Run.read(tiny_run), dataset, tmp_path / "b", **names, **options)
    assert by_string.rows == by_object.rows
    assert by_string.flag_rows == by_object.flag_rows
    assert f"data set {tiny_data.name}" in {row.images for row in by_string.flag_rows}


def test_predictions_are_the_same_for_every_form_of_images(tiny_run: Path, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=1, tests=0)
    estimator, dataset = ropes.load(tiny_run), ropes.open_dataset(data)
    expected = list(ropes.predict(str(tiny_run), str(data)))
    assert [pose["images"] for pose in expected] == [{"split": "train", "index": k} for k in range(5)]
    assert list(ropes.predict(estimator, dataset)) == list(ropes.predict(Run.read(tiny_run), data)) == expected
    images = np.asarray(estimator.images(dataset, "train"))
    pillow = [[Image.fromarray(view) for view in pose] for pose in images]
    named = dict(zip(tiny.CAMERAS, images.swapaxes(0, 1), strict=True))
    for given in (
        images,
        torch.from_numpy(images),
        pillow,
        named,
        [dict(zip(tiny.CAMERAS, p, strict=True)) for p in pillow],
    ):
        found = list(ropes.predict(estimator, given))
        assert [pose["images"] for pose in found] == [{"index": k} for k in range(5)]
        assert [pose | {"images": 0} for pose in found] == [pose | {"images": 0} for pose in expected]
    files = {camera: [tmp_path / f"{camera}-{k}.png" for k in range(2)] for camera in tiny.CAMERAS}
    for k, pose in enumerate(pillow[:2]):
        for camera, view in zip(tiny.CAMERAS, pose, strict=True):
            view.save(files[camera][k])
    found = list(ropes.predict(estimator, files))
    assert [pose["images"] for pose in found] == [{c: str(files[c][k]) for c in tiny.CAMERAS} for k in range(2)]
    assert [pose["joints"] for pose in found] == [pose["joints"] for pose in expected[:2]]
    predict: Any = ropes.predict
    with pytest.raises(ropes.UserError, match="an Estimator has its precision already"):
        ropes.predict(estimator, images, precision="32-true")
    with pytest.raises(ropes.UserError, match="images of type float: give PNG or JPEG files"):
        next(predict(estimator, 0.5))
