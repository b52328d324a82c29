"""Structural models with nonlinear effects: sampling, descriptions, and the graph of their angles."""

import json
from collections.abc import Mapping

import numpy as np
import pytest

from benchmarks.graph_calibration import QUALITIES, tally
from ropes.causal.effects import Effect
from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.simulation.settings import GRAPH_SETTINGS, setting_named


def model(effects: Mapping[tuple[str, str], Effect] | None = None) -> CausalModel:
    """A → C ← B."""

    def tn(mean: float) -> TruncatedNormal:
        return TruncatedNormal(mean=mean, variance=0.4, low=-1.5, high=1.5)

    return CausalModel(
        joints=("a", "b", "c"),
        observational={"a": tn(0), "b": tn(0.3), "c": tn(0)},
        interventions={joint: (tn(0.7), tn(-0.7)) for joint in "abc"},
        weights={("a", "c"): 0.5, ("b", "c"): -2.0},
        effects={("a", "c"): "tanh", ("b", "c"): "sin"} if effects is None else effects,
    )


def test_angles_follow_the_effects_and_interventions_cut_them() -> None:
    bent, straight = (each.sample(np.random.default_rng(1), 50) for each in (model(), model({})))
    names = [regime.name for regime in model().regimes]
    a, b, c = bent.transpose(2, 0, 1)
    roots = straight[..., 2] - (0.5 * straight[..., 0] - 2 * straight[..., 1])  # the draws are the same
    under = [k for k, name in enumerate(names) if name.startswith("c/")]
    free = [k for k in range(len(names)) if k not in under]
    expected = roots + 0.5 * np.tanh(a) - 2 * np.sin(b)
    np.testing.assert_allclose(c[:, free], expected[:, free], atol=1e-12)
    np.testing.assert_array_equal(c[:, under], straight[:, under, 2])


def test_descriptions_name_the_effects_where_there_are_any() -> None:
    described = json.loads(json.dumps(model().to_dict()))
    assert CausalModel.from_dict(described) == model()
    assert "effects" not in model({}).to_dict()


@pytest.mark.parametrize(
    ("effects", "line"),
    [
        ({("c", "a"): "sin"}, r"no weight for the effects \[\('c', 'a'\)\]"),
        ({("a", "c"): "cube"}, r"no such effects: \['cube'\]; there are sin, tanh"),
    ],
)
def test_unknown_effects_are_refused(effects: Mapping[tuple[str, str], Effect], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        model(effects)


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPH_SETTINGS)
def test_graph_of_true_angles_is_right(name: str) -> None:
    causes = setting_named(name).splits["train"]
    found = tally(causes, QUALITIES["clean"], range(5), 500)
    assert (found.found, found.false, found.denied) == (5 * len(causes.weights), 0, 0)
