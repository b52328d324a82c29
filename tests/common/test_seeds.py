import hashlib

from hypothesis import given
from hypothesis import strategies as st

from ropes.common.seeds import generator, integer

names = st.lists(st.one_of(st.text("abc", max_size=3), st.integers(0, 20)), max_size=3)


def test_seed_integers_are_frozen() -> None:
    # Committed results depend on them.
    assert integer(0) == 0x5FECEB66FFC86F38 >> 1  # how the SHA-256 of "0" begins
    digest = hashlib.sha256(b"3/train/7").digest()
    assert integer(3, "train", 7) == int.from_bytes(digest[:8], "big") >> 1


@given(st.integers(0, 2**40), names)
def test_seed_integer_has_63_bits_and_is_deterministic(seed: int, parts: list[str | int]) -> None:
    assert 0 <= integer(seed, *parts) < 2**63
    assert integer(seed, *parts) == integer(seed, *parts)


def test_other_seeds_and_names_give_other_streams() -> None:
    streams: list[tuple[int, tuple[str | int, ...]]] = [
        (0, ()), (1, ()), (0, ("a",)), (0, ("b",)), (0, ("a", 1)), (1, ("a",))
    ]  # fmt: skip
    drawn = {generator(seed, *names).integers(2**62) for seed, names in streams}
    assert len(drawn) == 6


def test_the_same_name_gives_the_same_stream() -> None:
    assert list(generator(5, "x").random(4)) == list(generator(5, "x").random(4))
