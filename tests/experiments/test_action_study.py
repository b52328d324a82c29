"""Causal Triplet as an experiment, made tiny: settings, ablations, the arm beside ROPES, recordings, the page."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.experiments import run as experiments
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.experiments.run import reproduce
from ropes.methods.delta.variants import ABLATED, CROPPED, FROM_POSES, OF_A_RESNET, OPTIONS
from ropes.methods.recipes import DeltaRecipe, Optimisation
from ropes.methods.registry import method_of, methods_of
from ropes.report.action_figures import framed
from ropes.report.actions import action_markdown
from ropes.report.html import write_report
from ropes.simulation.actions import IID
from ropes.simulation.settings import ACTION_PAIRS, ARM_ACTIONS, OBJECT_SCENES, RANDOM_HOLD_OUTS


def tiny_experiment(name: str, preset: str, methods: Sequence[str] = (), *, recorded: Path | None = None) -> Experiment:
    """An experiment with a few steps of small networks on few pairs."""
    plan = experiment(name, preset, methods, recorded=recorded)
    training = Optimisation(epochs=1, batch=16, learning_rate=1e-3)
    recipes = {}
    for label, recipe in plan.recipes.items():
        assert isinstance(recipe, DeltaRecipe)
        shape = replace(recipe.delta, image_size=32, width=16, depth=1, heads=2, widths=(4, 8), latents=8)
        recipes[label] = replace(recipe, delta=recipe.delta if label == FROM_POSES else shape, training=training)
    anchors = {setting: 120 if count else 0 for setting, count in plan.anchors.items()}
    return replace(plan, recipes=recipes, own={}, anchors=anchors, test_anchors=40)


@pytest.fixture
def tiny_plan(monkeypatch: pytest.MonkeyPatch, cache_home: Path) -> None:
    """`reproduce` runs tiny experiments."""
    monkeypatch.setattr(experiments, "experiment", tiny_experiment)


@pytest.mark.slow
def test_every_setting_is_evaluated_and_reported(tiny_plan: None, tmp_path: Path) -> None:
    out = tmp_path / "study"
    methods = ("cde-global", "cde-patch")
    found = reproduce("causal-triplet", preset="compact", out=out, methods=methods, seeds=(0,), show=False)
    listed = [(row.setup, row.method) for row in found.action_rows]
    assert {method for setup, method in listed if setup == OBJECT_SCENES} == set(methods)
    assert {method for setup, method in listed if setup == ACTION_PAIRS} == {
        *methods,
        "cde-global@classification",
        "cde-global@no-contrast",
        "cde-global@no-sparsity",
        OF_A_RESNET,
        CROPPED["cde-global"],
    }
    arm = [row for row in found.action_rows if row.moves]
    assert {row.method for row in arm} == {OF_A_RESNET, FROM_POSES, "anchored (panda-2c)"}
    assert len({row.setup for row in arm}) == 1
    assert all(set(row.moves) == {f"panda_joint{k}" for k in range(1, 7)} for row in arm)
    ours = next(row for row in arm if row.method.startswith("anchored"))
    assert ours.moves["panda_joint1"]["opposite"] is not None
    assert ours.accuracy[IID] > 0.4
    assert results.read(out / "results.json") == found

    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("weights.safetensors")}
    again = reproduce("causal-triplet", preset="compact", out=out, methods=methods, seeds=(0,), show=False)
    assert again.action_rows == found.action_rows
    assert {path: path.stat().st_mtime_ns for path in out.rglob("weights.safetensors")} == stamps

    write_report(out, out / "report.html")
    page = (out / "report.html").read_text(encoding="utf-8")
    for words in (
        "Single objects",
        "Several objects in a scene",
        "Joint actions of an arm",
        "without contrast",
    ):
        assert words in page
    assert page.count('<img src="data:') == 6 * 3 * 5


def test_compact_experiment_contains_the_required_fits() -> None:
    plan = experiment("causal-triplet", "compact")
    assert {method_of(label) for label in plan.recipes} == set(methods_of("actions"))
    assert len(plan.seeds) >= 3
    assert plan.fits(ACTION_PAIRS, "sms")
    assert not plan.fits(ARM_ACTIONS, "sms")
    assert plan.fits(OBJECT_SCENES, "cde-patch")
    later = experiment("causal-triplet", "compact", ("plain-vit",))  # in the same folder, which keeps what it has
    assert all(later.fits(ACTION_PAIRS, label) for label in ("cde-global", *ABLATED, OF_A_RESNET))
    paper = experiment("causal-triplet", "paper")  # which has no crops beside
    for name, label in CROPPED.items():
        own = plan.recipes[name]
        assert isinstance(own, DeltaRecipe)
        assert own.crop == 1
        assert plan.recipes[label] == replace(own, crop=0.5)
        assert plan.fits(ACTION_PAIRS, label)
        assert label not in later.recipes
        assert label not in paper.recipes
    alone = experiment("causal-triplet", "compact", ("cde-global",)).recipes
    assert alone.keys() & set(CROPPED.values()) == {"cde-global@crops"}
    assert plan.fits(ARM_ACTIONS, FROM_POSES)
    assert not plan.fits(ACTION_PAIRS, FROM_POSES)  # which reads an arm
    arm = paper.recipe(ARM_ACTIONS, OF_A_RESNET)
    assert isinstance(arm, DeltaRecipe)
    assert arm.delta.image_size <= 128  # as the arm is filmed


def test_options_experiment_compares_variants_and_held_out_actions() -> None:
    plan = experiment("delta-options", "compact")
    assert set(plan.recipes) == {"cde-global", "cde-patch", *ABLATED, *OPTIONS}
    recipes = {label: recipe for label, recipe in plan.recipes.items() if isinstance(recipe, DeltaRecipe)}
    base = {method: recipes[method] for method in ("cde-global", "cde-patch")}
    assert recipes["cde-global@contrast-sum"] == replace(base["cde-global"], contrast_sum=True)
    assert recipes["cde-patch@no-contrast"] == replace(base["cde-patch"], contrast=0.0)
    assert recipes["cde-patch@classification"] == replace(base["cde-patch"], contrast=0.0, sparsity=0.0)
    for weight in ("0.1", "10", "100"):
        assert recipes[f"cde-global@sparsity-{weight}"] == replace(base["cde-global"], sparsity=float(weight))
    for weight in ("0.2", "20"):
        assert recipes[f"cde-global@contrast-{weight}"] == replace(base["cde-global"], contrast=float(weight))
    patches = base["cde-patch"]
    for label, change in (("features", {"change": "features"}), ("aggregate", {"aggregate": True})):
        assert recipes[f"cde-patch@{label}"] == replace(patches, delta=replace(patches.delta, **change))
    assert recipes["cde-patch@patches-4"].delta.patches == 4
    assert recipes["cde-patch@patches-all"].delta.patches > 196  # of the paper's preset
    assert set(plan.anchors) == {ACTION_PAIRS, OBJECT_SCENES}
    drawn = experiment("hold-outs", "compact")
    assert set(drawn.recipes) == set(methods_of("actions"))
    assert list(drawn.anchors) == list(RANDOM_HOLD_OUTS)
    assert drawn.seeds == (0,)
    with pytest.raises(UserError, match="delta-options is not for method sms; choose among cde-global, cde-patch"):
        experiment("delta-options", "compact", ("sms",))


@pytest.mark.slow
def test_other_held_out_actions_share_one_table_row(
    tiny_plan: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = dict.fromkeys(list(RANDOM_HOLD_OUTS)[:2], 120)
    monkeypatch.setattr(experiments, "experiment", lambda *a, **k: replace(tiny_experiment(*a, **k), anchors=two))
    found = reproduce("hold-outs", preset="compact", out=tmp_path / "R", methods=("cde-global",), show=False)
    assert [row.setup for row in found.action_rows] == list(two)
    held_out = [open_dataset(tmp_path / "R" / name / "data").provenance for name in two]
    assert held_out[0] != held_out[1]
    lines = action_markdown(found).splitlines()
    assert lines[2].startswith("| single objects, others held out | deltas of whole images | 2 |")
    assert "± is over choices of the held-out pairs" in lines[-1]
    write_report(tmp_path / "R", tmp_path / "R" / "report.html")
    assert "Single objects, others held out" in (tmp_path / "R" / "report.html").read_text(encoding="utf-8")


def test_recordings_are_accepted_only_by_causal_triplet(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="table1 is simulated; recordings go with causal-triplet, disentanglement"):
        experiment("table1", "compact", recorded=tmp_path)
    with pytest.raises(UserError, match="causal-triplet is not for method anchored"):
        experiment("causal-triplet", "compact", ("anchored",))
    plan = experiment("causal-triplet", "compact", recorded=tmp_path)
    assert list(plan.anchors) == ["causal-triplet", "causal-triplet-scenes"]


def test_unreadable_recordings_leave_no_folder(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded"
    again = partial(reproduce, "causal-triplet", preset="compact", out=tmp_path / "R", recorded=recorded, show=False)
    with pytest.raises(UserError, match="is no folder"):
        again()
    images = recorded / "kitchen" / "color"
    images.mkdir(parents=True)
    Image.new("RGB", (20, 20)).save(images / "00001_first.png")
    row = "kitchen,1,00001_second_drawer_open,drawer,open,2,3,12,18\n"
    (recorded / "kitchen" / "annotations.csv").write_text(row)
    with pytest.raises(UserError, match=r"second_drawer_open\.png is missing"):
        again()
    Image.new("RGB", (20, 20)).save(images / "00001_second_drawer_open.png")
    with pytest.raises(UserError, match=r"fewer than two verbs are left"):
        again()
    assert not (tmp_path / "R").exists()


def test_selected_patches_are_outlined() -> None:
    images = np.zeros((1, 2, 16, 16), np.uint8)
    drawn = framed(images, np.array([[5]]), 4)
    assert drawn.shape == (1, 2, 16, 16, 3)
    marked = (drawn[0, 1] != 0).any(axis=-1)
    assert marked[4:8, 4:8].sum() == 12
    assert marked.sum() == 12
