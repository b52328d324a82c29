"""Methods `ropes` and `ldr` on data with one intervention on each joint, contrasted with no intervention."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.causal.scm import CausalModel, Regime, TruncatedNormal
from ropes.common.files import read_json
from ropes.data.interventions import single_interventions
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.evaluation.inspection import inspect_data
from ropes.inference.estimator import Estimator
from ropes.methods.anchored.contrast import intervention_loss
from ropes.methods.fit import fit
from ropes.methods.policies import bayes_floors, require_both_policies, require_contrast, second_regime
from ropes.methods.recipes import Optimisation, Recipe
from ropes.methods.run import TRAINING_FILE
from ropes.methods.training.criteria import coordinate_contrast, policy_contrasts
from ropes.metrics.correlation import correlation_matrix
from tests import tiny

#: Rows of `tiny.model().regimes`: no intervention, and policy 1 of each joint.
ROWS = (0, 1, 3)
SINGLE = tuple(tiny.model().regimes[row] for row in ROWS)


def write_single(path: Path, anchors: int = 16, rows: tuple[int, ...] = ROWS, model: CausalModel | None = None) -> Path:
    """The tiny data set without the images under some regimes."""
    model = model or tiny.model()
    states = {"train": model.sample(np.random.default_rng(0), anchors)[:, rows]}
    images = {split: tiny.draw(angles) for split, angles in states.items()}
    regimes = tuple(model.regimes[row] for row in rows)
    return tiny.write_data(path, tests=0, described=False, images=images, states=states, regimes=regimes)


@pytest.mark.parametrize(
    ("regimes", "single"),
    [
        (SINGLE, True),
        (SINGLE[1:], False),
        (SINGLE[:1], False),
        (tiny.model().regimes, False),
        ((*SINGLE, Regime("elbow", 2)), False),
    ],
)
def test_interventions_are_single_where_every_joint_has_policy_1_alone(
    regimes: tuple[Regime, ...], single: bool
) -> None:
    assert single_interventions(regimes) == single
    assert second_regime(regimes, "elbow") == (Regime() if single else Regime("elbow", 2))


def test_data_set_is_valid_and_the_contrast_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_single(tmp_path / "data")
    assert "joints elbow, wrist" in validate(data, progress=False)
    dataset = open_dataset(data)
    require_contrast(dataset, show=True)
    assert "contrasted with the images without intervention" in capsys.readouterr().err
    assert bayes_floors(dataset) == {"elbow": None, "wrist": None}


def test_inspection_and_graph_need_two_interventions(tmp_path: Path) -> None:
    data = write_single(tmp_path / "data")
    with pytest.raises(UserError, match="one intervention on each joint, and an inspection compares two"):
        inspect_data(data, show=False)
    with pytest.raises(UserError, match="joint elbow has no images under policy 2"):
        require_both_policies(open_dataset(data))


@pytest.mark.parametrize(
    ("method", "rows", "line"),
    [
        ("anchored", ROWS, "one intervention on each joint, and method anchored needs two; fit with --method ldr"),
        ("ldr", ROWS[1:], "joint elbow has no images under policy 2"),
        ("ropes", (0, 1, 2, 3), "joint wrist has no images under policy 2"),
    ],
)
def test_data_that_a_method_cannot_contrast_leave_no_run(
    method: str, rows: tuple[int, ...], line: str, tmp_path: Path
) -> None:
    data = write_single(tmp_path / "data", rows=rows)
    with pytest.raises(UserError, match=line):
        fit(data, tmp_path / "run", tiny.recipe_of(method), 0, method=method, show=False)
    assert not (tmp_path / "run").exists()


def test_least_loss_is_at_the_log_density_ratio() -> None:
    # One joint whose angle takes two values: 8 and 2 of 10 poses under the policy, 6 and 14 of 20 without.
    value = torch.tensor([0] * 8 + [1] * 2 + [0] * 6 + [1] * 14)
    regime = torch.tensor([1] * 10 + [0] * 20)
    shares = torch.tensor([20 / 30, 10 / 30, 0.0]).log()
    ratio = torch.tensor([0.8 / 0.3, 0.2 / 0.7]).log().requires_grad_()
    intervention_loss(ratio[value][:, None], regime, shares).backward()
    assert ratio.grad is not None
    assert ratio.grad.abs().max() < 1e-6


def test_loss_of_a_joint_leaves_out_the_interventions_on_others() -> None:
    regime, shares = torch.tensor([0, 1, 3]), torch.tensor([1 / 3, 1 / 3, 0, 1 / 3, 0]).log()
    coordinates = torch.tensor([[0.0, 0.0], [1.0, 9.0], [9.0, 2.0]])
    elbow, wrist = (np.log(2) + np.log1p(np.exp(-z)) for z in (1.0, 2.0))
    assert float(intervention_loss(coordinates, regime, shares)) == pytest.approx((elbow + wrist) / 2)


def test_contrast_is_with_the_poses_without_intervention() -> None:
    regime = torch.tensor([0, 0, 0, 1, 1, 3])
    coordinates = torch.tensor([[0.0, 1.0], [0.4, 0.0], [5.0, 5.0], [0.3, 7.0], [1.0, 7.0], [7.0, 0.5]])
    found = policy_contrasts(coordinates, regime, torch.tensor([0, 0, 1, 1]), single=True)
    elbow = coordinate_contrast(np.array([0.3, 1.0, 0.0, 0.4]), np.array([1.0, 1.0, 0.0, 0.0]))
    wrist = coordinate_contrast(np.array([0.5, 1.0]), np.array([1.0, 0.0]))
    assert found == pytest.approx({"contrast_0": elbow, "contrast_1": wrist}, rel=1e-4, abs=1e-6)


def fit_coordinates(method: str, path: Path, model: CausalModel) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of new poses under the intervention on the wrist, and their angles, both (400, 2)."""
    data = write_single(path / "data", anchors=1000, model=model)
    recipe: Recipe = tiny.encoder_recipe(
        anchor_weight=0.0, training=Optimisation(epochs=12, batch=50, learning_rate=1e-2)
    )
    if method == "ropes":
        recipe = tiny.recipe(
            coordinates="logits", ldr_training=Optimisation(epochs=20, batch=50, learning_rate=1e-3, weight_decay=1e-2)
        )
    run = fit(data, path / "run", recipe, 0, method=method, show=False)
    assert run.joints == tiny.JOINTS
    told = read_json(path / "run" / TRAINING_FILE)["stages"]["ldr"]
    assert all(told[joint]["floor"] is None for joint in tiny.JOINTS)
    angles = model.sample(np.random.default_rng(1), 400)[:, ROWS[-1]]
    return Estimator.load(path / "run").coordinates(tiny.draw(angles)), angles


