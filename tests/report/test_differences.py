"""Rows of joint errors beside the paper's rows have a mark for each difference, and the mark its note."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.evaluation import results
from ropes.evaluation.paper import CAUSAL, ONE_CAMERA, TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.summary import calibrated_as_the_paper, over_seeds
from ropes.experiments.objectives import OBJECTIVES, ROPES_VARIANTS
from ropes.methods.registry import methods_of
from ropes.report.differences import Marks, beside_the_paper, missed, of_condition, of_method, reached_by_method
from ropes.report.markdown import markdown
from tests.report.pages import squared

REPOSITORY = Path(__file__).parents[2]
MARK = re.compile(r" [⁰¹²³⁴⁵⁶⁷⁸⁹]+(?=$|: R²)")
CAMERAS = "The paper does not state where its cameras stand."


@pytest.mark.parametrize("method", [*methods_of("joints"), *ROPES_VARIANTS, "plug-in"])
def test_every_compact_method_lists_differences_from_the_paper(method: str) -> None:
    assert of_method(method, "compact")
    assert of_method(f"{method}@250 anchors", "compact") == of_method(method.partition("@")[0], "compact")


@pytest.mark.parametrize("variant", sorted(OBJECTIVES))
def test_every_objective_has_its_own_note(variant: str) -> None:
    note = of_method(f"ropes@{variant}", "compact")
    assert OBJECTIVES[variant] in note or variant in ("classifier", "encoder", "logit")
    assert "another objective than Eq. 3" not in note
    assert of_method(f"ropes@{variant}", "paper")


def test_paper_methods_at_paper_size_have_a_mark_of_their_own() -> None:
    for method in ("jointnet", "ropes", "ropes@eq3"):
        assert of_method(method, "paper").startswith("the paper's sizes")
        assert of_method(method, "compact").startswith(("a smaller network", "smaller networks"))


def test_settings_with_different_test_poses_have_a_note() -> None:
    assert "stay at zero" in of_condition(ONE_CAMERA, "id")
    assert "compare MCC" in of_condition(CAUSAL, "id")
    assert of_condition(CAUSAL, "ood") == of_condition(TWO_CAMERAS, "id") == ""


def test_notes_are_numbered_in_order_of_use() -> None:
    marks = Marks("compact")
    assert marks.method("cnn", "cnn", published=False) == "cnn"
    assert marks.markdown() == ""
    assert [marks.method(name, name) for name in ("cnn", "anchored", "other")] == ["cnn ¹", "anchored ²", "other ¹"]
    assert marks.condition(TWO_CAMERAS, 16) == "Two cameras, independent joints, 16 px occluded"
    assert marks.markdown().splitlines()[2:] == [
        "- ¹ not in the paper.",
        "- ² not in the paper; also uses which images belong to the same anchor, and learns from images with foreign "
        "objects, white rectangles among them.",
    ]


def test_errors_reached_are_counted_as_they_are_bold() -> None:
    errors = {"ropes": 0.0834, "anchored": 0.0836}
    place: dict[str, Any] = {
        "setup": TWO_CAMERAS,
        "joint": "panda_joint1",
        "occlusion": 0,
        "seed": 0,
        "mcc": (0.9, 0.0),
    }
    rows = [Row.measured(method=method, split="id", mse=(mse, 0.0), **place) for method, mse in errors.items()]
    # Squares of 64 pixels are counted, but not in the table; test angles of another variance are neither.
    rows += [replace(row, occlusion=64, paper_mse=0.2) for row in rows]
    rows += [replace(rows[0], setup=CAUSAL), replace(rows[0], calibration_labels=100)]
    told = reached_by_method(calibrated_as_the_paper(over_seeds(rows)))
    assert told == (
        "Published errors of the paper's ROPES reached with a line fitted on 1,000 labels (squares of 64 pixels "
        "included): ropes 2 of 2; anchored 1 of 2. "
    )
    found = Results(name="demo", preset="compact", device="d", version="0", seconds=60, rows=tuple(rows))
    written = markdown(found)
    assert told.strip() in " ".join(written.split())
    assert "**0.083**" in written
    assert "| 0.084" in written
    assert reached_by_method(over_seeds(rows[:1])) == ""


def test_missed_numbers_of_ropes_are_listed_with_their_distance() -> None:
    place: dict[str, Any] = {"joint": "panda_joint1", "occlusion": 0, "seed": 0, "method": "ropes", "mcc": (0.9, 0.0)}
    reached = Row.measured(setup=TWO_CAMERAS, split="id", mse=(0.01, 0.0), **place)
    above = [replace(reached, split="ood", occlusion=side, mse_mean=0.15, paper_mse=0.1) for side in (16, 0)]
    below = Row.measured(setup=CAUSAL, split="id", mse=(0.01, 0.0), **place)
    cells = over_seeds([reached, *above, replace(below, paper_mcc=0.95)])
    assert missed(cells, "ropes") == (
        "Errors that ropes does not reach, as multiples of the paper's: "
        "Two cameras, independent joints, shifted poses: joint 1 1.50; "
        "Two cameras, independent joints, 16 px occluded, shifted poses: joint 1 1.50. "
        "MCC below the paper's, in brackets, where errors do not compare: "
        "Two cameras, causal joints: joint 1 0.900 (0.950). "
    )
    assert missed(cells[:1], "ropes") == missed(cells, "anchored") == ""
    found = Results(name="demo", preset="compact", device="d", version="0", seconds=60, rows=(reached, above[1]))
    assert "shifted poses: joint 1 1.50." in " ".join(markdown(found).split())


def test_page_and_terminal_list_differences_in_one_sentence() -> None:
    place: dict[str, Any] = {"joint": "panda_joint2", "occlusion": 0, "seed": 0, "mcc": (0.9, 0.0), "mse": (0.1, 0.0)}
    rows = [Row.measured(setup=setup, split=split, **place) for setup in (CAUSAL, "own") for split in ("id", "ood")]
    told = [beside_the_paper(cell, "paper") for cell in over_seeds(rows)]
    assert told[0].startswith("Differences from the paper's row: the paper's sizes and Eq. 3, ")
    assert "; in distribution the test angles vary" in told[0]
    assert "the angles" not in told[1]  # shifted poses are the paper's
    assert told[2:] == ["", ""]  # no published row


@pytest.mark.parametrize("name", ["panda-2c", "table1", "table2", "curves"])
def test_every_row_beside_a_published_one_has_a_mark(name: str) -> None:
    written = squared(results.read(REPOSITORY / "results" / f"{name}-compact.json"))
    tables, notes, about = written.partition("Differences from the paper's rows:")
    table, *correlations = tables.strip().split("\n\n")
    lines = [line.strip("|").split(" | ") for line in table.splitlines()[2:]]
    ours = [line[1] for line in lines if not line[1].startswith(("the paper's", "our test angles"))]
    assert len(ours) < len(lines)
    assert [words for words in ours if not MARK.search(words)] == []
    of_mcc = [line.split(" | ")[1] for line in correlations[-1].splitlines()[2:]] if correlations else []
    assert [words for words in of_mcc if not words.startswith("the paper's") and not MARK.search(words)] == []
    assert notes
    numbered = {line.split()[1] for line in about.splitlines() if line.startswith("- ")}
    assert {MARK.search(words)[0].strip() for words in ours} <= numbered  # type: ignore[index]


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        ("panda-gym", f"{CAMERAS} Scene panda-gym."),
        ("white", f"The background is white, the paper's panda-gym's. {CAMERAS} Scene white."),
        (
            None,
            "The background is not recorded; earlier versions rendered a white one, the paper panda-gym's. " + CAMERAS,
        ),
    ],
)
def test_fewer_anchors_and_another_background_are_noted(scene: str | None, told: str) -> None:
    row = Row.measured(
        setup=TWO_CAMERAS,
        joint="panda_joint1",
        split="id",
        occlusion=0,
        seed=0,
        mcc=(0.9, 0),
        mse=(0.1, 0),
        anchors=500,
    )
    found = Results(name="demo", preset="paper", device="d", version="0", seconds=60, rows=(row,), scene=scene)
    assert markdown(found).endswith(
        f"the paper's ROPES. Training anchors: 500; the paper's: 10,000. {told} Preset paper, d, 1 minutes.\n"
    )
    simplified = "Meshes are simplified, the paper's full. "
    assert simplified not in markdown(found)
    assert simplified in markdown(replace(found, preset="compact"))  # of a version without the option
    assert simplified in markdown(replace(found, mesh="simplified"))
    assert simplified not in markdown(replace(found, preset="compact", mesh="full"))
