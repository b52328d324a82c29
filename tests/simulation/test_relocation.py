"""Data, runs and results know nothing of the folder that they were made in, and go on in another one."""

import csv
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from ropes.causal.scm import Regime
from ropes.common import files, png
from ropes.data.dataset import Dataset
from ropes.data.generate import simulate
from ropes.data.generate_actions import simulate_arm_actions
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.evaluation.causal_graph import write_graph
from ropes.evaluation.inspection.inspect import inspect_data
from ropes.evaluation.joints import evaluate
from ropes.evaluation.results import Results
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict_lines
from ropes.methods.fit import fit
from ropes.methods.run import Run
from ropes.report.html import write_report
from ropes.simulation.arm import arm_setting
from ropes.simulation.settings import Camera, Setting, setting_named
from tests import planar, tiny

pytestmark = pytest.mark.slow  # the fixtures fit

MARK = "home-of-somebody"
SIDE = 16
JOINTS, RANGES = ("elbow", "wrist"), ((-1.5, 1.5), (-1.0, 1.0))
CAMERAS = [Camera(name=n, target=(0, 0, 0.1), distance=2.2, yaw=yaw, pitch=-50, roll=0, fov=60) for n, yaw in
           (("right", 0.0), ("left", 90.0))]  # fmt: skip


class Made(NamedTuple):
    """What was made of an arm in a folder, and what was measured."""

    home: Path
    results: Results


def setting_of(arm: str, home: Path) -> Setting:
    if arm == "panda":
        return replace(setting_named("panda-1c-independent"), image_size=SIDE)
    return arm_setting(home / "arms" / "planar.urdf", JOINTS, RANGES, CAMERAS, image_size=SIDE)


def film(arm: str, home: Path) -> Dataset:
    setting, out = setting_of(arm, home), home / "data"
    return simulate(setting, out=out, anchors=36, test_anchors=70, seed=1, workers=1, progress=False)


def learn(home: Path) -> Run:
    return fit(home / "data", home / "run", tiny.encoder_recipe(), 0, method="anchored", show=False)


def measure(home: Path) -> Results:
    found = evaluate(home / "run", home / "data", home / "measured", occlusions=(0,), sizes=tiny.SIZES, show=False)
    write_report(home / "measured", home / "measured" / "report.html")
    return found


