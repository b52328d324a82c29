"""The command on tiny data sets: whole, stripped, untold, incomplete, and damaged."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from ropes.causal.scm import Regime
from ropes.cli import entry as cli
from ropes.common import files
from ropes.data.layout import copy_without_labels
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.evaluation.inspection import inspect_data
from ropes.evaluation.inspection import sample as sampling
from ropes.methods.anchored import fit as anchored
from ropes.report.inspection import picture, print_inspection
from tests import tiny
from tests.command_line import refusal
from tests.methods.test_regime_poses import write_apart

#: What 16x16 pixels need, in words of the verdict.
NEEDED = "; fit with --encoder.image-size 16 --encoder.stem 2 --encoder.window 16"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("inspect") / "data", anchors=80, tests=0)


def test_complete_data_set_gets_a_full_report(data: Path) -> None:
    found = inspect_data(data, show=False)
    assert found.counts == dict.fromkeys(tiny.model().regimes, 80)
    assert (found.anchors, found.complete, found.cameras, found.sizes) == (80, 1.0, tiny.CAMERAS, ((16, 16),) * 2)
    for report in found.joints:
        assert report.images == (80, 80)
        assert report.contrast is not None
        floor = tiny.model().bayes_floor(report.joint)
        assert floor - 0.1 < report.contrast.nats < floor + 0.15  # blobs are read off easily
        assert report.overlap is not None
        assert report.overlap.source == "angles"
        assert report.overlap.floor == pytest.approx(floor)
        assert report.motion is not None
        assert report.motion.paired
        assert (report.motion.share > 0.05).all()
        assert report.weaknesses == ("too few images",)
    assert found.verdict == "can work, but every joint will be weak" + NEEDED
    assert all(report.anchors == (80, 80) for report in found.joints)
    assert found.advice[0].startswith("every joint (too few images): record more anchors")


@pytest.mark.parametrize("kind", ["distributions", "images"])
def test_overlap_is_estimated_without_angles_or_distributions(kind: str, data: Path, tmp_path: Path) -> None:
    if kind == "distributions":
        copy_without_labels(data, tmp_path / "data")
    else:
        tiny.write_data(tmp_path / "data", anchors=80, tests=0, described=False, states=None)
    whole, found = inspect_data(data, show=False), inspect_data(tmp_path / "data", show=False)
    for before, after in zip(whole.joints, found.joints, strict=True):
        assert before.overlap is not None
        assert after.overlap is not None
        assert after.overlap.source == kind
        assert after.overlap.policies == pytest.approx(before.overlap.policies, abs=0.15)
        assert after.overlap.observational is not None
        assert (after.overlap.floor is None) == (kind == "images")
        assert after.contrast == before.contrast


def images(anchors: int = 60, regimes: int = 5) -> NDArray[np.uint8]:
    angles = tiny.model().sample(np.random.default_rng(0), anchors)
    return tiny.draw(angles)[:, :regimes]


def write(path: Path, change: Callable[[NDArray[np.uint8]], object] | None = None, **options: Any) -> Path:
    pixels = images()
    if change is not None:
        change(pixels)
    return tiny.write_data(path, described=False, images={"train": pixels}, states=None, **options)


def test_a_joint_that_no_image_shows_cannot_work(tmp_path: Path) -> None:
    def still(pixels: NDArray[np.uint8]) -> None:
        pixels[:, 3:] = pixels[:, :1]

    found = inspect_data(write(tmp_path / "data", still), show=False)
    assert found.verdict == "cannot work: wrist: its interventions move no pixel"
    assert found.to_dict()["weakest_first"] == ["wrist", "elbow"]


def test_suggested_fit_pads_non_square_images_to_a_square(tmp_path: Path) -> None:
    pixels = np.repeat(images(), 2, axis=-1)
    data = tiny.write_data(tmp_path / "data", described=False, images={"train": pixels}, states=None)
    found = inspect_data(data, show=False)
    assert found.fit_options == "--encoder.image-size 32 --encoder.window 32"
    assert found.verdict == f"can work, but every joint will be weak; fit with {found.fit_options}"
    assert not any(report.faults for report in found.joints)


def test_one_episode_per_regime_is_refused_by_inspect_and_fit(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "data", (1, 1, 1, 1, 2), frames=60)
    found = inspect_data(tmp_path / "data", show=False)
    lone = [
        "all images under policy 1 are of one anchor (episode)",
        "all images under policy 2 are of one anchor (episode)",
    ]
    assert found.verdict == f"cannot work: elbow: {', '.join(lone)}; wrist: {lone[0]}"
    assert any(line.startswith("split each policy's recording into several episodes") for line in found.advice)
    recipe = tiny.encoder_recipe(anchor_weight=0.0)
    with pytest.raises(UserError, match=r"are of one anchor .* split the recording into several episodes"):
        anchored.fit(tmp_path / "data", tmp_path / "run", recipe, method="ldr", show=False)
    assert tiny.tree(tmp_path / "run") == {}


@pytest.mark.slow
def test_missing_policy_is_a_verdict_and_not_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pixels = {"train": images(regimes=4)}
    regimes = tiny.model().regimes[:4]
    data = tiny.write_data(tmp_path / "data", described=False, images=pixels, states=None, regimes=regimes)
    assert cli.main(["inspect", str(data), "--out", str(tmp_path / "out")]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"{data} cannot work: wrist: no images under policy 2."


@pytest.mark.slow
def test_regime_means_are_compared_without_observational_images(tmp_path: Path) -> None:
    pixels, regimes = {"train": images()[:, 1:]}, tiny.model().regimes[1:]
    data = tiny.write_data(tmp_path / "data", described=False, images=pixels, states=None, regimes=regimes)
    found = inspect_data(data, show=False)
    for report in found.joints:
        assert report.motion is not None
        assert not report.motion.paired
        assert report.overlap is not None
        assert report.overlap.observational is None
    stream = io.StringIO()
    print_inspection(found, Console(file=stream, width=100))
    assert "none of them observational" in stream.getvalue()
    assert "the anchors have no observational pose" in stream.getvalue()
    assert len(picture(found).axes) == 3 * 6


def test_camera_nuisances_are_measured_and_printed(data: Path) -> None:
    found = inspect_data(data, show=False)
    assert tuple(found.nuisances) == found.cameras
    stored = found.to_dict()["nuisances"]
    assert stored.keys() == set(found.cameras)
    json.dumps(stored, allow_nan=False)
    stream = io.StringIO()
    print_inspection(found, Console(file=stream, width=200))
    for camera in found.cameras:
        assert f"camera {camera}: exposure ±" in stream.getvalue()


def test_one_incomplete_anchor_leaves_the_nuisances_of_the_others(tmp_path: Path) -> None:
    """In recordings of one policy after the other, where the arm is says nothing about what changed for good."""
    causal = tiny.model()
    tasks = tuple(range(len(causal.regimes)))
    plans = [SplitPlan(name="train", episodes=79, tasks=tasks), SplitPlan(name="train", episodes=1, tasks=tasks[:-1])]
    angles = causal.sample(np.random.default_rng(0), 80).reshape(-1, len(tiny.JOINTS))[:-1]
    found = inspect_data(tiny.write_splits(tmp_path / "data", plans, {"train": angles}, causal, {}), show=False)
    assert found.complete < 1
    assert all(np.isfinite(each.moved_background) for each in found.nuisances.values())
    write_apart(tmp_path / "apart", [80] * len(tasks))
    found = inspect_data(tmp_path / "apart", show=False)
    assert all(np.isnan(each.moved_background) for each in found.nuisances.values())


def test_frames_of_the_other_camera_are_counted(tmp_path: Path) -> None:
    rooms = np.kron([[[180, 0], [0, 180]], [[0, 180], [180, 0]]], np.ones((24, 24))).astype(np.uint8)
    pixels = images().repeat(3, axis=-1).repeat(3, axis=-2) // 4 + rooms
    pixels[:6] = pixels[:6, :, ::-1]  # a tenth of the anchors
    data = tiny.write_data(tmp_path / "data", described=False, images={"train": pixels}, states=None)
    found = inspect_data(data, show=False)
    for camera, other in (tiny.CAMERAS, tiny.CAMERAS[::-1]):
        assert any(f"camera {camera}: 1" in line and f"what camera {other} sees" in line for line in found.advice)


def test_sample_is_bounded_and_keeps_whole_anchors(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ropes.data.layout import open_dataset

    monkeypatch.setattr(sampling, "MAX_POSES", 30)
    monkeypatch.setattr(sampling, "MIN_POSES", 10)
    dataset = open_dataset(data)
    drawn = sampling.draw_sample(dataset, show=False)
    assert [len(drawn.rows(k)) for k in range(5)] == [30] * 5
    assert len(np.unique(drawn.anchor)) == 30
    again, other = sampling.draw_sample(dataset, show=False), sampling.draw_sample(dataset, seed=1, show=False)
    np.testing.assert_array_equal(again.images, drawn.images)
    assert set(other.anchor) != set(drawn.anchor)
    monkeypatch.setattr(sampling, "MAX_BYTES", 12 * 5 * 2 * 16 * 16)
    assert len(sampling.draw_sample(dataset, show=False).regime) == 12 * 5


@pytest.mark.slow
def test_inspect_prints_its_verdict_and_writes_figures(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["inspect", str(data), "--json", str(tmp_path / "i.json"), "--out", str(tmp_path / "out")]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == f"{data} can work, but every joint will be weak{NEEDED}."
    assert "5 regimes of 80 poses each" in out
    assert "80 anchors, 100% of them complete" in out
    assert "from recorded angles" in out
    assert "Suggestions:" in out
    content = files.read_json(tmp_path / "i.json")
    assert f"; fit with {content['fit_options']}" == NEEDED
    assert content["joints"]["elbow"]["anchors"] == [80, 80]
    assert content["images"] == {regime.name: 80 for regime in tiny.model().regimes}
    assert set(content["joints"]["elbow"]["moved_pixels"]) == set(tiny.CAMERAS)
    assert (tmp_path / "out" / "inspection.png").read_bytes()[:4] == b"\x89PNG"
    assert cli.main(words) == 0  # over its own picture


@pytest.mark.slow
def test_figure_has_an_example_per_regime_and_a_map_per_joint_and_camera(data: Path) -> None:
    found = inspect_data(data, show=False)
    figure = picture(found)
    titles = [panel.get_title() for panel in figure.axes if panel.images]
    assert titles[:2] == ["right: observational", "left: observational"]
    assert len(titles) == 2 * (1 + 2 * 3)
    shown = next(panel for panel in figure.axes if panel.get_title() == "elbow, policy 2").images[0].get_array()
    np.testing.assert_array_equal(shown, found.examples[Regime("elbow", 2)][0])


def test_uninspectable_data_sets_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is missing" in refusal(capsys, "inspect", str(tmp_path / "none"))
    plain = {"train": images(regimes=1)}
    data = tiny.write_data(tmp_path / "a", described=False, images=plain, states=None, regimes=(Regime(),))
    assert "has no interventions" in refusal(capsys, "inspect", str(data))
    tests = {"test-id": images(regimes=1)}
    data = tiny.write_data(tmp_path / "b", described=False, images=tests, states=None)
    assert "has no split 'train'" in refusal(capsys, "inspect", str(data))
    data = write(tmp_path / "c")
    shard = data / "data" / "chunk-000" / "file-000.parquet"
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    assert "file-000.parquet" in refusal(capsys, "inspect", str(data), "--out", str(tmp_path / "out"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    assert "holds something else" in refusal(capsys, "inspect", str(data), "--out", str(tmp_path / "mine"))
    with pytest.raises(UserError, match="is missing"):
        inspect_data(tmp_path / "none", show=False)
