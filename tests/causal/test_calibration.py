"""Edges between independent joints are rare at every quality of the coordinates (benchmarks/graph_calibration.py)."""

import pytest

from benchmarks.graph_calibration import QUALITIES, tally
from ropes.simulation.settings import setting_named

INDEPENDENT = setting_named("panda-2c-independent").splits["train"]


@pytest.mark.parametrize("quality", ["mixed_0.6_noise_0.3", "three_weak_coordinates"])
def test_poor_coordinates_of_independent_joints_add_no_false_edge(quality: str) -> None:
    count = tally(INDEPENDENT, QUALITIES[quality], range(2), 300)
    assert count.false == 0
    assert count.undetermined > 0


@pytest.mark.parametrize("seed", [2, 12])
def test_bent_mixture_adds_no_false_edge(seed: int) -> None:
    """Two runs in which a cleared effect differs from zero at the level .01, and not from what a bend leaves."""
    count = tally(INDEPENDENT, QUALITIES["mixed_then_bent"], [seed], 500)
    assert (count.runs, count.false) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("quality", QUALITIES)
def test_at_most_one_run_in_twenty_has_a_false_edge(quality: str) -> None:
    assert tally(INDEPENDENT, QUALITIES[quality], range(20), 300).wrong_runs <= 1
