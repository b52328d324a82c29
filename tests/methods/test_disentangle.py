"""Which joint's score difference meets which row of the identity, however AE2s and rows are dealt out."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from ropes.causal.scm import Regime
from ropes.methods.ropes.codes import Codes
from ropes.methods.ropes.disentangle import AE2Trainer
from ropes.methods.ropes.stages import AE2Stage
from ropes.methods.training.initial_weights import seeded
from ropes.models.autoencoder import Standardise
from ropes.models.density_ratio import LDR, score_difference, softplus_copy
from tests import tiny

POSES = 24


class Line(torch.nn.Module):
    """A log density ratio whose score difference is `slope` everywhere."""

    def __init__(self, slope: torch.Tensor) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        return (codes * self.slope).flatten(1).sum(1)


def batches(name: str, **changes: Any) -> tuple[list[torch.Tensor], list[Any]]:
    """The slopes of both joints, and the first four batches of AE2 `name`."""
    slopes, taken, _ = begun(name, **changes)
    return slopes, taken


def begun(
    name: str, *, digested: list[str] | None = None, ratios: Sequence[torch.nn.Module] | None = None, **changes: Any
) -> tuple[list[torch.Tensor], list[Any], AE2Stage]:
    """The slopes of both joints, the first four batches of AE2 `name`, and its stage; what is digested is appended."""
    recipe = tiny.recipe(**changes)
    slopes = list(torch.randn(2, 2, 8, 8, generator=torch.Generator().manual_seed(0)))
    values = torch.rand(POSES, 2, 8, 8, generator=torch.Generator().manual_seed(1))
    codes = Codes(values, np.zeros(POSES, dtype=np.int64), (Regime(),))
    scale = Standardise(2)
    scale.fit(values)
    taken: list[Any] = []
    stages: list[AE2Stage] = []

    def train(stage: AE2Stage, batch_at: Any, *_: Any, **__: Any) -> dict[str, Any]:
        stages.append(stage)
        taken.extend(batch_at(step) for step in range(4))
        return {}

    run = SimpleNamespace(joints=tiny.JOINTS, cameras=tiny.CAMERAS)
    device = torch.device("cpu")
    given = {"run": run, "recipe": recipe, "device": device, "show": False, "train": train}

    def digest(*parts: object) -> str:
        if digested is not None:
            digested.append(repr(parts))
        return ""

    def store_once(*_: object) -> str:
        """Stores nothing."""
        return ""

    context: Any = SimpleNamespace(**given, seed=lambda *names: 0, digest=digest, store_once=store_once)
    lines: list[torch.nn.Module] = [Line(slope).eval() for slope in slopes]
    AE2Trainer(context, codes, codes, lines if ratios is None else [*ratios], scale, []).train(name, 1.0)
    return slopes, taken, stages[0]


def test_objective_is_the_sum_of_its_terms() -> None:
    given: dict[str, Any] = {"joint_ae2": True, "sparsity_rows": 0}
    _, (batch, *_), first = begun("joint", sparsity_start=0.5, **given)
    codes, _, _, logits = batch
    decoded = first.network.decode(first.network.encode(codes))
    error = functional.mse_loss(decoded, codes)
    torch.testing.assert_close(first.training_step(batch, 0), error)  # λ counts from half of the steps on
    _, _, whole = begun("joint", **given)
    sparsity = whole.training_step(batch, 0) - error
    assert sparsity.item() > 0
    slopes, _, also = begun("joint", decoded_logit_weight=2.0, **given)
    found = torch.stack([(decoded * slope).flatten(1).sum(1) for slope in slopes], dim=1)
    expected = error + sparsity + 2 * functional.mse_loss(found, logits)
    torch.testing.assert_close(also.training_step(batch, 0), expected)


def test_hidden_layers_are_part_of_the_network_and_of_its_digest() -> None:
    given: dict[str, Any] = {"joint_ae2": True, "sparsity_rows": 0, "basis": "codes", "directions": 7}
    digested: list[str] = []
    for layers in (2, 3):
        _, _, stage = begun("joint", digested=digested, dense_layers=layers, **given)
        for network in (stage.network.encoder, stage.network.decoder):
            assert sum(isinstance(part, torch.nn.Linear) for part in network.children()) == layers + 1
    of_directions, two, same, three = digested
    assert of_directions == same
    assert two != three


def test_score_differences_are_smoothed_and_logits_are_not() -> None:
    ratios = [seeded(seed, lambda: LDR(tiny.recipe().ldr, views=2)).eval() for seed in (1, 2)]
    given: dict[str, Any] = {"joint_ae2": True, "sparsity_rows": 0, "ratios": ratios}
    _, taken, _ = begun("joint", softplus_beta=5.0, **given)
    for codes, scores, _, logits in taken:
        for k, ratio in enumerate(ratios):
            torch.testing.assert_close(scores[k], score_difference(softplus_copy(ratio, 5.0), codes))
            assert not torch.allclose(scores[k], score_difference(ratio, codes))
            torch.testing.assert_close(logits[:, k], ratio(codes))


@pytest.mark.parametrize(("basis", "same"), [("codes", True), ("scores", False)])
def test_smoothing_is_part_of_the_digests_that_depend_on_it(basis: str, same: bool) -> None:
    digested: list[str] = []
    for beta in (0.0, 5.0):
        begun("joint", digested=digested, joint_ae2=True, basis=basis, softplus_beta=beta)
    of_directions, ae2, of_smoothed_directions, smoothed_ae2 = digested
    assert (of_directions == of_smoothed_directions) == same
    assert ae2 != smoothed_ae2


def test_directional_derivatives_keep_rows_with_fewer_numbers() -> None:
    given: dict[str, Any] = {"joint_ae2": True, "sparsity_rows": 0}
    _, plain = batches("joint", **given)
    _, along = batches("joint", basis="codes", directions=7, **given)
    for (codes, scores, targets, logits), (few, fewer, same, told) in zip(plain, along, strict=True):
        assert few.shape == (len(codes), 7)
        assert fewer.shape == (len(scores), len(codes), 7)
        torch.testing.assert_close(same, targets)
        torch.testing.assert_close(told, logits)  # of codes as they are


@pytest.mark.parametrize(
    ("name", "changes", "rows"),
    [
        ("joint", {"joint_ae2": True, "sparsity_rows": 1}, [[0], [1], [0], [1]]),
        ("joint", {"joint_ae2": True, "sparsity_rows": 0}, [[0, 1]] * 4),
        ("elbow", {"joint_ae2": False}, [[0]] * 4),
        ("wrist", {"joint_ae2": False}, [[1]] * 4),
    ],
)
def test_each_score_difference_is_matched_to_its_own_joint(
    name: str, changes: dict[str, Any], rows: list[list[int]]
) -> None:
    slopes, taken = batches(name, **changes)
    own = [tiny.JOINTS.index(name)] if name in tiny.JOINTS else [0, 1]
    for (codes, scores, targets, logits), joints in zip(taken, rows, strict=True):
        torch.testing.assert_close(targets, torch.eye(2)[joints])
        for score, joint in zip(scores, joints, strict=True):
            torch.testing.assert_close(score, slopes[joint].expand_as(codes))
        expected = torch.stack([(codes * slopes[joint]).flatten(1).sum(1) for joint in own], dim=1)
        torch.testing.assert_close(logits, expected)
