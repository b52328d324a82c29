"""How numbers are printed: two digits of an error, and nothing that looks like zero and is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.report.words import error, error_and_deviation, fixed, rms

sizes = st.floats(1e-9, 1e6)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0.0, "0.000"),
        (3e-17, "0.000"),
        (0.0003, "0.00030"),
        (0.00095, "0.00095"),
        (0.00996, "0.010"),  # and not 0.0100
        (0.0095, "0.0095"),
        (0.0833, "0.083"),
        (1234.5, "1234.500"),
    ],
)
def test_error_has_three_decimals_and_two_significant_digits(value: float | None, shown: str) -> None:
    assert error(value) == shown


@pytest.mark.parametrize(
    ("value", "digits", "signed", "shown"),
    [
        (0.9996, 3, False, "1.000"),
        (0.0004, 3, False, "<0.001"),
        (-0.0004, 3, False, ">-0.001"),
        (-0.0, 2, False, "0.00"),
        (0.25, 2, True, "+0.25"),
        (-0.25, 2, True, "-0.25"),
        (0.004, 2, True, "<+0.01"),
        (0.3, 0, False, "<1"),
    ],
)
def test_fixed_prints_the_given_decimals(value: float, digits: int, signed: bool, shown: str) -> None:
    assert fixed(value, digits, signed=signed) == shown


@pytest.mark.parametrize(
    ("mean", "deviation", "shown"),
    [
        (0.00031, 0.00002, ("0.00031", "0.00002")),
        (0.05, 0.0004, ("0.050", "<0.001")),
        (0.9, None, ("0.900", "0.000")),
        (None, None, ("–", "0.000")),
    ],
)
def test_a_deviation_has_the_decimals_of_its_mean(
    mean: float | None, deviation: float | None, shown: tuple[str, str]
) -> None:
    assert error_and_deviation(mean, deviation) == shown


@given(sizes)
def test_printed_error_keeps_two_significant_digits(value: float) -> None:
    shown = error(value)
    assert float(shown) == pytest.approx(value, rel=0.05)
    assert len(shown.replace(".", "").lstrip("0")) >= 2
    assert len(shown.partition(".")[2]) >= 3


@given(sizes, sizes)
def test_only_zero_prints_as_zero(mean: float, deviation: float) -> None:
    for shown in (fixed(mean), fixed(-mean, 2), *error_and_deviation(mean, deviation)):
        assert not shown.strip("-").replace(".", "").isdigit() or float(shown) != 0


@pytest.mark.parametrize(
    ("mse", "shown"), [(0.00076, "1.6"), (0.021, "8.3"), (0.0000079, "0.16"), (3.3, "104.1"), (0.0, "0.0"), (None, "–")]
)
def test_root_mean_square_is_in_degrees(mse: float | None, shown: str) -> None:
    assert rms(mse) == shown
