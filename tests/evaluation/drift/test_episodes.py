"""Where a change is: the episode, and the frame in it."""

from pathlib import Path

import numpy as np

import ropes
from tests.evaluation.drift.recorded import FRAMES, calibrated, poses, seen, write_recording


def test_a_change_is_placed_by_the_episode_and_its_frame(tmp_path: Path) -> None:
    late = np.outer(np.arange(FRAMES) >= FRAMES // 2, [0, np.radians(9)])
    images = seen(poses())
    images[80:100, 1] = np.roll(images[80:100, 1], 3, axis=2)
    recording = write_recording(tmp_path / "episodes", change=-late, images=images)
    head, *rows = (recording / "log.csv").read_text().splitlines()
    numbers = [3] * 40 + [7] * (FRAMES - 40)
    parts = [f"{row},{number}" for row, number in zip(rows, numbers, strict=True)]
    (recording / "log.csv").write_text("\n".join([f"{head},episode", *parts]))
    found = ropes.check(calibrated(), recording)
    elbow, wrist, right, left, _ = found.lines()
    assert (elbow["since"], elbow["since_episode"], elbow["since_frame"]) == (None, None, None)
    assert wrist["since_episode"] == 7
    assert abs(wrist["since_frame"] - 20) <= 3
    assert right["stretches"] == []
    (stretch,) = left["stretches"]
    assert (stretch["since_episode"], stretch["until_episode"]) == (7, 7)
    assert abs(stretch["since_frame"] - 40) <= 4
    assert abs(stretch["until_frame"] - 59) <= 4