@pytest.fixture(scope="module", params=["panda", "of a file"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Made:
    """Simulated, fitted, calibrated and measured in one folder; never to be changed."""
    home = tmp_path_factory.mktemp("moved") / MARK
    (home / "arms").mkdir(parents=True)
    planar.write_urdf(home / "arms", planar.URDF.replace("<robot", f"<!-- {home} --><robot"))
    data = film(request.param, home)
    copy_without_labels(data.path, home / "stripped")
    files.write_json(home / "inspection.json", inspect_data(data.path, show=False).to_dict())
    learn(home)
    calibrate(home / "run", data=data.path, samples=20)
    return Made(home, measure(home))


@pytest.fixture
def moved(made: Made, tmp_path: Path) -> Path:
    """All of it in another folder, without the arm's own file for the data to fall back on."""
    return Path(shutil.copytree(made.home, tmp_path / "elsewhere"))


def arm_of(made: Made) -> str:
    return "panda" if "panda" in open_dataset(made.home / "data").joints[0] else "of a file"


def mentions(path: Path, word: str) -> bool:
    """Whether the word is anywhere in a file: in its bytes, or in what those of a known format hold packed."""
    pieces = [path.read_bytes()]
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            pieces += [archive.read(name) for name in archive.namelist()]
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        pieces += [str(table.schema).encode(), str(table.schema.metadata).encode()]
        for column in table.columns:
            values = column.combine_chunks()
            pieces.append(str(values.field("path") if values.type.num_fields == 2 else values.to_pylist()).encode())
    return any(word.encode(kind) in piece for piece in pieces for kind in ("utf-8", "utf-32-le"))


def mentioned(home: Path, word: str = MARK) -> list[str]:
    found = sorted(path for path in home.rglob("*") if path.is_file() and "arms" not in path.parts)
    assert found
    return [path.relative_to(home).as_posix() for path in found if mentions(path, word)]


def test_no_file_contains_the_path_of_its_folder(made: Made) -> None:
    assert mentioned(made.home) == []
    assert mentions(made.home / "data" / "meta" / "ropes.json", "urdf")
    assert any(mentions(path, "frame-000000.png") for path in made.home.rglob("file-000.parquet"))


def test_everything_continues_to_work_in_another_folder(made: Made, moved: Path) -> None:
    before, arm = tiny.tree(moved), arm_of(made)
    assert film(arm, moved).checksum == open_dataset(made.home / "data").checksum
    validate(moved / "data", progress=False)
    learn(moved)
    after = tiny.tree(moved)
    assert {name for name in before | after if before.get(name) != after.get(name)} == set()
    again = measure(moved)
    assert (again.rows, again.pose_rows, again.trust_rows) == (
        made.results.rows,
        made.results.pose_rows,
        made.results.trust_rows,
    )
    assert again.pose_rows
    first = next(iter(predict_lines(moved / "run", moved / "data")))
    assert json.loads(first) == json.loads(next(iter(predict_lines(made.home / "run", made.home / "data"))))


def test_links_are_found_without_the_original_urdf(made: Made, moved: Path) -> None:
    shutil.rmtree(moved / "arms")
    shutil.rmtree(moved / "measured")
    assert measure(moved).pose_rows == made.results.pose_rows
    first = next(iter(predict_lines(moved / "run", moved / "data", poses=(), urdf=moved / "data/meta/robot.urdf")))
    assert len(json.loads(first)["poses"]) == 1
    stripped = open_dataset(moved / "stripped")
    assert stripped.urdf is not None
    validate(stripped.path, progress=False)


def test_renamed_data_folder_is_the_same_data_set(tmp_path: Path, tiny_data: Path) -> None:
    data = Path(shutil.copytree(tiny_data, tmp_path / "first"))
    note = files.read_json(data / "meta" / "ropes.json")
    files.write_json(data / "meta" / "ropes.json", {k: v for k, v in note.items() if k != "setting"})
    fit(data, tmp_path / "run", tiny.encoder_recipe(), 0, method="anchored", show=False)
    before = tiny.tree(tmp_path / "run")
    run = fit(data.rename(tmp_path / "second"), tmp_path / "run", tiny.encoder_recipe(), method="anchored", show=False)
    assert run.setting == "first"
    assert tiny.tree(tmp_path / "run") == before


def test_data_set_in_the_working_folder_is_named_after_the_folder(
    tiny_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_data)
    here = replace(open_dataset("."), provenance=None)
    assert Run.of(here, method="anchored", recipe=tiny.encoder_recipe(), seed=0).setting == tiny_data.name


def test_older_data_set_is_still_the_same(made: Made, moved: Path) -> None:
    where = moved / "data" / "meta" / "ropes.json"
    note = files.read_json(where)
    note["setting"]["robot"]["urdf"] = f"/{MARK}/arms/planar.urdf"
    del note["files"]["meta/robot.urdf"]
    (moved / "data" / "meta" / "robot.urdf").unlink()
    files.write_json(where, note)
    film(arm_of(made), moved)
    assert tiny.tree(moved / "data") == tiny.tree(made.home / "data")


def test_different_arm_under_the_same_file_name_is_refused(made: Made, moved: Path) -> None:
    if arm_of(made) == "panda":
        pytest.skip("the Panda is no file of the user's")
    planar.write_urdf(moved / "arms", planar.URDF.replace(str(planar.UPPER), "0.42"))
    with pytest.raises(UserError, match=r"holds something else, a data set with (arm_sha256|another cameras)"):
        film("of a file", moved)


def test_action_data_and_file_calibrations_contain_no_folder(made: Made, tmp_path: Path) -> None:
    home = Path(shutil.copytree(made.home, tmp_path / f"{MARK}-too"))
    setting, data = setting_of(arm_of(made), home), open_dataset(home / "data")
    simulate_arm_actions(setting, out=home / "moves", samples=24, test_samples=2, workers=1, progress=False)
    run, model = Run.read(home / "run"), setting.splits["train"]
    rows = data.frames("test-id").index[:30]
    images, angles = data.read_images(rows), data.states("test-id")[:30]
    with (home / "labels.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow((*run.cameras, *run.joints))
        for number, (views, row) in enumerate(zip(images, angles, strict=True)):
            names = [f"{camera}-{number}.png" for camera in run.cameras]
            for name, view in zip(names, views, strict=True):
                (home / name).write_bytes(png.encode(view))
            table.writerow((*names, *row))
    calibrate(home / "run", labels=(home / "labels.csv").resolve())
    assert mentioned(home) == []
    assert Estimator.load(home / "run").calibration is not None
    assert model.joints == run.joints


def test_absent_graph_reason_contains_no_folder(tiny_run: Path, tmp_path: Path) -> None:
    joints = ("knee", "ankle")
    regimes = [Regime(), *(Regime(joint, policy) for joint in joints for policy in (1, 2))]
    data = tiny.write_data(tmp_path / MARK / "data", tests=0, described=False, regimes=regimes, joints=joints)
    write_graph(tmp_path / "graph.json", Estimator.load(tiny_run), open_dataset(data))
    assert files.read_json(tmp_path / "graph.json")["absent"].startswith("data has no interventions on elbow")
