"""NaN with a reason, in place of a score that the samples leave undefined."""

import math
from typing import Self


class Undefined(float):
    """NaN in place of an undefined score.

    Attributes:
        reason: why the score is undefined.
    """

    reason: str

    def __new__(cls, reason: str) -> Self:
        """NaN with a reason."""
        undefined = super().__new__(cls, math.nan)
        undefined.reason = reason
        return undefined