@pytest.mark.slow
@pytest.mark.parametrize(("method", "least"), [("ldr", 0.9), ("ropes", 0.7)])
def test_independent_joints_are_learnt_from_one_intervention_each(method: str, least: float, tmp_path: Path) -> None:
    matrix = correlation_matrix(*fit_coordinates(method, tmp_path, tiny.model()))
    assert np.diag(matrix).min() > least
    assert (matrix - np.diag(np.diag(matrix))).max() < 0.3


def explained(values: np.ndarray, *causes: np.ndarray) -> float:
    """R² of a polynomial of second degree in some angles."""
    columns = [np.ones(len(values)), *causes, *(one * other for one in causes for other in causes)]
    terms = np.stack(columns, axis=1)
    residual = values - terms @ np.linalg.lstsq(terms, values)[0]
    return float(1 - residual.var() / values.var())


@pytest.mark.slow
def test_coordinate_of_a_joint_with_a_parent_depends_on_the_parent_too(tmp_path: Path) -> None:
    model = replace(
        tiny.model(),
        observational={"elbow": tiny.model().observational["elbow"]},
        # Wide enough that the regimes contrasted for the elbow cover the poses under the intervention on the wrist.
        noise={"wrist": TruncatedNormal(mean=0, variance=0.4, low=-1.5, high=1.5)},
        weights={("elbow", "wrist"): 0.8},
    )
    coordinates, angles = fit_coordinates("ldr", tmp_path, model)
    elbow, wrist = angles.T
    shares = {
        k: (explained(coordinates[:, k], angles[:, k]), explained(coordinates[:, k], elbow, wrist)) for k in (0, 1)
    }
    assert shares[0][0] > shares[0][1] - 0.1  # the elbow has no parent
    assert shares[1][0] < shares[1][1] - 0.3
