"""Experiment mpi3d, made tiny: joints and factors of a drawn file of photographs, and the page."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from ropes.data.mpi3d import AXES
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.experiments.plan import Experiment
from ropes.experiments.plans import experiment
from ropes.experiments.run import reproduce, run_experiment
from ropes.methods.recipes import EncoderRecipe
from ropes.report import axes as axes_report
from ropes.report.html import write_report
from ropes.report.terminal import print_table
from ropes.simulation.settings import MPI3D, MPI3D_FACTORS, MPI3D_GRID
from tests import tiny, tiny_mpi3d


def small(file: Path) -> Experiment:
    """The experiment with one method of each kind, tiny recipes and few photographs."""
    plan = experiment("mpi3d", "compact", ("anchored", "beta-vae"), recorded=file)
    return replace(
        plan,
        recipes={method: tiny.short(tiny.recipe_of(method)) for method in plan.recipes},
        anchors={MPI3D: 30, MPI3D_FACTORS: 80, MPI3D_GRID: 0},
        test_anchors=300,
        labelled=100,
        seeds=(0,),
        sizes=tiny.SIZES,
    )


@pytest.mark.slow
def test_joints_and_factors_are_measured_and_reported(
    cache_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, out = small(tiny_mpi3d.write(tmp_path / "mpi3d_real.npz", compressed=True)), tmp_path / "study"
    found = run_experiment(plan, preset="compact", out=out, show=False)
    assert {(row.setup, row.method, row.joint) for row in found.rows} == {(MPI3D, "anchored", joint) for joint in AXES}
    (row,) = found.model_rows
    assert (row.setup, row.method) == (MPI3D_FACTORS, "beta-vae")
    assert {"dci", "mig", "trees_id"} <= row.scores.keys()
    assert row.scores["beta_vae"] is not None  # which is defined because every combination of factors exists
    assert set(row.informativeness) == {"object_size", "camera_height", "background_color", *AXES}
    axes = {row.method: row for row in found.axes_rows}
    assert set(axes) == {"anchored", "beta-vae"}
    assert {row.setup for row in axes.values()} == {MPI3D_GRID}
    assert all({"dci", "mig", "sap", "mcc", "infoe", "tmex"} <= each.scores.keys() for each in axes.values())
    assert all(set(each.informativeness) == set(AXES) for each in axes.values())
    assert {method: each.settings["photographs"] for method, each in axes.items()} == {"anchored": 3, "beta-vae": 1}
    assert {each.sizes["tested"] for each in axes.values()} == {300}
    assert len(found.fit_rows) == 2
    assert results.read(out / "results.json") == found
    write_report(out, out / "report.html")
    print_table(found)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "horizontal_axis" in page
    assert axes_report.caption(found.axes_rows) in unescape(page)
    said = capsys.readouterr().out
    assert "beta-vae" in said
    assert axes_report.TITLE in said
    assert "| anchored | both axes, by interventions | 3 | 1 |" in axes_report.axes_markdown(found)


@pytest.mark.parametrize("preset", ["compact", "paper"])
def test_methods_read_all_pixels_of_the_photographs(preset: str) -> None:
    plan = experiment("mpi3d", preset)
    assert {recipe.shape.image_size for recipe in plan.recipes.values()} == {64}
    assert set(plan.only[MPI3D]) | set(plan.only[MPI3D_FACTORS]) == set(plan.recipes)
    anchored = plan.recipe(MPI3D, "anchored")
    assert isinstance(anchored, EncoderRecipe)
    assert anchored.independent  # the axes do not depend on each other
    assert plan.measures_of(MPI3D) == "joints"
    assert plan.measures_of(MPI3D_FACTORS) == "factors"
    read = {method: others for each in plan.transfers.values() for method, others in each.items()}
    assert read == dict.fromkeys(plan.recipes, (MPI3D_GRID,))  # the same points for every method
    assert plan.read_elsewhere() == [MPI3D_GRID]
    assert experiment("mpi3d", preset, ("beta-vae",)).read_elsewhere() == [MPI3D_GRID]  # and no anchors


def test_the_experiment_needs_its_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mpi3d is of photographs; give --data mpi3d_real\.npz"):
        reproduce("mpi3d", preset="compact", out=tmp_path / "out")
    (tmp_path / "other.npz").write_text("no archive")
    with pytest.raises(UserError, match="cannot be read as an npz file of plain arrays"):
        reproduce("mpi3d", preset="compact", out=tmp_path / "out", recorded=tmp_path / "other.npz")
    with pytest.raises(UserError, match="mpi3d is not for method ropes"):
        reproduce("mpi3d", preset="compact", out=tmp_path / "out", methods=["ropes"])
    assert not (tmp_path / "out").exists()
