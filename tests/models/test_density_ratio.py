import pytest
import torch

from ropes.models.density_ratio import LDR, score_difference, softplus_copy
from ropes.models.shapes import LDRConfig
from tests.tiny import count_weights


def conv(i: int, o: int) -> int:
    return 9 * i * o + o


@pytest.mark.parametrize(("views", "total"), [(1, 158_465), (2, 158_753)])
def test_ldr_has_the_number_of_weights_of_table_4(views: int, total: int) -> None:
    flat = 128 * 2 * 2  # unpadded: 8 → 6 → 4 → 2
    by_hand = conv(views, 32) + conv(32, 64) + conv(64, 128) + flat * 128 + 128 + 128 + 1
    assert count_weights(LDR(LDRConfig(), views=views)) == by_hand == total


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("batch", [1, 5])
def test_ldr_returns_one_logit_per_pose(views: int, batch: int) -> None:
    assert LDR(LDRConfig(), views=views)(torch.randn(batch, views, 8, 8)).shape == (batch,)


def small(seed: int = 0, *, others: bool = False) -> LDR:
    torch.manual_seed(seed)
    return LDR(LDRConfig(widths=(3, 4, 5), hidden=6, dropout=0.5, others=others), views=2).eval()


def test_three_class_ldr_keeps_the_two_policy_logit() -> None:
    ratio, codes = small(others=True), torch.randn(7, 2, 8, 8)
    chances = ratio.kinds(codes).softmax(1)
    assert chances.shape == (7, 3)
    torch.testing.assert_close(ratio(codes), (chances[:, 0] / chances[:, 1]).log())


def test_score_difference_matches_finite_differences() -> None:
    ratio = small().double()
    codes = torch.randn(3, 2, 8, 8, dtype=torch.float64)
    score = score_difference(ratio, codes)
    assert score.shape == codes.shape
    step = 1e-6
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        direction = torch.randn(codes.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            change = (ratio(codes + step * direction) - ratio(codes - step * direction)) / (2 * step)
        torch.testing.assert_close((score * direction).sum((1, 2, 3)), change, rtol=1e-5, atol=1e-8)


def test_smoothed_ratio_has_nearly_the_same_logits_and_a_gradient_without_jumps() -> None:
    ratio, codes = small(others=True).double(), torch.randn(200, 2, 8, 8, dtype=torch.float64)
    copy = softplus_copy(ratio, 50.0)
    apart = [(softplus_copy(ratio, beta)(codes) - ratio(codes)).abs().max().item() for beta in (5.0, 50.0, 500.0)]
    assert apart[0] > 5 * apart[1] > 25 * apart[2] > 0
    step = 1e-3 * torch.randn_like(codes)
    jumps = [
        (score_difference(each, codes + step) - score_difference(each, codes)).flatten(1).norm(dim=1)
        for each in (ratio, copy)
    ]
    assert (jumps[0] == 0).any()  # piecewise constant
    assert jumps[0].max() > 2 * jumps[1].max() > 0


def test_smoothing_leaves_the_ratio_as_it_is() -> None:
    ratio, codes = small(), torch.randn(3, 2, 8, 8)
    before = ratio(codes)
    softplus_copy(ratio, 10.0)
    torch.testing.assert_close(ratio(codes), before, rtol=0, atol=0)
    assert softplus_copy(ratio, 0.0) is ratio


def test_score_does_not_depend_on_the_batch() -> None:
    ratio, codes = small(), torch.randn(4, 2, 8, 8)
    together = score_difference(ratio, codes)
    alone = torch.cat([score_difference(ratio, code[None]) for code in codes])
    torch.testing.assert_close(together, alone)


def test_scores_are_detached_and_leave_no_gradient() -> None:
    ratio, codes = small(), torch.randn(2, 2, 8, 8, requires_grad=True)
    with torch.no_grad():
        score = score_difference(ratio, codes)
    assert not score.requires_grad
    assert score.abs().sum() > 0
    assert codes.grad is None
    assert all(p.grad is None for p in ratio.parameters())


def test_scores_in_training_mode_are_refused() -> None:
    with pytest.raises(ValueError, match="must be in eval mode"):
        score_difference(small().train(), torch.randn(2, 2, 8, 8))
