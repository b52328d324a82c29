"""Pictures that benchmarks.lerobot_writer has LeRobot write tell their poses apart, and the page has its figures."""

from pathlib import Path

import numpy as np

from benchmarks import lerobot_writer
from ropes.common.files import read_json

ROOT = Path(__file__).parents[1]


def test_pictures_show_the_pose_and_the_camera() -> None:
    here, there = (lerobot_writer.picture(np.array([x, 0.5]), 0).astype(int) for x in (-1.0, 0.5))
    assert here.shape == (240, 320, 3)
    assert np.abs(here - there).mean() > 5
    assert np.abs(here - lerobot_writer.picture(np.array([-1.0, 0.5]), 1)).mean() > 5


def test_the_page_has_the_published_figures() -> None:
    found = read_json(ROOT / "results" / "lerobot-import.json")
    page = lerobot_writer.PAGE.read_text(encoding="utf-8")
    assert f"<!-- figures:lerobot-import -->\n{lerobot_writer.written(found)}<!-- /figures -->" in page
    assert [row["name"] for row in found["rows"]] == list(lerobot_writer.WRITTEN)
    frames = lerobot_writer.ANCHORS * len(lerobot_writer.TASKS)
    assert all((row["frames"], row["angle"]) == (frames, 0) and row["mean"] < 1 for row in found["rows"])
