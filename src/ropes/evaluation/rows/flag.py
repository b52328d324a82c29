"""Rows of out-of-distribution detection."""

from dataclasses import dataclass

from ropes.evaluation.rows.schema import MeasuredRow, Share


@dataclass(frozen=True, kw_only=True)
class FlagRow(MeasuredRow):
    """One setup × method × kind of images × training seed.

    Attributes:
        images: kind of images, as "moved by 1 px".
        count: number of images.
        auroc: of the distance, between these images and in-distribution ones.
        flagged: share of these images that are flagged as out of distribution.
    """

    keys = ("images",)

    images: str
    count: int
    auroc: Share
    flagged: Share
