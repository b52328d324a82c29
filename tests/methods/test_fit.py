"""The whole fit on a tiny data set: the same weights from the same inputs, whatever happened on the way."""

import dataclasses
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common.files import read_json
from ropes.data.batches import ImageBatch
from ropes.data.layout import copy_without_labels
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes import disentangle
from ropes.methods.ropes import fit as ropes
from ropes.methods.ropes.stages import AE1Stage, AE2Stage, LDRStage
from ropes.methods.run import TRAINING_FILE
from ropes.methods.training.loop import CHECKPOINT
from ropes.methods.training.stage import Stage
from ropes.models.dense import Directions
from tests import tiny
from tests.kills import Killed, killed, patched_steps

Refit = Callable[..., Any]


def stages_trained(patch: pytest.MonkeyPatch) -> list[str]:
    """Names of the stages that take at least one step from now on."""
    trained: list[str] = []
    original = Stage.on_train_start

    def on_train_start(self: Stage) -> None:
        original(self)
        trained.append(type(self).__name__)

    patch.setattr(Stage, "on_train_start", on_train_start)
    return trained


@pytest.mark.slow
def test_the_same_inputs_give_the_same_weights(tiny_run: Path, tmp_path: Path, refit: Refit) -> None:
    refit(tmp_path / "run")
    assert tiny.weights(tmp_path / "run") == tiny.weights(tiny_run)
    assert list(tiny.weights(tiny_run)) == [
        f"{stage}/weights.safetensors" for stage in ("ae1", "ae2/joint", "ldr/elbow", "ldr/wrist")
    ]


@pytest.mark.slow
def test_another_seed_gives_other_weights(tiny_run: Path, tmp_path: Path, refit: Refit) -> None:
    refit(tmp_path / "run", seed=1)
    ours, theirs = tiny.weights(tmp_path / "run"), tiny.weights(tiny_run)
    assert all(ours[name] != theirs[name] for name in ours)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), [(AE1Stage, 1), (AE1Stage, 4), (LDRStage, 4), (AE2Stage, 4), (AE2Stage, 6)])
def test_fit_killed_in_a_stage_resumes_to_the_same_weights(
    kind: type[Stage], step: int, tiny_run: Path, tmp_path: Path, refit: Refit
) -> None:
    with killed(kind, step):
        refit(tmp_path / "run")
    assert not (tmp_path / "run" / TRAINING_FILE).exists()
    seen: list[int] = []
    with patched_steps(lambda stage: seen.append(stage.global_step)):
        refit(tmp_path / "run")
    assert seen[0] == step  # it went on where it stopped
    assert tiny.weights(tmp_path / "run") == tiny.weights(tiny_run)
    assert training_summary(tmp_path / "run") == training_summary(tiny_run)
    assert not list((tmp_path / "run").rglob(CHECKPOINT))


def training_summary(run: Path) -> Any:
    """training.json but for the seconds."""
    summary = read_json(run / TRAINING_FILE)
    del summary["provenance"]["seconds"]
    return summary


@pytest.mark.slow
def test_fit_killed_between_last_step_and_weights_resumes(
    tiny_run: Path, tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: Stage) -> None:
        raise Killed

    with monkeypatch.context() as patch, patched_steps(lambda stage: None):
        patch.setattr(LDRStage, "finish", die)
        with pytest.raises(Killed):
            refit(tmp_path / "run")
    trained = stages_trained(monkeypatch)
    refit(tmp_path / "run")
    assert tiny.weights(tmp_path / "run") == tiny.weights(tiny_run)
    assert "AE1Stage" not in trained


@pytest.mark.slow
def test_fit_killed_while_writing_a_checkpoint_resumes(tiny_run: Path, tmp_path: Path, refit: Refit) -> None:
    run = tmp_path / "run"
    with killed(AE1Stage, 3):
        refit(run)
    leftovers = [run / "ae1" / name for name in (f".{CHECKPOINT}.abc.part", ".tmpf00Bar")]
    for leftover in leftovers:
        leftover.write_bytes(b"half")
    refit(run)
    assert not any(leftover.exists() for leftover in leftovers)
    assert tiny.weights(run) == tiny.weights(tiny_run)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_the_current_step(number: int, tiny_run: Path, tmp_path: Path, refit: Refit) -> None:
    def send(stage: Stage) -> None:
        if isinstance(stage, LDRStage) and stage.global_step == 3:
            signal.raise_signal(number)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    run, before = tmp_path / "run", signal.signal(number, interrupt)
    try:
        with patched_steps(send), pytest.raises(KeyboardInterrupt):
            refit(run)
    finally:
        signal.signal(number, before)
    assert (run / "ldr" / "elbow" / CHECKPOINT).exists()
    refit(run)
    assert tiny.weights(run) == tiny.weights(tiny_run)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, so that images are decoded from its data, not found as `tiny_run` left them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ropes"


