"""The encoder methods on a tiny data set: learnt, resumed, read back, and refused where they cannot work."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ropes import training
from ropes.checkpoints import WEIGHTS
from ropes.data.layout import open_dataset, strip_states
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.evaluation import evaluate
from ropes.files import read_json
from ropes.methods import anchored, encoder_stage
from ropes.methods.contrast import regime_loss
from ropes.methods.encoder_stage import EncoderStage
from ropes.methods.run import TRAINING_FILE
from ropes.models.encoder import ContrastNetwork
from ropes.recipes import Optimisation
from ropes.scm import Regime
from ropes.stage import Stage
from tests import tiny


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("anchored") / "data", anchors=200)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("anchored") / "run"
    anchored.fit(data, folder, tiny.encoder_recipe(), show=False)
    return folder


def test_it_reads_both_joints_without_a_label(run: Path, data: Path) -> None:
    dataset = open_dataset(data)
    estimator = Estimator.load(run)
    assert estimator.run.method == "anchored"
    rows = dataset.frames("test-id").index
    found, angles = estimator.coordinates(dataset.read_images(rows)), dataset.states("test-id")
    correlations = [abs(np.corrcoef(found[:, k], angles[:, k])[0, 1]) for k in range(2)]
    assert min(correlations) > 0.9
    assert estimator.reconstructions(dataset.read_images(rows[:2])) is None


def test_the_story_names_floors_and_contrasts(run: Path) -> None:
    story = read_json(run / TRAINING_FILE)
    assert story["method"] == "anchored"
    assert story["stages"]["encoder"]["held_out"][-1] < story["stages"]["encoder"]["held_out"][0]
    for joint, curves in story["stages"]["ldr"].items():
        assert curves["floor"] == pytest.approx(tiny.model().bayes_floor(joint))
        assert curves["held_out"][-1] < 0.6
    assert set(story["coordinate_contrast"]) == set(tiny.JOINTS)


def test_its_evaluation_carries_its_name_and_no_reconstruction(run: Path, data: Path, tmp_path: Path) -> None:
    results = evaluate(run, data, tmp_path / "e", occlusions=(0,), show=False)
    assert {row.method for row in results.rows} == {"anchored"}
    assert {row.labels for row in results.rows} == {0}
    with np.load(tmp_path / "e" / "artefacts" / "tiny" / "anchored" / "evaluation.npz") as arrays:
        assert "scatter_angle" in arrays
        assert "ae1" not in arrays


@pytest.mark.parametrize("method", ["ldr", "anchored"])
def test_without_angles_the_weights_are_the_same(method: str, data: Path, tmp_path: Path, monkeypatch) -> None:
    chosen = tiny.encoder_recipe(
        anchor_weight=3.0 * (method == "anchored"), training=Optimisation(epochs=0.3, batch=20, learning_rate=1e-2)
    )
    anchored.fit(data, tmp_path / "full", chosen, method=method, show=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    strip_states(data, tmp_path / "stripped")
    anchored.fit(tmp_path / "stripped", tmp_path / "blind", chosen, method=method, show=False)
    assert tiny.weights(tmp_path / "full") == tiny.weights(tmp_path / "blind")


def test_killed_it_goes_on_to_the_same_weights(data: Path, tmp_path: Path, monkeypatch) -> None:
    chosen = tiny.encoder_recipe(training=Optimisation(epochs=0.5, batch=20, learning_rate=1e-2), alone=0.3)
    anchored.fit(data, tmp_path / "whole", chosen, show=False)
    original = Stage.after_step

    def die(stage: Stage) -> None:
        original(stage)
        if stage.global_step == 7:
            raise MemoryError

    monkeypatch.setattr(training, "_SAVE_EVERY", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(Stage, "after_step", die)
        with pytest.raises(MemoryError):
            anchored.fit(data, tmp_path / "killed", chosen, show=False)
    anchored.fit(data, tmp_path / "killed", chosen, show=False)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")


@pytest.mark.parametrize(("step", "weight"), [(0, 0.0), (10, 0.0), (30, 0.5), (50, 1.0), (100, 1.0)])
def test_anchors_weigh_more_and_more_after_the_warm_up(step: int, weight: float, monkeypatch) -> None:
    chosen = tiny.encoder_recipe()
    stage = EncoderStage(
        ContrastNetwork(chosen.encoder, views=1, joints=2),
        chosen.training,
        steps=100,
        seed=0,
        anchor_weight=1.0,
        warm_up=10,
        log_prior=torch.zeros(5),
        target=torch.tensor([0, 0, 1, 1]),
        held_out=torch.zeros(1, 5, 1, tiny.SIDE, tiny.SIDE, dtype=torch.uint8),
        gaze_joint=0,
    )
    monkeypatch.setattr(EncoderStage, "global_step", property(lambda _: step))
    assert stage._rise() == pytest.approx(weight)


def test_a_run_that_memorises_ends_with_its_best_weights(data: Path, tmp_path: Path, monkeypatch) -> None:
    """Held-out loss is made to rise from the third record on."""
    seen: list[dict[str, torch.Tensor]] = []

    def rising(logits: torch.Tensor, regime: torch.Tensor, log_prior: torch.Tensor) -> torch.Tensor:
        return regime_loss(logits, regime, log_prior) + (0.0 if logits.requires_grad else 10.0 * abs(len(seen) - 2))

    def look(stage: EncoderStage) -> dict[str, float]:
        seen.append({name: weight.clone() for name, weight in stage.network.state_dict().items()})
        return original(stage)

    original = EncoderStage.evaluate
    monkeypatch.setattr(encoder_stage, "regime_loss", rising)
    monkeypatch.setattr(EncoderStage, "evaluate", look)
    anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(), show=False)
    curves = read_json(tmp_path / "run" / TRAINING_FILE)["stages"]["encoder"]
    assert len(curves["steps"]) == len(seen) < 16
    kept = load_file(tmp_path / "run" / "encoder" / WEIGHTS)
    assert all(torch.equal(kept[name], weight) for name, weight in seen[1].items())
    assert not all(torch.equal(kept[name], weight) for name, weight in seen[-1].items())


def test_a_recipe_of_the_other_method_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="method ldr cannot have an anchor weight of 3"):
        anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(), method="ldr", show=False)
    assert not (tmp_path / "run").exists()


def test_an_anchor_without_one_of_its_regimes_is_named(data: Path) -> None:
    dataset = open_dataset(data)

    class Images:
        anchor = np.array([4] * 5 + [9] * 4)
        regime = np.array([*range(5), *range(4)])

        def __len__(self) -> int:
            return 9

    lacking = dataset.regimes[4]
    assert lacking == Regime("wrist", 2)
    with pytest.raises(
        UserError, match="anchor 9 has no pose under wrist/2; record it, leave the anchor out, or fit with --method ldr"
    ):
        anchored.by_anchor(dataset, Images())  # type: ignore[arg-type]
