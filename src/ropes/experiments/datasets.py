"""Simulates the data sets of an experiment, or imports its recordings."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.generate import simulate
from ropes.data.generate_actions import simulate_arm_actions, simulate_pairs
from ropes.data.generate_finger import simulate_finger
from ropes.data.import_pairs import import_pairs
from ropes.evaluation.record import ARTEFACTS
from ropes.experiments.plan import Experiment
from ropes.simulation.actions import PairsSetting, drawn_held_out
from ropes.simulation.feasibility import write_feasibility
from ropes.simulation.finger_setting import FEASIBILITY_FILE, FingerSetting
from ropes.simulation.settings import (
    ACTION_PAIRS,
    ARM_ACTIONS,
    ARM_SETTING,
    DRAWN_HOLD_OUTS,
    FINGER_CUBE,
    MANY_THINGS,
    RECORDED_PAIRS,
    RECORDED_SCENES,
    panda_setting,
)


def film(plan: Experiment, setting: str, out: Path, workers: int | None, *, show: bool) -> None:
    """Make the data of a setting in `out`/SETTING/data, or go on with them.

    Deviation: but for the paper's preset arms are filmed with simplified meshes, a twentieth of the triangles.  Why:
    drawing them takes far less time.  Effect: silhouettes overlap those of the full meshes with a mean IoU of .984;
    `ropes simulate --mesh full` films the full ones.

    Raises:
        UserError: the folder holds something else, or recordings are wrong.
    """
    data, count = out / setting / "data", plan.anchors[setting]
    sides = sorted(
        {plan.recipe(setting, label).shape.image_size for label in plan.recipes if plan.fits(setting, label)}
    )
    side = sides[-1]
    given: dict[str, Any] = {"seed": plan.data_seed, "workers": workers, "progress": show}
    sizes: dict[str, Any] = {"samples": count, "test_samples": plan.test_anchors}
    match setting:
        case name if name == FINGER_CUBE:
            finger = FingerSetting(image_size=side)
            _decode(simulate_finger(finger, out=data, labelled=plan.labelled, **sizes, **given), sides, show)
            write_feasibility(out / ARTEFACTS / setting / FEASIBILITY_FILE, finger)
        case name if name in (ACTION_PAIRS, MANY_THINGS):
            scene = PairsSetting(name=setting, image_size=side, things=4 if name == MANY_THINGS else 1)
            _decode(simulate_pairs(scene, out=data, **sizes, **given), sides, show)
        case name if name in DRAWN_HOLD_OUTS:
            held_out = drawn_held_out(seed=DRAWN_HOLD_OUTS[name])
            scene = PairsSetting(name=setting, image_size=side, held_out=held_out)
            _decode(simulate_pairs(scene, out=data, **sizes, **given), sides, show)
        case name if name == ARM_ACTIONS:
            arm = replace(panda_setting(ARM_SETTING), scene=plan.scene)
            _decode(simulate_arm_actions(arm, out=data, **sizes, **given), sides, show)
        case name if name in (RECORDED_PAIRS, RECORDED_SCENES):
            assert plan.recorded is not None
            taken = import_pairs(
                Path(plan.recorded),
                out=data,
                image_size=side,
                boxes=name == RECORDED_PAIRS,
                seed=plan.data_seed,
                progress=show,
            )
            _decode(taken, sides, show)
        case _:
            arm = replace(panda_setting(setting), scene=plan.scene)
            given |= {"mesh": "full" if plan.full_meshes else "simplified"}
            made = simulate(arm, out=data, anchors=count, test_anchors=plan.test_anchors, **given)
            if plan.at_once:
                _decode(made, sides, show)


def _decode(dataset: Dataset, sides: Sequence[int], show: bool) -> None:
    """At every size that is fitted; once, and not by every fit for itself."""
    for side, split in product(sides, dataset.splits):
        ImageCache(dataset, split, side, progress=show)