@pytest.mark.slow
def test_weights_are_the_same_without_labels_in_the_data(
    tiny_run: Path, tiny_data: Path, own_cache: Path, tmp_path: Path, refit: Refit
) -> None:
    copy_without_labels(tiny_data, tmp_path / "stripped")
    assert not own_cache.exists()
    refit(tmp_path / "run", data=tmp_path / "stripped")
    assert len(list(own_cache.glob("*-train-*.npy"))) == 1
    assert tiny.weights(tmp_path / "run") == tiny.weights(tiny_run)
    assert training_summary(tmp_path / "run") == training_summary(tiny_run)


@pytest.mark.slow
def test_wrong_labels_in_the_data_change_nothing(tiny_run: Path, own_cache: Path, tmp_path: Path, refit: Refit) -> None:
    def lie(states: dict[str, Any]) -> None:
        for split in states:
            states[split] = np.full_like(states[split], 99.0)

    refit(tmp_path / "run", data=tiny.write_data(tmp_path / "lies", change=lie))
    assert len(list(own_cache.glob("*-train-*.npy"))) == 1
    assert tiny.weights(tmp_path / "run") == tiny.weights(tiny_run)


def test_the_training_batch_has_no_field_for_angles() -> None:
    assert [field.name for field in dataclasses.fields(ImageBatch)] == ["images", "regime", "anchor"]


def test_finished_run_is_not_trained_again(own_run: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch) -> None:
    trained, before = stages_trained(monkeypatch), tiny.tree(own_run)
    times = (own_run / TRAINING_FILE).stat().st_mtime_ns
    refit(own_run)
    assert trained == []
    assert tiny.tree(own_run) == before
    assert (own_run / TRAINING_FILE).stat().st_mtime_ns == times


FASTER = Optimisation(epochs=4, batch=40, learning_rate=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "stages"),
    [
        ({"ae2_training": FASTER}, ["AE2Stage"]),
        ({"sparsity_weights": (2.0,)}, ["AE2Stage"]),
        ({"softplus_beta": 5.0}, ["AE2Stage"]),
        ({"ldr_training": FASTER}, ["LDRStage", "LDRStage", "AE2Stage"]),
        ({"ae1_training": FASTER}, ["AE1Stage", "LDRStage", "LDRStage", "AE2Stage"]),
    ],
)
def test_changed_setting_retrains_its_stage_and_later_stages(
    change: dict[str, Any], stages: list[str], own_run: Path, tiny_run: Path, refit: Refit
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        trained = stages_trained(patch)
        refit(own_run, **change)
    assert trained == stages
    changed = [name for name, digest in tiny.weights(own_run).items() if tiny.weights(tiny_run)[name] != digest]
    assert len(changed) == len(stages)


@pytest.mark.slow
def test_changed_run_equals_a_fresh_run(own_run: Path, tmp_path: Path, refit: Refit) -> None:
    refit(own_run, ldr_training=FASTER)
    refit(tmp_path / "fresh", ldr_training=FASTER)
    assert tiny.weights(own_run) == tiny.weights(tmp_path / "fresh")


@pytest.mark.slow
def test_ae2_resumes_in_its_first_directions(tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch) -> None:
    """On another processor rounding may turn the sign of a principal direction."""
    refit(tmp_path / "whole", basis="whitened")
    with killed(AE2Stage, 4):
        refit(tmp_path / "run", basis="whitened")
    original = Directions.of

    def turned(*given: Any) -> Directions:
        directions = original(*given)
        directions.load_state_dict({name: -value for name, value in directions.state_dict().items()})
        return directions

    monkeypatch.setattr(Directions, "of", turned)
    refit(tmp_path / "run", basis="whitened")
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "whole")
    refit(tmp_path / "run", basis="whitened")  # finished already: only the summary is made again
    assert training_summary(tmp_path / "run") == training_summary(tmp_path / "whole")


