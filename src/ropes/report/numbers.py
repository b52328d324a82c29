"""Number formatting for pages, terminals, Markdown and model cards.

Correlations, shares and the paper's figures have a fixed number of decimals.  Errors have three decimals, or as many as
two significant digits take, and a deviation has as many as its mean.  What is not zero never prints as zero.
"""

#: Rounding of floating-point numbers leaves less than this of a difference that is zero.
_ROUNDING = 1e-12


def fixed(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """A number with a fixed number of decimals: "0.050", or "<0.001" where it would round to zero; "–" for None.

    Args:
        value: to print.
        digits: after the point.
        signed: with a plus before what is greater than zero.
    """
    if value is None:
        return "–"
    if abs(value) < _ROUNDING:
        return f"{0.0:.{digits}f}"
    shown = f"{value:{'+' if signed else ''}.{digits}f}"
    if float(shown) != 0:
        return shown
    least = f"{10.0**-digits:.{digits}f}"
    return f"<{'+' if signed else ''}{least}" if value > 0 else f">-{least}"


def error(value: float | None) -> str:
    """An error with at least three decimals and two significant digits: "0.050", "0.00031"; "–" for None."""
    return fixed(value, _decimals(value or 0.0))


def error_and_deviation(mean: float | None, deviation: float | None) -> tuple[str, str]:
    """An error as `error` prints it, and its deviation with the same decimals; no deviation counts as none."""
    return error(mean), fixed(deviation or 0.0, _decimals(mean or 0.0))


def _decimals(value: float) -> int:
    """At least three, and as many as two significant digits take."""
    if abs(value) < _ROUNDING:
        return 3
    exponent = int(f"{value:.1e}".partition("e")[2])  # of the number as rounded: 0.00996 has that of 0.010
    return max(3, 1 - exponent)
