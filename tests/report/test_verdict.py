"""The one sentence, for every kind of outcome."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ropes.evaluation.paper import CAUSAL, ONE_CAMERA, TWO_CAMERAS
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.summary import JointErrors, over_seeds
from ropes.report.differences import verdict
from ropes.report.words import in_words, joint_label


def cells(
    *figures: tuple[float, float], setup: str = ONE_CAMERA, joints: Sequence[int] = (2, 4, 6), **changes: Any
) -> tuple[JointErrors, ...]:
    rows = [
        Row.measured(
            setup=setup,
            joint=f"panda_joint{joint}",
            occlusion=0,
            seed=0,
            mcc=(mcc, 0.0),
            mse=(mse, 0.0),
            **({"split": "id"} | changes),
        )
        for joint, (mcc, mse) in zip(joints, figures, strict=False)
    ]
    return over_seeds(rows)


def test_verdict_when_all_cells_reach_the_paper() -> None:
    text = verdict(cells((0.99, 0.01), (0.99, 0.01), (0.99, 0.01)))
    assert text == (
        "With a line fitted on 1,000 labels, none of them in training: all 3 cells compared with the paper's Table 1 "
        "reach its MCC and its MSE."
    )


def test_label_free_verdict_comes_first() -> None:
    fitted = cells((0.99, 0.01), (0.99, 0.9), (0.99, 0.01))
    free = cells((0.99, 0.01), (0.99, 0.01), (0.99, 0.01), calibration_labels=0)
    free = tuple(replace(cell, paper_mcc=None, paper_mse=None) for cell in free)
    assert verdict((*fitted, *free)) == (
        "Without labels: all 3 cells compared with the paper's Table 1 reach its MCC and its MSE. "
        "With a line fitted on 1,000 labels, none of them in training: of 3 cells of the paper's Table 1, "
        "3 reach its MCC and 2 its MSE."
    )


def test_verdict_when_some_cells_miss_the_paper() -> None:
    text = verdict(cells((0.90, 0.01), (0.99, 0.01), (0.90, 0.1)))
    assert text.endswith("training: of 3 cells of the paper's Table 1, 1 reach its MCC and 2 its MSE.")


def test_incomparable_errors_are_excluded_from_the_verdict() -> None:
    causal = cells((0.99, 0.001), (0.99, 0.001), setup=CAUSAL, joints=(1, 5))
    assert verdict(causal).endswith("of 2 cells of the paper's Table 1, 2 reach its MCC; MSE does not compare.")
    both = (*causal, *cells((0.99, 0.01)))
    assert verdict(both).endswith("reach its MCC and its MSE in the 1 cell where MSE compares.")


def test_verdict_mentions_training_labels() -> None:
    text = verdict(cells((0.99, 0.01), labels=100))
    assert (
        text
        == "With a line fitted on 1,000 labels: all 1 cell compared with the paper's Table 1 reach its MCC and its MSE."
    )
    assert "label" not in verdict(cells((0.99, 0.01), labels=100, setup="kuka"))


def test_labelled_baselines_are_compared_with_the_paper_baseline() -> None:
    """RoboPEPP with 1% of the labels: .136 and .043 for joints 1 and 2 of two cameras."""
    free = cells((0.99, 0.01), (0.99, 0.001), setup=TWO_CAMERAS, joints=(1, 2))
    few = cells((0.99, 0.01), (0.99, 0.9), setup=TWO_CAMERAS, joints=(1, 2), labels=1300, label_share=0.01)
    beside = "Of 2 cells with training labels, 1 reach the MSE of the paper's RoboPEPP on the same share of labels."
    assert verdict(few) == beside
    assert verdict((*free, *few)).endswith(f"its MCC and its MSE. {beside}")
    assert "none of them in training" in verdict((*free, *few))


def test_verdict_of_another_arm_has_no_paper_comparison() -> None:
    text = verdict(cells((0.95, 0.01), (0.91, 0.02), setup="kuka"))
    assert "lowest MCC of 2 cells is 0.910 (joint 4) without training labels" in text
    assert text.endswith("the paper has no numbers for this setup.")


def test_fewer_calibration_labels_are_summarised_by_correlation() -> None:
    few = cells((0.95, 0.01), calibration_labels=10)
    assert verdict(few).startswith("The lowest MCC of 1 cell is 0.950 (joint 2)")


def test_missing_in_distribution_rows_are_stated() -> None:
    assert verdict(()) == "No in-distribution results yet."
    assert verdict(cells((0.9, 0.1), setup=TWO_CAMERAS, split="ood")).startswith("No in-distribution")


def test_settings_and_joints_have_readable_names() -> None:
    assert in_words(TWO_CAMERAS, 32) == "Two cameras, independent joints, 32 px occluded"
    assert in_words("kuka", 0) == "Kuka"
    assert joint_label("panda_joint4") == "joint 4"
    assert joint_label("lbr_iiwa_joint_1") == "lbr_iiwa_joint_1"
