"""In which order runs stand in the results, and so in tables and sections."""

from random import Random

from ropes.experiments.folder import by_number


def test_variants_are_ordered_by_their_numbers() -> None:
    shares = [f"{method}@{share}-percent" for method in ("cnn", "jointnet") for share in (1, 5, 10, 100)]
    ordered = [(label, seed) for label in ("anchored", *shares, "ldr") for seed in (0, 1, 10)]
    mixed = ordered.copy()
    Random(0).shuffle(mixed)
    assert sorted(mixed, key=by_number) == ordered
