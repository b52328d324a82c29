"""The encoder methods on a tiny data set: learnt, resumed, read back, and refused where they cannot work."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ropes.causal.scm import Regime
from ropes.common.files import read_json
from ropes.data.dataset import Dataset, Frames
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored import stage as anchored_stage
from ropes.methods.anchored.anchors import by_anchor
from ropes.methods.anchored.contrast import regime_loss
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.recipes import EncoderRecipe, Optimisation
from ropes.methods.run import TRAINING_FILE
from ropes.models.checkpoints import WEIGHTS
from tests import tiny
from tests.kills import killed
from tests.tiny_stage import stage_of

pytestmark = pytest.mark.slow  # the fixtures fit


@pytest.fixture(scope="module")
def data(many_anchors: Path) -> Path:
    return many_anchors


@pytest.fixture(scope="module")
def run(anchored_run: Path) -> Path:
    return anchored_run


def test_anchored_learns_both_joints_without_labels(run: Path, data: Path) -> None:
    dataset = open_dataset(data)
    estimator = Estimator.load(run)
    assert estimator.run.method == "anchored"
    rows = dataset.frames("test-id").index
    found, angles = estimator.coordinates(dataset.read_images(rows)), dataset.states("test-id")
    correlations = [abs(np.corrcoef(found[:, k], angles[:, k])[0, 1]) for k in range(2)]
    assert min(correlations) > 0.9
    assert estimator.reconstructions(dataset.read_images(rows[:2])) is None


def test_training_summary_contains_floors_and_contrasts(run: Path) -> None:
    summary = read_json(run / TRAINING_FILE)
    assert summary["method"] == "anchored"
    assert summary["stages"]["encoder"]["held_out"][-1] < summary["stages"]["encoder"]["held_out"][0]
    for joint, curves in summary["stages"]["ldr"].items():
        assert curves["floor"] == pytest.approx(tiny.model().bayes_floor(joint))
        assert curves["held_out"][-1] < 0.6
    assert set(summary["coordinate_contrast"]) == set(tiny.JOINTS)


def test_evaluation_names_the_method_and_has_no_reconstruction(run: Path, data: Path, tmp_path: Path) -> None:
    results = evaluate(run, data, tmp_path / "e", occlusions=(0,), show=False)
    assert {row.method for row in results.rows} == {"anchored"}
    assert {row.labels for row in results.rows} == {0}
    with np.load(tmp_path / "e" / "artefacts" / "tiny" / "anchored" / "evaluation.npz") as arrays:
        assert "scatter_angle" in arrays
        assert "ae1" not in arrays


@pytest.mark.parametrize("method", ["ldr", "anchored"])
def test_weights_are_the_same_without_angles(
    method: str, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = tiny.encoder_recipe(
        anchor_weight=3.0 * (method == "anchored"), training=Optimisation(epochs=3, batch=20, learning_rate=1e-2)
    )
    anchored.fit(tiny_data, tmp_path / "full", chosen, method=method, show=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy_without_labels(tiny_data, tmp_path / "stripped")
    anchored.fit(tmp_path / "stripped", tmp_path / "blind", chosen, method=method, show=False)
    assert tiny.weights(tmp_path / "full") == tiny.weights(tmp_path / "blind")


def fit_killed(data: Path, out: Path, recipe: EncoderRecipe, step: int) -> None:
    """Fit, die after a step, and go on."""
    with killed(AnchoredStage, step):
        anchored.fit(data, out, recipe, show=False)
    anchored.fit(data, out, recipe, show=False)


def test_killed_fit_resumes_to_the_same_weights(tiny_data: Path, tmp_path: Path) -> None:
    chosen = tiny.encoder_recipe(
        training=Optimisation(epochs=4, batch=20, learning_rate=1e-2), anchor_warmup_fraction=0.3
    )
    anchored.fit(tiny_data, tmp_path / "whole", chosen, show=False)
    fit_killed(tiny_data, tmp_path / "killed", chosen, 7)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")


def test_last_weights_are_kept_while_the_anchor_weight_is_small(data: Path, tmp_path: Path) -> None:
    chosen = tiny.encoder_recipe(
        training=Optimisation(epochs=0.5, batch=20, learning_rate=1e-2), anchor_warmup_fraction=0.9
    )
    anchored.fit(data, tmp_path / "run", chosen, show=False)
    summary = read_json(tmp_path / "run" / TRAINING_FILE)
    assert summary["best_step"] == summary["planned_steps"]


@pytest.mark.parametrize(("step", "weight"), [(0, 0.0), (10, 0.0), (30, 0.5), (50, 1.0), (100, 1.0)])
def test_anchor_weight_ramps_up_after_the_warm_up(step: int, weight: float) -> None:
    stage = stage_of(anchor_weight=1.0, anchor_warmup_fraction=0.1)
    assert stage.penalty_ramp(step) == pytest.approx(weight)
    stage.descendants = torch.tensor([[False, True], [False, False]])
    torch.testing.assert_close(stage.partialling_weights(), torch.tensor([[0.0, 0.97], [0.0, 0.0]]))


def test_joint_weight_decreases_with_its_response_to_other_joints() -> None:
    stage = stage_of()
    torch.testing.assert_close(stage.joint_weights(), torch.tensor([1.0, 1.0]))
    stage.effects = torch.tensor([[0.0, 0.4], [0.0, 0.0]])
    torch.testing.assert_close(stage.joint_weights(), torch.tensor([1.0, 1 / 3]))
    stage.effects = torch.tensor([[0.0, 0.3], [0.04, 0.0]])
    torch.testing.assert_close(stage.joint_weights(), torch.tensor([1 / 1.02, 1 / 2.125]))


def test_warm_up_is_counted_in_poses_and_capped() -> None:
    batch = tiny.encoder_recipe().training.batch
    assert stage_of(anchor_warmup_poses=10 * batch).warm_up == 10
    assert stage_of(anchor_warmup_poses=1000 * batch).warm_up == 35
    assert stage_of(anchor_warmup_poses=0).warm_up == 0


def test_only_recent_anchors_are_buffered_and_stored() -> None:
    stage, first, second = stage_of(), torch.rand(2_048, 5, 2), torch.rand(4, 5, 2)
    stage.store_recent(torch.arange(2_048), first)
    stage.store_recent(torch.tensor([2_048, 6, 2_049, 6]), second)
    kept = [anchor for anchor in range(2, 2_048) if anchor != 6]
    assert stage.recent_anchors.tolist() == [*kept, 2_048, 6, 2_049]  # none twice
    torch.testing.assert_close(stage.recent, torch.cat([first[kept], second[[0, 3, 2]]]))
    stage.descendants, stage.effects = torch.tensor([[False, True], [False, False]]), torch.rand(2, 2)
    stage.graphs = torch.rand(3, 2, 2) > 0.5
    other = stage_of()
    other.load_extra_state(stage.extra_state())
    assert torch.equal(other.recent, stage.recent)
    assert torch.equal(other.recent_anchors, stage.recent_anchors)
    assert torch.equal(other.graphs, stage.graphs)
    assert torch.equal(other.descendants, stage.descendants)
    assert torch.equal(other.effects, stage.effects)


@pytest.mark.parametrize("independent", [False, True])
def test_descendants_are_estimated_from_training_anchors(independent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out loss is that of every response excused, whatever follows what, and however much it weighs."""
    stage, asked = stage_of(independent=independent), []

    def certain(coordinates: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        asked.append(coordinates)
        return torch.tensor([[False, len(asked) in (1, 2, 4)], [len(asked) == 3, False]])

    def every(*_: object, n_sigma: float) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor([[False, True], [False, False]]), torch.tensor([[1.0, 0.4], [0.7, 1.0]])

    monkeypatch.setattr(anchored_stage, "descendants", certain)
    monkeypatch.setattr(anchored_stage, "estimate_descendants", every)
    monkeypatch.setattr(stage, "stop_early", lambda loss: None)
    stage.recent = torch.rand(7, 5, 2)
    records = [stage.evaluate() for _ in range(4)]
    weight = stage.joint_weights().tolist()
    records += [stage.evaluate() for _ in range(2)]
    assert asked[0].shape == (7, 5, 2)
    assert [record["certain_followers"] for record in records] == [1, 1, 1, 1, 0, 0]
    # The same pair in three of four records in a row opens the door, and nothing else.
    assert [record["followers"] for record in records] == [0, 0, 0, not independent, 0, 0]
    assert len({record["held_out_loss"] for record in records}) == 1
    assert weight == pytest.approx([1.0, 1.0 if independent else 1 / 3])


def test_overfitting_run_keeps_its_best_weights(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Held-out loss is made to rise from record to record."""
    seen: list[dict[str, torch.Tensor]] = []
    rises: list[float] = []

    def rising(logits: torch.Tensor, regime: torch.Tensor, log_prior: torch.Tensor) -> torch.Tensor:
        return regime_loss(logits, regime, log_prior) + (0.0 if logits.requires_grad else 10.0 * abs(len(seen) - 2))

    def look(stage: AnchoredStage) -> dict[str, float]:
        rises.append(stage.penalty_ramp(stage.global_step))
        seen.append({name: weight.clone() for name, weight in stage.network.state_dict().items()})
        return original(stage)

    original = AnchoredStage.evaluate
    monkeypatch.setattr(anchored_stage, "regime_loss", rising)
    monkeypatch.setattr(AnchoredStage, "evaluate", look)
    anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(), show=False)
    curves = read_json(tmp_path / "run" / TRAINING_FILE)["stages"]["encoder"]
    first = int(np.argmax(np.array(rises) >= 0.5))  # the record that comes first once anchors weigh enough
    assert first > 0
    assert len(curves["steps"]) == len(seen) == first + 1 + AnchoredStage.patience < 16
    kept = load_file(tmp_path / "run" / "encoder" / WEIGHTS)
    assert all(torch.equal(kept[name], weight) for name, weight in seen[first].items())
    assert not all(torch.equal(kept[name], weight) for name, weight in seen[-1].items())
    assert read_json(tmp_path / "run" / TRAINING_FILE)["best_step"] == curves["steps"][first]


def test_a_recipe_of_the_other_method_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"method ldr leaves anchors out and .* of 3; .* use --method anchored"):
        anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(), method="ldr", show=False)
    with pytest.raises(UserError, match=r"method anchored needs an --anchor-weight above 0; .* use --method ldr"):
        anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(anchor_weight=0), show=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("anchor", "regime", "message"),
    [
        (
            [4] * 5 + [9] * 4,
            [*range(5), *range(4)],
            "anchor 9 has no pose under wrist/2; record it, leave the anchor out, or fit with --method ldr",
        ),
        (
            [4] * 6 + [9] * 5,
            [*range(5), 2, *range(5)],
            r"anchor 4 has several poses under elbow/2; give each an anchor \(episode\) of its own, or fit with",
        ),
    ],
)
def test_incomplete_anchors_are_reported(data: Path, anchor: list[int], regime: list[int], message: str) -> None:
    dataset = open_dataset(data)
    assert dataset.regimes[2:] == (Regime("elbow", 2), Regime("wrist", 1), Regime("wrist", 2))
    with pytest.raises(UserError, match=message):
        by_anchor(dataset, Frames(np.arange(len(anchor)), np.array(anchor), np.array(regime)))


def test_incomplete_anchors_are_refused_before_decoding_images(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = open_dataset(data)
    frames = dataset.frames("train")
    kept = np.arange(len(frames)) != 5 * 3 + 2
    lacking = Frames(frames.index[kept], frames.anchor[kept], frames.regime[kept])
    monkeypatch.setattr(Dataset, "frames", lambda self, split: lacking)
    monkeypatch.setattr(anchored, "ImageCache", None)
    with pytest.raises(UserError, match="anchor 3 has no pose under elbow/2"):
        anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(), show=False)
    assert not (tmp_path / "run").exists()


def test_killed_run_with_erased_squares_resumes_to_the_same_weights(tiny_data: Path, tmp_path: Path) -> None:
    short = Optimisation(epochs=4, batch=20, learning_rate=1e-2)
    chosen = tiny.encoder_recipe(training=short, anchor_warmup_fraction=0.1, random_erasing=0.5, anchors=12)
    anchored.fit(tiny_data, tmp_path / "whole", chosen, show=False)
    planned = read_json(tmp_path / "whole" / TRAINING_FILE)["planned_steps"]
    fit_killed(tiny_data, tmp_path / "killed", chosen, round(0.7 * planned))
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")
    plain = replace(chosen, random_erasing=0.0)
    anchored.fit(tiny_data, tmp_path / "plain", plain, show=False)
    assert tiny.weights(tmp_path / "plain") != tiny.weights(tmp_path / "whole")
    summary = read_json(tmp_path / "whole" / TRAINING_FILE)
    assert summary["provenance"]["anchors"] == 12
    assert summary["provenance"]["poses"] == 60
