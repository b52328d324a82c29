"""Cells over training seeds, by hand."""

import dataclasses
from typing import Any

import pytest

from ropes.evaluation.summary import over_seeds, without_labels
from ropes.report.table import mcc_entry
from tests.evaluation.joint_rows import a_row


def test_seed_averages_match_hand_calculation() -> None:
    # Squared errors .04 and .08: centre .06, between-variance .0004; deviations .01 and .02: within .00025.
    rows = [a_row(seed=3, mse=(0.04, 0.01), mcc=(0.7, 0.03)), a_row(seed=1, mse=(0.08, 0.02), mcc=(0.9, 0.01))]
    (cell,) = over_seeds(rows)
    assert cell.seeds == (1, 3)
    assert cell.mse == pytest.approx(0.06)
    assert cell.mse_std == pytest.approx(0.00065**0.5)
    assert cell.mse_draws == pytest.approx(0.00025**0.5)
    assert cell.mse_seeds == pytest.approx(0.02 * 2**0.5)
    assert over_seeds(rows[:1])[0].mse_seeds is None
    assert cell.mcc == pytest.approx(0.8)
    assert cell.mcc_std == pytest.approx(0.0105**0.5)
    assert (cell.mcc_draws, cell.mcc_seeds) == pytest.approx((0.0005**0.5, 0.1 * 2**0.5))
    assert [str(mcc_entry(one)) for one in (cell, *over_seeds(rows[:1]))] == ["0.800 ± 0.022 ± 0.141", "0.700 ± 0.030"]
    assert (cell.mcc_reached, cell.mse_reached) == (False, True)


def test_conditions_stay_separate_and_ordered() -> None:
    rows = [a_row(occlusion=32), a_row(split="ood"), a_row(), a_row(seed=1, occlusion=32)]
    cells = over_seeds(rows)
    assert [(cell.split, cell.occlusion, len(cell.seeds)) for cell in cells] == [
        ("id", 32, 2),
        ("ood", 0, 1),
        ("id", 0, 1),
    ]
    assert cells[1].mcc_reached is None
    assert cells[1].mse_reached is True


def test_reaching_the_paper_is_judged_at_its_printed_precision() -> None:
    (reached,) = over_seeds([a_row(mcc=(0.8736, 0.0), mse=(0.0834, 0.0))])
    assert (reached.mcc_reached, reached.mse_reached) == (True, True)
    (missed,) = over_seeds([a_row(mcc=(0.8734, 0.0), mse=(0.0836, 0.0))])
    assert (missed.mcc_reached, missed.mse_reached) == (False, False)


def test_mse_is_not_compared_between_different_angle_variances() -> None:
    (cell,) = over_seeds([a_row(setup="panda-2c-causal", joint="panda_joint5", mcc=(0.8, 0.0), mse=(0.018, 0.0))])
    assert cell.paper_mse == 0.051
    assert (cell.mcc_reached, cell.mse_reached) == (True, None)
    assert cell.variance == pytest.approx(0.05)  # .018 / (1 - .64)
    assert cell.paper_variance == pytest.approx(0.113, abs=1e-3)
    (free,) = over_seeds([a_row(calibration_labels=0)])
    assert free.variance is None  # no line was fitted


def test_errors_on_other_images_stand_beside_no_published_number() -> None:
    alike, other = over_seeds([a_row(occlusion=32), a_row(occlusion=32, method="anchored", published_too=False)])
    assert (alike.paper_mse, alike.all_labels_mse) == (0.101, 0.066)
    assert (other.paper_mse, other.all_labels_mse) == (None, None)
    labelled = {"method": "cnn", "labels": 100, "calibration_labels": 0}
    tenth, odd = (over_seeds([a_row(**labelled, label_share=share)])[0] for share in (0.1, 0.3))
    assert (tenth.paper_mse, tenth.all_labels_mse) == (0.030, 0.003)
    assert (odd.paper_mse, odd.all_labels_mse) == (None, 0.003)  # the paper has no fit on this share
    (elsewhere,) = over_seeds([a_row(**labelled, label_share=0.1, published_too=False)])
    assert elsewhere.all_labels_mse is None


def test_missing_figures_stay_missing() -> None:
    (cell,) = over_seeds([a_row(), dataclasses.replace(a_row(seed=1), mcc_mean=None, mcc_std=None)])
    assert cell.mcc is None
    assert cell.mcc_reached is None
    assert cell.mse == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("field", "values", "names"),
    [
        ("anchors", (250, 500), ("ropes@250 anchors", "ropes@500 anchors")),
        ("image_size", (None, 64), ("ropes@unknown px", "ropes@64 px")),
        ("erased", (0.0, 0.5), ("ropes@0.0 erased", "ropes@0.5 erased")),
        ("label_share", (0.01, 0.05), ("ropes@0.01 of the labels", "ropes@0.05 of the labels")),
    ],
)
def test_fits_on_different_data_are_not_seeds_of_one_cell(
    field: str, values: tuple[Any, Any], names: tuple[str, str]
) -> None:
    rows = [a_row(seed=seed, mse=(0.1 * (seed + 1), 0.0), **{field: value}) for seed, value in enumerate(values)]
    cells = over_seeds(rows)
    assert [(cell.method, getattr(cell, field)) for cell in cells] == list(zip(names, values, strict=True))
    assert [cell.seeds for cell in cells] == [(0,), (1,)]
    assert over_seeds(rows[:1])[0].method == "ropes"


def test_label_free_row_needs_a_figure_for_every_seed() -> None:
    fitted = [a_row(seed=seed) for seed in (0, 1)]
    free = [dataclasses.replace(row, calibration_labels=0, paper_mcc=None, paper_mse=None) for row in fitted]
    (found,) = without_labels(over_seeds([*fitted, *free]))
    assert (found.calibration_labels, found.paper_mcc, found.paper_mse) == (0, 0.874, 0.083)
    assert without_labels(over_seeds([*fitted, free[0]])) == ()
    (alone,) = without_labels(over_seeds(free))
    assert alone.paper_mse is None
    labelled = a_row(labels=100, label_share=0.01, calibration_labels=0)
    assert without_labels(over_seeds([labelled])) == ()
