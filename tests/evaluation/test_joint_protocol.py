"""Tests of the protocol of joints: which rows the paper's numbers stand beside."""

from pathlib import Path

import numpy as np
import pytest

from ropes.data.dataset import Dataset
from ropes.evaluation import joint_protocol, paper
from ropes.methods.uncertainty.model import Reading
from ropes.metrics import ProtocolSizes
from ropes.simulation.corruption import Hiding
from tests.estimators import estimator_of, places, run_of


def test_papers_numbers_are_of_images_of_128_pixels_and_of_the_runs_setting(tmp_path: Path) -> None:
    def of(size: int, setting: str | None) -> bool:
        run = run_of(setting="panda-2c-independent", image_size=size)
        return joint_protocol.comparable_with_paper(
            run, rendered(tmp_path, setting) if setting else Dataset(tmp_path, {}, None)
        )

    assert of(128, "panda-2c-independent")
    assert not of(256, "panda-2c-independent")
    assert not of(128, "panda-2c-causal")
    assert not of(128, None)


def rendered(path: Path, name: str, *, renderer: str = "pybullet", **setting: str) -> Dataset:
    """A simulated data set with images as the paper's, or others."""
    about = {"name": name, "robot": "panda", "scene": "panda-gym", "camera_level": "clean"} | setting
    return Dataset(path, {}, {"setting": about, "renderer": {"name": renderer}})


@pytest.mark.parametrize(
    ("tested", "trained", "said"),
    [
        ({}, {}, None),
        ({}, {"scene": "panda-gym", "renderer": "pybullet", "camera_level": "clean"}, None),
        ({"scene": "white"}, {}, "the scene of DATA is white, that of the paper's images panda-gym"),
        ({"renderer": "mujoco"}, {}, "the renderer of DATA is mujoco, that of the paper's images pybullet"),
        ({"camera_level": "harsh"}, {}, "the camera level of DATA is harsh, that of the paper's images clean"),
        ({}, {"scene": "room"}, "the scene of the training images is room, that of the paper's images panda-gym"),
        (
            {},
            {"camera_level": "webcam"},
            "the camera level of the training images is webcam, that of the paper's images clean",
        ),
    ],
)
@pytest.mark.parametrize("setting", ["panda-2c-independent", "so101"])
def test_papers_numbers_are_of_its_scene_renderer_and_cameras(
    setting: str,
    tested: dict[str, str],
    trained: dict[str, str],
    said: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = run_of(setting=setting, image_size=128, **trained)
    assert joint_protocol.comparable_with_paper(run, rendered(tmp_path, setting, **tested)) == (said is None)
    of_paper = said is not None and setting != "so101"  # the paper has no numbers of the other arm
    line = f"ropes: {said}; the paper's numbers are left out\n".replace("DATA", str(tmp_path))
    assert capsys.readouterr().err == (line if of_paper else "")


def test_papers_numbers_are_beside_rows_of_its_measurement_only(monkeypatch: pytest.MonkeyPatch) -> None:
    angles = np.random.default_rng(0).normal(size=(80, 2))
    run = {"setting": "panda-2c-independent", "joints": ("panda_joint2", "panda_joint4")}

    def of(*, fit: int, comparable: bool, hide: Hiding = "square") -> set[bool]:
        sizes = ProtocolSizes(repeats=2, fit=fit, test=20)
        tested = joint_protocol.TestedPoses(
            estimator=estimator_of(places, **run),
            method="ropes",
            seed=0,
            sizes=sizes,
            angles={"id": angles},
            images={},
            comparable=comparable,
            hide=hide,
        )
        condition = "id", 16
        tested.readings[condition] = Reading(angles, None, None)
        return {row.paper_mse is not None for row in tested.rows(condition, tested.measured(condition))}

    monkeypatch.setattr(paper, "CALIBRATION_LABELS", 40)
    assert of(fit=40, comparable=True) == {True}
    assert of(fit=30, comparable=True) == {False}
    assert of(fit=40, comparable=False) == {False}
    assert of(fit=40, comparable=True, hide="object") == {False}
