import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ropes.methods.training.sampling import EpochShuffle

sizes = st.tuples(st.integers(1, 30), st.integers(1, 40), st.integers(0, 5))


@given(sizes, st.integers(1, 4))
def test_every_epoch_covers_every_sample_once(given_sizes: tuple[int, int, int], epochs: int) -> None:
    n, batch, seed = given_sizes
    order = EpochShuffle(n, batch, seed)
    steps = -(-n * epochs // batch)
    drawn = np.concatenate([order(step) for step in range(steps)])
    assert all(len(order(step)) == batch for step in range(steps))
    for epoch in range(epochs):
        assert sorted(drawn[epoch * n : (epoch + 1) * n]) == list(range(n))


@given(sizes, st.lists(st.integers(0, 50), min_size=1, max_size=6))
def test_step_order_depends_only_on_the_step(given_sizes: tuple[int, int, int], steps: list[int]) -> None:
    one = EpochShuffle(*given_sizes)
    for step in steps:
        np.testing.assert_array_equal(one(step), EpochShuffle(*given_sizes)(step))


def test_epochs_and_seeds_have_different_orders() -> None:
    order = EpochShuffle(50, 50, 0)
    assert list(order(0)) != list(order(1))
    assert list(order(0)) != list(EpochShuffle(50, 50, 1)(0))
