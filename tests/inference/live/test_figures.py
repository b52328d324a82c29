"""The figures and pictures of the live page."""

import numpy as np
import pytest

from ropes.inference.live import figures
from ropes.inference.live.pictures import FOREIGN, SIDE, live_pictures
from tests import tiny
from tests.inference.live.streams import calibrated
from tests.inference.live.test_publish import FILTERED, estimate


def test_status_gives_the_reason_for_out_of_distribution() -> None:
    plain = figures.status(estimate())
    assert "in distribution" in plain
    assert all(figure in plain for figure in ("12 ms", "20 ms", "30.0 Hz", "3 frames"))
    prediction = {
        **estimate().prediction,
        "out_of_distribution": True,
        "reasons": {"<left>": ["light", "camera moved"]},
    }
    assert "out of distribution (&lt;left&gt;: light, camera moved)" in figures.status(estimate(prediction=prediction))
    unknown = {key: value for key, value in prediction.items() if key != "out_of_distribution"}
    assert "no flag" in figures.status(estimate(prediction=unknown))


def test_angles_table_shows_intervals_filter_and_truth() -> None:
    ends = {"low": {"elbow": 0.0, "wrist": -2.0}, "high": {"elbow": 0.5, "wrist": -1.0}, "level": 0.995}
    shown = estimate(prediction={**estimate().prediction, **ends}, filtered=FILTERED, truth=np.array([0.3, -1.2]))
    text = figures.angles(shown, {"elbow": (-1.0, 1.0)})
    for words in ("± 99.5%", "14.3°", "28.6°", "11.5°", "17.2°", "elbow", "■ estimate", "■ filter", "■ true"):
        assert words in text
    assert "true" not in figures.angles(estimate(), {})
    assert text.count("<svg") == 2


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["panda_joint1", "panda_joint2"], ["joint1", "joint2"]),
        (["elbow", "wrist"], ["elbow", "wrist"]),
        (["a_b_1"], ["a_b_1"]),
        (["arm_a_1", "arm_b_1"], ["a_1", "b_1"]),
    ],
)
def test_short_names_drop_the_common_prefix(names: list[str], short: list[str]) -> None:
    assert figures.short_names(names) == short


def test_foreign_objects_are_outlined_in_place() -> None:
    images = dict(zip(tiny.CAMERAS, tiny.draw(np.zeros(2)), strict=True))
    plain = live_pictures(calibrated(), images, {})
    framed = live_pictures(calibrated(), images, {"left": [[4, 8, 8, 12]]})
    assert [picture.shape for picture in framed] == [(SIDE, SIDE, 3)] * 2
    np.testing.assert_array_equal(plain[0], framed[0])
    rows, columns = np.nonzero((framed[1] == FOREIGN).all(axis=2))
    edges = np.array([columns.min(), rows.min(), columns.max(), rows.max()]) * tiny.SIDE / SIDE
    np.testing.assert_allclose(edges, [4, 8, 8, 12], atol=2 * tiny.SIDE / SIDE)
