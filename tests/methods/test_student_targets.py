"""The student learns smoothed targets where its teacher learned from anchors or chains, and only there."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from ropes.common.files import read_json, sha256, write_json
from ropes.common.hardware import RequestedPrecision
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored.anchor_poses import AnchoredPoses
from ropes.methods.anchored.chain_poses import ChainPoses
from ropes.methods.context import Context
from ropes.methods.recipes import Optimisation, recipe_to_dict
from ropes.methods.run import Run
from ropes.methods.student import fit as student_fit
from ropes.methods.student.stage import StudentStage
from ropes.methods.training.loop import SUMMARY
from ropes.methods.training.stage import Stage
from ropes.methods.training.steps import BatchAt
from ropes.models.checkpoints import WEIGHTS
from tests import tiny, tiny_chains

STUDENT = Optimisation(epochs=1, batch=20, learning_rate=1e-2)
LDR = {"anchor_weight": 0.0, "anchor_warmup_poses": 75_000, "anchor_warmup_fraction": 0.35}


class _BegunError(Exception):
    """The student's training."""


def begun(data: Path, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[StudentStage, BatchAt, str]:
    """The stage, the batches and the fingerprint with which a fit begins to train its student."""
    train = Context.train

    def stop(
        context: Context, stage: Stage, batch_at: BatchAt, name: str, fingerprint: str, **more: Any
    ) -> Mapping[str, Any]:
        if name == "student":
            raise _BegunError(stage, batch_at, fingerprint)
        return train(context, stage, batch_at, name, fingerprint, **more)

    monkeypatch.setattr(Context, "train", stop)
    with pytest.raises(_BegunError) as found:
        anchored.fit(data, out, show=False, **options)
    stage, batch_at, fingerprint = found.value.args
    return stage, batch_at, fingerprint


def known(_poses: Any, _stage: Any, _joints: Any, kept: torch.Tensor, held: torch.Tensor) -> list[torch.Tensor]:
    return [torch.full_like(kept, 1), torch.full_like(held, 2) + torch.arange(len(held))[:, None]]


def digest_before(out: Path, recipe: Any, precision: RequestedPrecision = "auto") -> str:
    """The fingerprint of a student whose targets are the teacher's coordinates."""
    context = Context.begin(Run.read(out), out, precision=precision, show=False)
    weights = sha256(out / "encoder" / WEIGHTS)
    return context.digest("student", weights, recipe.foreign, recipe_to_dict(recipe.student), 4)


def test_targets_of_anchors_are_smoothed(
    many_anchors: Path, anchored_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnchoredPoses, "smooth", known)
    out = Path(shutil.copytree(anchored_run, tmp_path / "run"))
    recipe = tiny.encoder_recipe(foreign=0.5, student=STUDENT)
    stage, batch_at, fingerprint = begun(many_anchors, out, monkeypatch, recipe=recipe)
    assert (batch_at(0)[1] == 1).all()
    held_out = stage.held_out[1]
    assert (held_out >= 2).all()
    assert len(held_out.unique()) == len(held_out)  # rows are chosen after the smoothing
    assert fingerprint != digest_before(out, recipe)


def test_targets_of_chains_are_smoothed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ChainPoses, "smooth", known)
    data = tiny_chains.write_data(tmp_path / "data", chains=12)
    recipe = tiny.encoder_recipe(foreign=0.5, student=STUDENT, training=STUDENT)
    stage, batch_at, _ = begun(data, tmp_path / "run", monkeypatch, recipe=recipe)
    assert (batch_at(0)[1] == 1).all()
    assert (stage.held_out[1] >= 2).all()


def test_targets_without_anchors_are_as_before(
    many_anchors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe, out = tiny.encoder_recipe(foreign=0.5, student=STUDENT, training=STUDENT, **LDR), tmp_path / "run"
    # In float32, in which no two coordinates are equal.
    _, batch_at, fingerprint = begun(many_anchors, out, monkeypatch, recipe=recipe, method="ldr", precision="32-true")
    assert len(batch_at(0)[1].unique()) == batch_at(0)[1].numel()
    assert fingerprint == digest_before(out, recipe, "32-true")


@pytest.mark.slow
def test_finished_student_needs_no_targets(
    many_anchors: Path,
    anchored_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = Path(shutil.copytree(anchored_run, tmp_path / "run"))
    recipe = tiny.encoder_recipe(foreign=0.5, student=STUDENT)
    anchored.fit(many_anchors, out, recipe, show=False)
    before, summary = tiny.weights(out), read_json(out / "student" / SUMMARY)
    write_json(out / "student" / SUMMARY, {**summary, "devices": 3})

    def refuse(*_: Any) -> None:
        raise AssertionError("the teacher reads images again")

    monkeypatch.setattr(student_fit, "teacher_outputs", refuse)
    anchored.fit(many_anchors, out, recipe)
    assert tiny.weights(out) == before
    assert "ropes: student was trained on 3 devices, not on 1" in capsys.readouterr().err