@pytest.mark.slow
def test_missing_weights_are_trained_again(own_run: Path, tiny_run: Path, refit: Refit) -> None:
    (own_run / "ldr" / "wrist" / "weights.safetensors").unlink()
    refit(own_run)
    assert tiny.weights(own_run) == tiny.weights(tiny_run)


@pytest.mark.slow
def test_separate_ae2_is_trained_per_joint(tmp_path: Path, refit: Refit) -> None:
    refit(tmp_path / "run", joint_ae2=False)
    names = [name for name in tiny.weights(tmp_path / "run") if name.startswith("ae2")]
    assert names == ["ae2/elbow/weights.safetensors", "ae2/wrist/weights.safetensors"]
    summary = read_json(tmp_path / "run" / TRAINING_FILE)
    assert list(summary["stages"]["ae2"]) == ["elbow", "wrist"]
    assert np.array(summary["sparsity_matrix"]).shape == (2, 2)


@pytest.mark.slow
@pytest.mark.parametrize("best", [0.1, 10.0])
def test_sparsity_weight_with_the_lowest_held_out_contrast_is_chosen(
    best: float, tmp_path: Path, refit: Refit, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidates, asked = (0.1, 1.0, 10.0), list[int]()

    def contrasts(network: Any, codes: Any, columns: dict[str, int]) -> dict[str, float]:
        asked.append(len(codes.values))
        weight = candidates[len(asked) - 1] if len(asked) <= 3 else best
        return dict.fromkeys(columns, 0.4 if weight == best else 0.6)

    monkeypatch.setattr(disentangle, "held_out_contrasts", contrasts)
    refit(tmp_path / "run", sparsity_weights=candidates, search_share=0.5)
    summary = read_json(tmp_path / "run" / TRAINING_FILE)
    assert summary["sparsity_weight"] == best
    assert summary["search"] == {f"{weight:g}": 0.4 if weight == best else 0.6 for weight in candidates}
    assert summary["coordinate_contrast"] == {"elbow": 0.4, "wrist": 0.4}
    assert set(asked) == {4 * 5}  # the poses of the held-out anchors, a quarter of 16
    assert len(read_json(tmp_path / "run" / "search" / "lambda-0.1" / "joint" / "stage.json")["history"]["steps"]) == 3


def test_training_summary_contains_what_the_report_shows(tiny_run: Path) -> None:
    summary = read_json(tiny_run / TRAINING_FILE)
    assert (summary["setup"], summary["seed"], summary["joints"]) == ("tiny", 0, list(tiny.JOINTS))
    stages = summary["stages"]
    assert set(stages["ae1"]) == {"steps", "loss", "held_out", "dead_fraction"}
    floor = tiny.model().bayes_floor("elbow")
    for joint in tiny.JOINTS:
        found = stages["ldr"][joint]
        assert set(found) == {"steps", "train", "held_out", "floor", "best"}
        assert found["floor"] == pytest.approx(floor)
        assert found["best"] == min(found["held_out"])
    assert {"steps", "loss", "reconstruction", "sparsity"} <= set(stages["ae2"]["joint"])
    assert all(len(curve) == 6 for curve in stages["ae1"].values())
    assert summary["provenance"]["anchors"] == 16
    assert summary["provenance"]["poses"] == 80


@pytest.mark.slow
def test_memorised_poses_print_a_warning(
    tmp_path: Path, refit: Refit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ropes, "MEMORISED", -1.0)
    refit(tmp_path / "run")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("ropes: warning: elbow: the density ratio ended at 0.")
    assert "below the Bayes floor of 0.229: it memorised them" in lines[0]


@pytest.mark.slow
def test_floor_is_absent_without_known_distributions(tmp_path: Path, refit: Refit) -> None:
    refit(tmp_path / "run", data=tiny.write_data(tmp_path / "others", tests=0, described=False))
    summary = read_json(tmp_path / "run" / TRAINING_FILE)
    assert (summary["setup"], summary["stages"]["ldr"]["elbow"]["floor"]) == ("others", None)
