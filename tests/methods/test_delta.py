"""Fits that tell actions: of drawn pairs, gone on with, refused; measured on every split."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ropes.cli import entry as cli
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.actions import evaluate_actions
from ropes.evaluation.record import is_current
from ropes.methods.delta.fit import encoder_of
from ropes.methods.delta.stage import DeltaStage
from ropes.methods.fit import fit
from ropes.methods.recipes import DeltaRecipe, Optimisation, recipe_from_dict
from ropes.methods.registry import methods_of, recipe_of
from ropes.methods.run import Run
from ropes.methods.training.registration import write_registration
from ropes.methods.weights import weights_digest
from ropes.models.delta import DeltaNetwork, Reading
from ropes.models.delta_shape import DeltaConfig
from ropes.models.registration import Registration
from ropes.models.registry import find_run
from ropes.simulation.actions import SPLITS, TRAIN, VALIDATION
from tests import tiny
from tests.kills import killed, patched_steps
from tests.tiny_pairs import SIDE, recipe, write_pairs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    counts = {TRAIN: 64} | dict.fromkeys(SPLITS[1:], 24)
    return write_pairs(tmp_path_factory.mktemp("drawn") / "data", counts)


@pytest.mark.slow
@pytest.mark.parametrize("method", methods_of("actions"))
def test_every_delta_method_learns_the_actions(method: str, data: Path, tmp_path: Path) -> None:
    run = fit(data, tmp_path / "run", recipe(method), 1, method=method, show=False)
    assert Run.read(tmp_path / "run") == run
    assert recipe_from_dict(read_json(tmp_path / "run" / "run.json")["recipe"], type(run.recipe)) == run.recipe
    found = evaluate_actions(tmp_path / "run", data, tmp_path / "out", show=False)
    (row,) = found.action_rows
    assert found.fit_rows[0].weights == weights_digest(tmp_path / "run")
    assert is_current(tmp_path / "out", tmp_path / "run")
    assert set(row.accuracy) == set(SPLITS[2:])
    assert min(row.accuracy.values()) > 0.9
    assert row.pairs == dict.fromkeys(SPLITS[2:], 24)
    if method.startswith("cde"):
        assert row.cosines["antonyms"] < -0.9
    with np.load(next((tmp_path / "out").rglob("deltas.npz"))) as stored:
        assert stored["cosines"].shape == (2, 2)
        assert stored["test-iid_images"].shape == (6, 2, SIDE, SIDE, 3)
        assert stored["test-comp_patches"].shape[0] == 6


def test_fit_is_deterministic_and_skips_a_finished_run(data: Path, tmp_path: Path) -> None:
    short = recipe("cde-patch", training=Optimisation(epochs=1, batch=16, learning_rate=1e-3))
    for name in ("one", "two"):
        fit(data, tmp_path / name, short, 3, method="cde-patch", show=False)
    weights = [(tmp_path / name / "delta" / "weights.safetensors") for name in ("one", "two")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    before = weights[0].stat().st_mtime_ns
    fit(data, tmp_path / "one", short, 3, method="cde-patch", show=False)
    assert weights[0].stat().st_mtime_ns == before


@pytest.mark.parametrize(("method", "step"), [("cde-global", 1), ("cde-patch", 5), ("icm", 4)])
def test_killed_fit_resumes_to_the_same_weights(method: str, step: int, data: Path, tmp_path: Path) -> None:
    short = recipe(method, training=Optimisation(epochs=2, batch=16, learning_rate=1e-3))
    refit = partial(fit, data, recipe=short, seed=3, method=method, show=False)
    refit(tmp_path / "whole")
    with killed(DeltaStage, step):
        refit(tmp_path / "run")
    seen: list[int] = []
    with patched_steps(lambda stage: seen.append(stage.global_step)):
        refit(tmp_path / "run")
    assert seen[0] == step  # it went on where it stopped
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "whole")


def test_training_crops_images_and_evaluation_uses_whole_images(data: Path, tmp_path: Path) -> None:
    seen: dict[bool, list[Tensor]] = {True: [], False: []}
    forward = DeltaNetwork.forward

    def noted(self: DeltaNetwork, before: Tensor, after: Tensor) -> Reading:
        seen[self.training].append(before)
        return forward(self, before, after)

    def levels(crop: float) -> list[bool]:
        for kind in seen.values():
            kind.clear()
        short = recipe("cde-global", crop=crop, training=Optimisation(epochs=1, batch=16, learning_rate=1e-3))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(DeltaNetwork, "forward", noted)
            fit(data, tmp_path / f"{crop}", short, 0, method="cde-global", show=False)
        # Of whole images every level is one of 256.
        return [all(torch.equal(image, image.mul(255).round() / 255) for image in seen[kind]) for kind in (True, False)]

    assert levels(1.0) == [True, True]
    assert levels(0.5) == [False, True]


def test_pairs_are_held_out_without_a_validation_split(tmp_path: Path, cache_home: Path) -> None:
    own = write_pairs(tmp_path / "data", {TRAIN: 40})
    short = recipe("cde-global", val_fraction=0.25, training=Optimisation(epochs=1, batch=16, learning_rate=1e-3))
    fit(own, tmp_path / "run", short, 0, method="cde-global", show=False)
    assert read_json(tmp_path / "run" / "training.json")["planned_steps"] == round(30 / 16)


def test_unsuitable_training_data_is_reported(data: Path, tmp_path: Path, finger_data: Path) -> None:
    def refused(of: Path, word: str, **changes: object) -> None:
        with pytest.raises(UserError, match=word):
            fit(of, tmp_path / "run", recipe("cde-global", **changes), 0, method="cde-global", show=False)
        assert not (tmp_path / "run").exists()

    refused(finger_data, "has no actions")
    gone = replace(recipe("cde-global").delta, checkpoint=str(tmp_path / "gone"))
    refused(data, "no backbone can be read from", delta=gone)
    refused(data, "method cde-global has no blocks", blocks=1.0)
    refused(write_pairs(tmp_path / "one-verb", {TRAIN: 8, VALIDATION: 4}, only=0), r"have 1 verb \(fill\)")
    refused(write_pairs(tmp_path / "few", {TRAIN: 2, VALIDATION: 4}), "has 1 training pair; the contrastive loss")
    refused(
        write_pairs(tmp_path / "triples", {TRAIN: 8}, tasks=(0, 0, 0)), "episode 0 has 3 images instead of one before"
    )


def test_incompatible_pose_encoders_are_reported(data: Path, tmp_path: Path) -> None:
    def refused(word: str, checkpoint: str | Path = "panda-2c", side: int = 128, of: Any = None) -> None:
        config = DeltaConfig(backbone="pose", checkpoint=str(checkpoint), image_size=side)
        with pytest.raises(UserError, match=word):
            encoder_of(config, of or arm)

    packaged = find_run(Path("panda-2c"))
    cameras = Run.read(packaged).cameras
    arm: Any = SimpleNamespace(cameras=cameras, image_shape=(128, 128), path="arm")
    refused("reads images of 128 pixels; give --delta.image-size 128", side=64)
    refused("images in colour of front", of=open_dataset(data))
    refused("images of front", of=SimpleNamespace(cameras=("front",), image_shape=(128, 128), path="arm"))
    refused("did you mean panda-2c", "panda-3c")
    recorded = shutil.copytree(packaged, tmp_path / "recorded")
    summary = read_json(recorded / "training.json")
    write_json(recorded / "training.json", {**summary, "registered": True})
    write_registration(recorded, Registration(len(cameras), 128))
    refused("reads registered frames.*fitted with --no-registration", recorded)
    copy = shutil.copytree(packaged, tmp_path / "copy")
    (copy / "training.json").unlink()
    refused("unfinished", copy)
    short = recipe("sms", training=Optimisation(epochs=0.5, batch=16, learning_rate=1e-3))
    fit(data, tmp_path / "run", short, 0, method="sms", show=False)
    refused("run of sms, which has no pose encoder", tmp_path / "run")


def test_evaluation_refuses_other_images_and_inapplicable_options(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grey = tmp_path / "grey"
    tiny.write_data(grey, anchors=4, tests=2)
    short = recipe("sms", training=Optimisation(epochs=0.5, batch=16, learning_rate=1e-3))
    fit(data, tmp_path / "run", short, 0, method="sms", show=False)
    bare = write_pairs(tmp_path / "bare", {TRAIN: 8})
    with pytest.raises(UserError, match="has no test split of actions"):
        evaluate_actions(tmp_path / "run", bare, tmp_path / "out", show=False)
    with pytest.raises(UserError, match="has other images; the run reads colour ones of front"):
        evaluate_actions(tmp_path / "run", grey, tmp_path / "out", show=False)
    words = ["evaluate", str(tmp_path / "run"), "--data", str(data), "--out", str(tmp_path / "out")]
    others = ["--photographs", "finger_real.npz"], ["--out-of-distribution", str(grey)]
    said = ["--seed", "0"], ["--occlusions", "0", "16", "32", "64"]  # what is given is given, be it the default
    for further in (["--seed", "1"], ["--occlusions", "16"], ["--factors"], *said, *others):
        assert cli.main([*words, *further]) == 2
        assert "predicts actions and is tested on all pairs; leave" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert len(open_dataset(bare).actions) == 4


def test_recipes_match_the_paper() -> None:
    for method in ("cde-global", "cde-patch"):
        for preset in ("compact", "paper"):
            found = recipe_of(method, preset)
            assert isinstance(found, DeltaRecipe)
            assert (found.contrast, found.sparsity) == (2.0, 1.0)
    plain = recipe_of("plain-vit", "compact")
    assert isinstance(plain, DeltaRecipe)
    assert plain.delta == DeltaConfig()
    assert not any((plain.contrast, plain.sparsity, plain.independence, plain.blocks))


@pytest.mark.parametrize(("method", "term"), [("cde-patch", "blocks"), ("sms", "independence")])
def test_inapplicable_loss_terms_are_refused(method: str, term: str, data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"leave --{term} at 0"):
        fit(data, tmp_path / "run", recipe(method, **{term: 0.5}), 0, method=method, show=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [({"contrast": -1.0}, "contrast"), ({"temperature": 0.0}, "temperature"), ({"crop": 0.0}, "crop")],
)
def test_loss_weights_out_of_range_are_refused(change: dict[str, float], word: str) -> None:
    with pytest.raises(UserError, match=word):
        recipe("cde-global", **change)


def test_run_identifies_its_checkpoint_by_content(data: Path, tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTModel

    def save(folder: Path, seed: int) -> Path:
        torch.manual_seed(seed)
        config = ViTConfig(
            image_size=SIDE,
            patch_size=4,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
        ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
        return folder

    def fitted(checkpoint: Path) -> dict[str, str]:
        begun = recipe("cde-global", training=Optimisation(epochs=0.5, batch=16, learning_rate=1e-3))
        begun = replace(begun, delta=replace(begun.delta, checkpoint=str(checkpoint)))
        fit(data, tmp_path / "run", begun, 0, method="cde-global", show=False)
        return tiny.tree(tmp_path / "run")

    before = fitted(save(tmp_path / "home-of-somebody" / "vit", 0))
    assert not [name for name in before if b"home-of-somebody" in (tmp_path / "run" / name).read_bytes()]
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "home-of-somebody" / "vit", tmp_path / "elsewhere" / "vit")
    assert fitted(tmp_path / "elsewhere" / "vit") == before
    assert fitted(save(tmp_path / "other" / "vit", 1)) != before
    shutil.rmtree(tmp_path / "other")
    evaluate_actions(tmp_path / "run", data, tmp_path / "out", show=False)
