"""The package's public names: loaded when asked for, seen by type checkers, and enough for the README's snippet."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ropes
from ropes.common import png
from ropes.errors import UserError
from ropes.inference.calibration import read_calibration

#: As it stands in the README.
SNIPPET = """\
import ropes

estimator = ropes.Estimator.load("runs/two-cameras")  # calibrated above
dataset = ropes.open_dataset("data/two-cameras")
images = estimator.images(dataset, "test-id")  # uint8 (n, cameras, 128, 128), in the run's order of cameras
angles = estimator.angles(images)  # radians (n, joints)
"""


def test_every_public_name_exists() -> None:
    for name in ropes.__all__:
        assert getattr(ropes, name) is not None
    assert {name for name in dir(ropes) if not name.startswith("__")} == {*ropes.__all__} - {"__version__"}
    assert {"Estimator", "Dataset", "open_dataset", "fit", "calibrate", "evaluate", "predict"} <= set(ropes.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'estimate'"):
        ropes.estimate  # noqa: B018


def test_type_checkers_see_the_lazily_loaded_names(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = ast.parse(Path(ropes.__file__).read_text(encoding="utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {*seen, "__version__"} == set(ropes.__all__)
    (assigned,) = (ast.unparse(node) for node in guarded.body if isinstance(node, ast.Assign))
    assert assigned == "panda_setting, simulate_dataset = (setting_named, simulate)"
    loaded: list[str] = []

    def load(module: str) -> ModuleType:
        loaded.append(module)
        return import_module(module)

    monkeypatch.setattr(ropes, "import_module", load)
    for name, (module, known_as) in seen.items():
        vars(ropes).pop(name, None)  # as if it were asked for the first time
        assert getattr(ropes, name) is getattr(import_module(str(module)), known_as)
    assert loaded == [module for module, _ in seen.values()]


def test_deprecated_names_work_and_are_not_listed() -> None:
    assert ropes.panda_setting is ropes.setting_named
    assert ropes.simulate_dataset is ropes.simulate
    assert not {"panda_setting", "simulate_dataset"} & {*ropes.__all__, *dir(ropes)}


def test_the_docstring_lists_every_public_name_once() -> None:
    entries = [
        match.group(1) for match in re.finditer(r"^    (\w+)(?:\(.*?\))?  +\S", ropes.__doc__ or "", re.MULTILINE)
    ]
    assert sorted(entries) == sorted({*ropes.__all__} - {"__version__"})


def test_every_public_function_has_types_and_a_docstring() -> None:
    for name in sorted({*ropes.__all__} - {"__version__", "METHODS", "SETTINGS"}):
        public = getattr(ropes, name)
        members = [public] if inspect.isfunction(public) else [public, *_own_functions(public)]
        for member in members:
            assert inspect.getdoc(member), name
            if inspect.isfunction(member):
                signature = inspect.signature(member)
                assert signature.return_annotation is not signature.empty, f"{name}: {member.__name__}"
                untyped = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
                assert untyped in ([], ["self"], ["cls"]), f"{name}: {member.__name__}"


def _own_functions(public: type) -> list[object]:
    """The public functions that a class defines."""
    own = [member for name, member in vars(public).items() if not name.startswith("_")]
    return [getattr(member, "__func__", member) for member in own if callable(getattr(member, "__func__", member))]


@pytest.mark.slow
def test_importing_ropes_is_quick_and_loads_no_torch() -> None:
    code = (
        "import sys, time; start = time.process_time(); import ropes; "
        "print(time.process_time() - start, 'torch' in sys.modules)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True) for _ in range(3)]
    times, loaded = zip(*(run.stdout.split() for run in runs), strict=True)
    assert set(loaded) == {"False"}
    assert min(map(float, times)) < 0.3  # seconds of the processor


def test_an_estimator_is_loaded_by_its_folder_or_its_name(tiny_run: Path) -> None:
    packaged = ropes.load("panda-2c")
    assert repr(packaged).startswith(
        "Estimator(method='anchored', cameras=['cam45', 'cam135'], image_size=128, joints="
    )
    assert "calibrated to radians" in repr(packaged)
    assert ropes.load(tiny_run).run.joints == ropes.Estimator.load(tiny_run).run.joints
    assert ropes.Estimator.load("panda-2c").run == packaged.run
    with pytest.raises(UserError, match="did you mean panda-2c"):
        ropes.load("panda-2d")


@pytest.mark.slow
def test_readme_snippet_predicts_angles(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tiny_run, "runs/two-cameras")
    shutil.copytree(tiny_data, "data/two-cameras")
    ropes.calibrate(Path("runs/two-cameras"), data=Path("data/two-cameras"), samples=20)
    names: dict[str, object] = {}
    exec(SNIPPET, names)
    dataset, estimator = ropes.open_dataset("data/two-cameras"), ropes.Estimator.load("runs/two-cameras")
    assert read_calibration(Path("runs/two-cameras"), estimator.run) is not None
    views = [dataset.cameras.index(camera) for camera in estimator.run.cameras]
    images = dataset.read_images(dataset.frames("test-id").index)[:, views]
    np.testing.assert_array_equal(names["images"], images)
    np.testing.assert_array_equal(names["angles"], estimator.angles(images))
    np.testing.assert_array_equal(estimator.images(dataset, "test-id", 3), images[:3])
    first = next(iter(ropes.predict("runs/two-cameras", "data/two-cameras")))
    assert (first["unit"], first["images"]) == ("rad", {"split": "train", "index": 0})
    assert list(first["joints"]) == list(estimator.run.joints)
    for camera, image in zip(estimator.run.cameras, images[0], strict=True):
        Path(f"{camera}.png").write_bytes(png.encode(image))
    files = {camera: f"{camera}.png" for camera in estimator.run.cameras}
    (line,) = ropes.predict("runs/two-cameras", files)
    assert line["joints"] == pytest.approx(
        dict(zip(estimator.run.joints, estimator.angles(images[:1])[0], strict=True)), abs=1e-4
    )


def test_missing_camera_is_reported(tiny_run: Path, tiny_data: Path) -> None:
    estimator, dataset = ropes.Estimator.load(tiny_run), ropes.open_dataset(tiny_data)
    vars(dataset)["cameras"] = ("top",)
    with pytest.raises(UserError, match=r"has no camera .* \(it has top\)"):
        estimator.images(dataset, "train")
