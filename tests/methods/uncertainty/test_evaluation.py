"""Coverage and flags as an evaluation measures them: of what a user runs, and against in-distribution images alone."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict_lines
from ropes.metrics import PAPER_SIZES
from tests import tiny


def lines_of(run: Path, data: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in predict_lines(run, data)]


@pytest.mark.slow
def test_the_evaluation_measures_intervals_and_the_flag(run: Path, data: Path, tmp_path: Path) -> None:
    evaluate(run, data, tmp_path / "e", occlusions=(0, 8), show=False)
    found = results.read(tmp_path / "e" / "results.json")
    keys = [(row.occlusion, row.intervals, row.calibration_labels, row.joint) for row in found.trust_rows]
    kinds = [("commanded", 0), ("anchors", 100), ("labels", 100)]  # of 1,000 labels there are too few poses held out
    assert sorted(keys) == sorted((s, *k, j) for s in (0, 8) for k in kinds for j in tiny.JOINTS)
    for row in found.trust_rows:
        assert (row.split, row.level, row.method) == ("id", 0.9, "anchored")
        if row.occlusion == 0:
            assert row.auroc is None
            if row.intervals == "labels":
                assert 0.8 < row.coverage < 0.98  # labels of 30 anchors: known to a twentieth or so
        else:
            assert row.auroc is not None
    covered = evaluate(run, data, tmp_path / "f", occlusions=(8,), show=False)
    assert [row for row in found.trust_rows if row.occlusion == 8] == list(covered.trust_rows)
    assert covered.flag_rows == found.flag_rows


@pytest.mark.slow
def test_evaluation_coverage_equals_that_of_predict(own: Path, data: Path, tmp_path: Path) -> None:
    measured = evaluate(own, data, tmp_path / "e", occlusions=(0,), show=False).trust_rows
    angles, held = open_dataset(data).states("test-id"), []
    for seed in range(PAPER_SIZES.repeats):
        calibrate(own, data=data, samples=100, seed=seed)
        told = [line for line in lines_of(own, data) if line["images"]["split"] == "test-id"]
        low, high = (
            np.array([[line[end][joint] for joint in tiny.JOINTS] for line in told]) for end in ("low", "high")
        )
        held.append(((low <= angles) & (angles <= high)).mean(axis=0))
    expected = dict(zip(tiny.JOINTS, np.mean(held, axis=0), strict=True))
    # Predictions are rounded to six decimals, which may move an angle over the end of its interval.
    found = {row.joint: row.coverage for row in measured if row.intervals == "labels"}
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.slow
def test_shifted_poses_are_not_taken_as_in_distribution(run: Path, data: Path, tmp_path: Path) -> None:
    rng, causal = np.random.default_rng(3), tiny.model()
    states = {"train": causal.sample(rng, 30), "test-ood": causal.sample_observational(rng, 1500)[:, None] + 0.3}
    shifted = tiny.write_data(
        tmp_path / "shifted", images={split: tiny.draw(angles) for split, angles in states.items()}, states=states
    )
    found = evaluate(run, shifted, tmp_path / "e", occlusions=(0, 8), show=False)
    assert found.flag_rows == ()
    assert {(row.split, row.auroc) for row in found.trust_rows} == {("ood", None)}
    artefact = np.load(next((tmp_path / "e").rglob("evaluation.npz")))
    assert (artefact["scatter_split"], artefact["scatter_occlusion"]) == ("ood", 0)
    with pytest.raises(UserError, match="--out-of-distribution compares images with those of test-id"):
        evaluate(run, shifted, tmp_path / "f", occlusions=(0,), out_of_distribution=[data], show=False)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(("occlusions", "shown"), [((8, 0), 0), ((8,), 8)])
def test_scatter_uses_images_without_squares(
    run: Path, data: Path, tmp_path: Path, occlusions: tuple[int, ...], shown: int
) -> None:
    evaluate(run, data, tmp_path / "e", occlusions=occlusions, show=False)
    artefact = np.load(next((tmp_path / "e").rglob("evaluation.npz")))
    assert (artefact["scatter_split"], artefact["scatter_occlusion"]) == ("id", shown)


@pytest.mark.slow
def test_flag_is_evaluated_on_disturbed_images_and_other_data_sets(run: Path, data: Path, tmp_path: Path) -> None:
    from ropes.evaluation.flags import disturbed

    inverted = 255 - tiny.draw(tiny.model().sample(np.random.default_rng(1), 20))
    other = tiny.write_data(tmp_path / "other", anchors=20, tests=0, images={"train": inverted})
    found = evaluate(run, data, tmp_path / "e", occlusions=(0,), out_of_distribution=[data, other], show=False)
    names = [name for name, _ in disturbed(np.zeros((1, 2, 16, 16), np.uint8))]
    assert names == [
        "moved by 1 px",
        "moved by 3 px",
        "a grey speck of 4 px",
        "a grey speck of 8 px",
        "mirrored",
        "cameras exchanged",
    ]
    assert "cameras exchanged" not in dict(disturbed(np.zeros((1, 1, 16, 16), np.uint8)))
    told = {row.images: row for row in found.flag_rows}
    assert list(told) == [*names, "data set data", "data set other"]
    assert told["data set data"].auroc == pytest.approx(0.5, abs=0.05)
    assert told["data set data"].flagged < 0.1
    assert told["data set other"].auroc == 1
    assert told["data set other"].flagged == 1
    assert told["mirrored"].auroc < 0.9  # a mirrored blob is a blob, and nothing in these pictures stands still


def test_incompatible_out_of_distribution_data_is_refused_first(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = {"train": tiny.draw(tiny.model().sample(np.random.default_rng(1), 4))[..., :1, :, :]}
    one = tiny.write_data(tmp_path / "one", anchors=4, tests=0, images=images, cameras=tiny.CAMERAS[:1])
    monkeypatch.setattr(Estimator, "read", lambda *_: pytest.fail("images were read"))
    with pytest.raises(UserError, match=r"one has 1 cameras of 16x16 pixels and this run reads 2 of 16x16"):
        evaluate(run, data, tmp_path / "e", occlusions=(0,), out_of_distribution=[one], show=False)
    with pytest.raises(UserError, match="--out-of-distribution has two data sets called data; rename one"):
        evaluate(run, data, tmp_path / "e", occlusions=(0,), out_of_distribution=[data, data], show=False)
    assert not (tmp_path / "e").exists()
