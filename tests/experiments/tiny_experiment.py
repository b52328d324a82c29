"""The plan of an experiment that takes a moment."""

from dataclasses import replace
from typing import Any

from ropes.experiments.plan import Experiment
from tests import tiny

ONE = "panda-1c-independent"


def small(**changes: Any) -> Experiment:
    plan = Experiment(
        name="demo",
        recipes={"ropes": tiny.recipe()},
        anchors={ONE: 8},
        test_anchors=tiny.TESTED,
        seeds=(0, 1),
        occlusions=(0, 8),
    )
    return replace(plan, **changes)
