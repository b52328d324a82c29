"""Experiment cameras: the same poses by both renderers and at every level of the cameras' faults."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.data import schema
from ropes.errors import UserError
from ropes.evaluation import paper, results
from ropes.evaluation.joints import evaluate_transfer
from ropes.evaluation.rows.joint import Row
from ropes.experiments import datasets as filming
from ropes.experiments import fits
from ropes.experiments.folder import claim, run_folder, transfer_folder
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.experiments.run import run_experiment
from ropes.methods.recipes import CNNRecipe, EncoderRecipe, Recipe, cnn_recipe, encoder_recipe
from ropes.methods.run import Run
from ropes.simulation.settings import Setting, setting_named
from tests import tiny
from tests.command_line import refusal
from tests.experiments.tiny_experiment import small

TWO = "panda-2c-independent"
CLEAN, WEBCAM, HARSH = (f"{TWO}+pybullet+{level}" for level in ("clean", "webcam", "harsh"))
ROOM = f"{TWO}+mujoco+clean"


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_every_data_set_shows_the_same_poses(preset: str) -> None:
    plan = experiment("cameras", preset)
    assert list(plan.anchors) == [CLEAN, WEBCAM, HARSH, *(f"{TWO}+mujoco+{x}" for x in ("clean", "webcam", "harsh"))]
    assert set(plan.anchors.values()) == {4000}
    assert plan.full_meshes == (preset == "paper")
    for dataset in plan.anchors:
        arm = plan.arm(dataset)
        assert arm is not None
        _, renderer, level = dataset.split("+")
        assert (arm.renderer, arm.camera_level) == (renderer, level)
        # Poses follow from the splits and the seed alone.
        usual = setting_named(TWO)
        assert arm.requested_renderer == renderer  # never the other one where this one is missing
        plain = replace(arm, scene=usual.scene, camera_level=usual.camera_level, requested_renderer=None)
        assert plain == usual
        assert plan.method(dataset, "cnn@1000-anchors") == f"cnn@1000-anchors+{renderer}+{level}"
        assert arm.scene == ("room" if renderer == "mujoco" else "panda-gym")


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_fits_on_fewer_anchors_differ_only_in_their_number(preset: str) -> None:
    plan = experiment("cameras", preset, ("anchored", "cnn"))
    for method, usual in (("anchored", encoder_recipe(preset)), ("cnn", cnn_recipe(preset))):
        few, many = (plan.recipe(WEBCAM, f"{method}@{number}-anchors") for number in (1000, 4000))
        assert isinstance(few, EncoderRecipe | CNNRecipe)
        assert isinstance(many, EncoderRecipe | CNNRecipe)
        assert (few.anchors, many.anchors) == (1000, 4000)
        assert replace(few, anchors=4000) == many
        assert many.shape == usual.shape
        assert many.training.min_samples == max(150_000, usual.training.min_samples)
    anchored = plan.recipe(ROOM, "anchored@4000-anchors")
    assert isinstance(anchored, EncoderRecipe)
    assert anchored.independent  # of the setting that the data set renders


def test_transfers_cross_renderers_and_camera_levels() -> None:
    transfers = experiment("cameras", "compact").transfers
    for dataset, labels in transfers.items():
        other = ROOM if "pybullet" in dataset else CLEAN
        for label, others in labels.items():
            seen = [dataset.replace("clean", "webcam")] if dataset in (CLEAN, ROOM) and "@4000" in label else []
            assert list(others) == [*seen, other]
    assert len(transfers) == 6


def test_methods_without_an_anchor_limit_are_refused() -> None:
    with pytest.raises(UserError, match="cameras compares methods anchored, cnn and ldr; leave the other ones out"):
        experiment("cameras", "compact", ("ropes",))


def test_scene_option_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "reproduce", "cameras", "--scene", "white", "--out", str(tmp_path / "R"))
    assert said == "cameras has a scene for each renderer; leave --scene out"
    assert not (tmp_path / "R").exists()


@pytest.mark.pybullet
@pytest.mark.parametrize("words", ["cameras", "demo --scene room"])
def test_missing_egl_leaves_no_folder(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], without_egl: None
) -> None:
    said = refusal(capsys, "reproduce", *words.split(), "--out", str(tmp_path / "R"))
    assert "EGL is missing; sudo apt install libegl1 libgl1-mesa-dri" in said
    assert not (tmp_path / "R").exists()


def test_stored_plan_of_other_experiments_is_unchanged(tmp_path: Path) -> None:
    claim(tmp_path / "demo", small(), "compact")
    stored = read_json(tmp_path / "demo" / "experiment.json")["experiment"]
    assert stored == {
        "anchors": {"panda-1c-independent": 8},
        "data_seed": 0,
        "name": "demo",
        "occlusions": [0, 8],
        "recipes": {},
        "seeds": [],
        "test_anchors": tiny.TESTED,
    }
    claim(tmp_path / "cameras", plan_of_three(), "compact")
    stored = read_json(tmp_path / "cameras" / "experiment.json")["experiment"]
    assert stored["renderings"][WEBCAM] == {"setting": TWO, "scene": "panda-gym", "camera": "webcam"}


def plan_of_three() -> Experiment:
    """Two levels by PyBullet and one by MuJoCo, with tiny fits on six and on eight anchors."""
    plan = experiment("cameras", "compact", ("anchored", "cnn"))
    recipes: dict[str, Recipe] = {
        "anchored@4000-anchors": replace(tiny.encoder_recipe(), anchors=8),
        "cnn@1000-anchors": replace(tiny.cnn_recipe(), anchors=6),
        "cnn@4000-anchors": replace(tiny.cnn_recipe(), anchors=8),
    }
    kept = dict.fromkeys((CLEAN, WEBCAM, ROOM), 8)
    return replace(
        plan,
        recipes=recipes,
        anchors=kept,
        renderings={dataset: plan.renderings[dataset] for dataset in kept},
        transfers={
            CLEAN: {"anchored@4000-anchors": (WEBCAM, ROOM), "cnn@1000-anchors": (ROOM,)},
            WEBCAM: {"cnn@4000-anchors": (ROOM,)},
        },
        test_anchors=60,
        sizes=tiny.SIZES,
    )


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, cache_home: Path) -> list[str]:
    """Data sets are of blobs; gives what was simulated and evaluated, in order."""
    done: list[str] = []

    def simulate(setting: Setting, *, out: Path, anchors: int, test_anchors: int, **_: Any) -> None:
        if out.exists():
            return
        done.append(f"simulate {out.parent.name}")
        tiny.write_data(out, anchors=anchors, tests=test_anchors)
        note = read_json(out / schema.PROVENANCE)
        note["setting"] |= {"robot": {}, "scene": setting.scene, "camera_level": setting.camera_level}
        write_json(out / schema.PROVENANCE, note)

    def transferred(run: Path, data: Path, out: Path, **options: Any) -> results.Results:
        done.append(f"transfer {data.parent.name}")
        return evaluate_transfer(run, data, out, **options)

    monkeypatch.setattr(filming, "simulate", simulate)
    monkeypatch.setattr("ropes.experiments.run.require_renderers", lambda *_: None)
    monkeypatch.setattr(fits, "evaluate_transfer", transferred)
    monkeypatch.setattr(paper, "CALIBRATION_LABELS", tiny.SIZES.fit)
    return done


@pytest.mark.slow
def test_fits_are_evaluated_on_own_and_other_images_once(simulated: list[str], tmp_path: Path) -> None:
    plan, out = plan_of_three(), tmp_path / "R"
    found = run_experiment(plan, preset="compact", out=out, show=False)
    transfers = [f"transfer {dataset}" for dataset in (WEBCAM, ROOM, ROOM, ROOM)]
    assert sorted(simulated) == sorted([*(f"simulate {dataset}" for dataset in plan.anchors), *transfers])
    assert simulated[-len(transfers) :] == transfers  # after all data sets
    assert results.read(out / "results.json") == found
    assert found.scene is None

    def images(rows: tuple[Row, ...]) -> set[tuple[object, ...]]:
        return {
            (row.method, row.anchors, row.renderer, row.camera, row.trained_renderer, row.trained_camera)
            for row in rows
        }

    places = {"pybullet+clean": (None, None), "pybullet+webcam": (None, "webcam"), "mujoco+clean": ("mujoco", None)}
    fitted = (("anchored@4000-anchors", 8), ("cnn@1000-anchors", 6), ("cnn@4000-anchors", 8))
    assert images(found.rows) == {
        (f"{label}+{place}", number, *tested, None, None)
        for label, number in fitted
        for place, tested in places.items()
    }
    assert images(found.transfer_rows) == {
        ("anchored@4000-anchors+pybullet+clean", 8, None, "webcam", None, "clean"),
        ("anchored@4000-anchors+pybullet+clean", 8, "mujoco", None, "pybullet", None),
        ("cnn@1000-anchors+pybullet+clean", 6, "mujoco", None, "pybullet", None),
        ("cnn@4000-anchors+pybullet+webcam", 8, "mujoco", None, "pybullet", "webcam"),
    }
    assert len(found.fit_rows) == 9
    assert {path.name for path in (out / "artefacts" / "tiny").iterdir()} == {row.method for row in found.rows}
    run = run_folder(out, WEBCAM, "cnn@4000-anchors", 0)
    assert (Run.read(run).scene, Run.read(run).camera_level) == ("panda-gym", "webcam")
    assert (transfer_folder(run, ROOM) / "results.json").exists()

    simulated.clear()
    again = run_experiment(plan, preset="compact", out=out, show=False)
    assert simulated == []  # nothing is measured twice
    fewer = run_experiment(
        replace(plan, recipes={"cnn@1000-anchors": plan.recipes["cnn@1000-anchors"]}, transfers={}),
        preset="compact",
        out=out,
        show=False,
    )
    assert (again.rows, again.transfer_rows) == (found.rows, found.transfer_rows)
    assert images(fewer.transfer_rows) == images(found.transfer_rows)  # those of earlier calls stay
