"""Simulates the data sets of an experiment, or imports its recordings."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ropes.data.build import begun_renderer, renderer_record
from ropes.data.cache import ImageCache
from ropes.data.chains import ON_THE_WAY
from ropes.data.generate import simulate
from ropes.data.generate_actions import simulate_arm_actions, simulate_pairs
from ropes.data.generate_finger import simulate_finger
from ropes.data.import_mpi3d import import_anchors, import_factors
from ropes.data.import_pairs import import_pairs
from ropes.data.mpi3d_points import import_points
from ropes.evaluation.record import ARTEFACTS
from ropes.experiments.folder import data_folder
from ropes.experiments.plan import Experiment
from ropes.simulation.actions import PairsSetting, random_hold_out
from ropes.simulation.availability import locate
from ropes.simulation.finger import write_feasibility
from ropes.simulation.finger_setting import FEASIBILITY_FILE, FingerSetting
from ropes.simulation.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    ARM_SETTING,
    FINGER_CUBE,
    MPI3D,
    MPI3D_FACTORS,
    MPI3D_GRID,
    OBJECT_SCENES,
    RANDOM_HOLD_OUTS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
    setting_named,
)
from ropes.simulation.workers import Workers


def require_renderers(plan: Experiment, datasets: Iterable[str]) -> None:
    """Check that this machine has the renderers and the URDF files of the arms of some data sets.

    Raises:
        UserError: MuJoCo or its OpenGL is missing, or the package with a URDF file.
    """
    for arm in filter(None, map(plan.arm, datasets)):
        locate(arm.robot.urdf)
        renderer_record(arm.renderer)


def generate_dataset(
    plan: Experiment, name: str, out: Path, workers: Workers, *, parallel: bool = False, show: bool
) -> None:
    """Simulate or import a data set in `out`/NAME/data; resume if interrupted.

    Deviation: except in the paper's preset, arms are rendered with simplified meshes of a twentieth of the triangles.
    Why: rendering them takes far less time.  Effect: silhouettes overlap those of the full meshes with a mean IoU of
    .984; `ropes simulate --mesh full` renders the full ones.

    Raises:
        UserError: the folder holds something else, or recordings are wrong.
    """
    data, count = data_folder(out, name), plan.anchors[name]
    if name in (MPI3D, MPI3D_FACTORS, MPI3D_GRID):
        _import_photographs(plan, name, data, show=show)
        return
    recipes = [plan.recipe(name, label) for label in plan.recipes if plan.fits(name, label)]
    sizes = sorted({recipe.shape.image_size for recipe in recipes})
    size = sizes[-1]
    options: dict[str, Any] = {"out": data, "seed": plan.data_seed, "workers": workers, "progress": show}
    counts: dict[str, Any] = {"samples": count, "test_samples": plan.test_anchors}
    begun = begun_renderer(data)
    drawn: dict[str, Any] = {} if begun is None else {"renderer": begun}
    if name == FINGER_CUBE:
        finger = FingerSetting(image_size=size, **drawn)
        dataset = simulate_finger(finger, labelled=plan.labelled, **counts, **options)
        write_feasibility(out / ARTEFACTS / name / FEASIBILITY_FILE, finger)
    elif name in (ACTION_PAIRS, OBJECT_SCENES, *RANDOM_HOLD_OUTS):
        pairs = PairsSetting(name=name, image_size=size, objects=4 if name == OBJECT_SCENES else 1, **drawn)
        if name in RANDOM_HOLD_OUTS:
            pairs = replace(pairs, held_out=random_hold_out(seed=RANDOM_HOLD_OUTS[name]))
        dataset = simulate_pairs(pairs, **counts, **options)
    elif name == ARM_ACTIONS:
        arm = replace(setting_named(ARM_SETTING), scene=plan.scene)
        dataset = simulate_arm_actions(arm, **counts, **options)
    elif name in (RECORDED_PAIRS, RECORDED_SCENES):
        assert plan.recorded is not None
        del options["workers"]
        dataset = import_pairs(Path(plan.recorded), image_size=size, boxes=name == RECORDED_PAIRS, **options)
    else:
        arm = plan.arm(name) or setting_named(name)  # which raises the error of an unknown setting
        options["mesh"] = plan.mesh
        options["chains" if name in plan.chains else "anchors"] = count
        if name in plan.filmed:
            options["frames_per_move"] = ON_THE_WAY
        dataset = simulate(arm, test_anchors=plan.test_anchors, **options)
        if not plan.at_once and not parallel:
            return
    for side, split in product(sizes, dataset.splits):  # once, so that parallel fits need not
        ImageCache(dataset, split, side, progress=show)


def _import_photographs(plan: Experiment, name: str, out: Path, *, show: bool) -> None:
    """Import a data set of MPI3D's photographs."""
    assert plan.recorded is not None
    source, count, tested = Path(plan.recorded), plan.anchors[name], plan.test_anchors
    options: dict[str, Any] = {"out": out, "seed": plan.data_seed, "progress": show}
    if name == MPI3D:
        import_anchors(source, anchors=count, test_anchors=tested, **options)
    elif name == MPI3D_FACTORS:
        import_factors(source, samples=count, test_samples=tested, labelled=plan.labelled, **options)
    else:
        import_points(source, samples=tested, **options)
