"""Methods that tell actions in Markdown and in pictures: accuracies, advantages seed by seed, an arm's joints."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.common import files
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow
from ropes.report.action_figures import delta_arrays, pairs_and_captions, plots, recall_map
from ropes.report.action_numbers import DRAWN, advantage, in_order
from ropes.report.actions import action_markdown
from ropes.report.readme_tables import update
from ropes.report.stills import publish
from ropes.report.table import wrapped
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC
from ropes.simulation.settings import ACTION_PAIRS, ARM_ACTIONS, OBJECT_SCENES, RANDOM_HOLD_OUTS

_SPLITS = (IID, COMPOSITIONAL, SYSTEMATIC)


def row(method: str, seed: int, shifted: float, setup: str = ACTION_PAIRS, **changes: Any) -> ActionRow:
    given: dict[str, Any] = {
        "accuracy": dict(zip(_SPLITS, (0.9, shifted, shifted - 0.1), strict=True)),
        "pairs": dict.fromkeys(_SPLITS, 60),
        "recall": {split: {"open": 0.9} for split in _SPLITS},
        "cosines": {"antonyms": -0.9, "unrelated": 0.1, "unrelated size": 0.4},
    }
    return ActionRow(setup=setup, method=method, seed=seed, seconds=10.0, active=0.25, **given | changes)


def of_an_arm(method: str, seed: int, *opposite: float | None) -> ActionRow:
    moves = {
        f"panda_joint{k + 1}": {"direction": 0.9, "opposite": one, "length": None} for k, one in enumerate(opposite)
    }
    return row(
        method,
        seed,
        0.0,
        f"panda-2c-independent-{ARM_ACTIONS.partition('-')[2]}",
        accuracy={IID: 0.97},
        pairs={IID: 60},
        recall={IID: {"panda_joint1 up": 1.0, "panda_joint1 down": 0.8, "panda_joint2 up": 0.3}},
        cosines={},
        moves=moves,
    )


@pytest.fixture
def told() -> Results:
    pairs = [row("cde-global", seed, 0.8 + 0.01 * seed) for seed in (0, 1, 2)]
    pairs += [row("plain-vit", seed, 0.5 + 0.01 * seed) for seed in (0, 1, 2)]
    pairs += [row("cde-global@crops", 0, 0.65), row("plain-vit@crops", 0, 0.55)]
    pairs += [row("cde-global@no-contrast", 0, 0.7), row("cde-patch", 0, 0.7, OBJECT_SCENES)]
    pairs += [of_an_arm("cde-global", 0, -0.9, -0.7, None), of_an_arm("cde-global", 1, -0.7, -0.7, None)]
    return Results(
        name="causal-triplet",
        preset="compact",
        device="2 cores",
        version="0.1.0",
        seconds=600.0,
        rows=(),
        action_rows=tuple(pairs),
    )


def test_markdown_lists_every_method_and_the_paper(told: Results) -> None:
    lines = action_markdown(told).splitlines()
    assert lines[0] == (
        "| images | method | seeds | in distribution | compositional shift | systematic shift | gap | "
        "cosine of antonyms | cosine of unrelated verbs | its absolute value | active | variance |"
    )
    assert lines[2] == (
        "| single objects | deltas of whole images | 3 | 0.900 ± 0.000 | 0.810 ± 0.010 | 0.710 ± 0.010 | "
        "0.190 ± 0.010 | -0.900 ± 0.000 | 0.100 ± 0.000 | 0.400 ± 0.000 | 0.25 ± 0.00 |  |"
    )
    assert lines[3].startswith("|  | without contrast | 1 | 0.900 | 0.700 | 0.600 | 0.300 |")
    assert lines[5].startswith("|  | deltas of whole images, with crops | 1 | 0.900 | 0.650 | 0.550 |")
    assert lines[6].startswith("|  | plain ViT, with crops | 1 |")
    assert lines[7].startswith("| several objects in a scene | deltas of patches | 1 |")
    assert lines[9] == "| the paper, ProcTHOR | plain ResNet |  | 0.96 | 0.36 | 0.48 | 0.48 |  |  |  |  |  |"
    assert lines[13] == "|  | deltas of whole images |  | 0.95 |  |  | 0.21 |  |  |  |  |  |"
    assert lines[-1].endswith("Preset compact, 2 cores, 10 minutes.")


def test_advantages_compare_the_same_seeds(told: Results) -> None:
    lines = action_markdown(told).splitlines()
    gain = "+0.300 (+0.300 to +0.300)"
    assert f"| single objects | deltas of whole images | plain ViT | {gain} | {gain} |" in lines
    assert "| single objects | deltas of whole images | without contrast | +0.100 | +0.100 |" in lines
    assert "| single objects | deltas of whole images | deltas of whole images, with crops | +0.150 | +0.150 |" in lines
    assert "| single objects | deltas of whole images, with crops | plain ViT, with crops | +0.100 | +0.100 |" in lines
    ours, theirs = [row("a", seed, 0.5) for seed in (0, 1)], [row("b", seed, 0.5 - 0.1 * seed) for seed in (0, 1, 2)]
    # Differences 0 and .1: their mean ± 12.706 · .0707 / √2.
    assert advantage(ours, theirs, COMPOSITIONAL) == "+0.050 (-0.585 to +0.685)"
    assert advantage(ours, [row("b", 7, 0.5)], COMPOSITIONAL) == ""


def test_effect_of_crops_is_reported(told: Results) -> None:
    lines = action_markdown(told).splitlines()
    assert (
        "- Deltas of whole images, with crops: in distribution 0.90 (best baseline: plain ViT, with crops 0.90); "
        "compositional shift 0.65 (best baseline: plain ViT, with crops 0.55); "
        "systematic shift 0.55 (best baseline: plain ViT, with crops 0.45)."
    ) in lines
    assert "| single objects | plain ViT | plain ViT, with crops | -0.050 | -0.050 |" in lines
    assert (
        "- Gap, in distribution minus systematic shift: deltas of whole images 0.19 ± 0.01, "
        "plain ViT 0.49 ± 0.01, deltas of whole images, with crops 0.35, plain ViT, with crops 0.45."
    ) in lines
    assert (
        "- Cosine of mean deltas of antonyms, then of unrelated verbs (its absolute value): deltas of whole images "
        "-0.90 ± 0.00, 0.10 ± 0.00 (0.40 ± 0.00); deltas of whole images, with crops -0.90, 0.10 (0.40)."
    ) in lines


def test_figures_are_drawn_for_methods_compared_with_baselines() -> None:
    names = ("cde-global", "cde-global@crops", "cde-global@no-contrast", "plain-vit", "plain-vit@crops")
    arrays = {
        "verbs": np.array(["open", "close"]),
        "cosines": np.array([[1.0, -0.9], [-0.9, 1.0]]),
        "plane": np.array([[0.0, 1.0], [0.0, -1.0]]),
        "plane_verbs": np.array(["open", "close"]),
    }
    drawn = plots(ACTION_PAIRS, {name: [row(name, 0, 0.8)] for name in names}, dict.fromkeys(names, arrays))
    assert [plot.kind for plot in drawn] == [
        "accuracy",
        "ablations",
        "verbs",
        *(f"{name}-{kind}" for name in names[:2] for kind in ("cosines", "plane")),
    ]


def test_held_out_choices_are_compared_one_by_one(told: Results) -> None:
    """Two training seeds of a choice are averaged before choices are counted."""
    first, second = list(RANDOM_HOLD_OUTS)[:2]
    rows = [row("cde-global", seed, 0.8 + 0.1 * seed, first) for seed in (0, 1)]
    rows += [row("cde-global", 0, 0.7, second), row("sms", 0, 0.6, first), row("sms", 0, 0.6, second)]
    every = in_order(rows)
    assert list(every) == [DRAWN]
    averaged = every[DRAWN]["cde-global"]
    assert [one.setup for one in averaged] == [first, second]
    assert [one.accuracy[COMPOSITIONAL] for one in averaged] == pytest.approx([0.85, 0.7])
    # Differences .25 and .1: their mean ± 12.706 · .1061 / √2.
    assert advantage(every[DRAWN]["cde-global"], every[DRAWN]["sms"], COMPOSITIONAL) == "+0.175 (-0.778 to +1.128)"
    text = action_markdown(replace(told, action_rows=tuple(rows)))
    assert "| single objects, others held out | deltas of whole images | 2 |" in text


def test_recall_and_seconds_of_a_held_out_choice_are_means_over_seeds() -> None:
    first = next(iter(RANDOM_HOLD_OUTS))
    rows = [
        replace(row("sms", seed, 0.5, first, recall={split: {"open": share} for split in _SPLITS}), seconds=seconds)
        for seed, share, seconds in ((0, 0.5, 10.0), (1, 0.9, 30.0))
    ]
    (averaged,) = in_order(rows)[DRAWN]["sms"]
    assert averaged.recall == {split: {"open": pytest.approx(0.7)} for split in _SPLITS}
    assert averaged.seconds == 20.0


def test_pictures_of_a_held_out_choice_are_found(tmp_path: Path) -> None:
    first = next(iter(RANDOM_HOLD_OUTS))
    arrays: dict[str, NDArray[Any]] = {
        "verbs": np.array(["open"]),
        "cosines": np.ones((1, 1)),
        "plane": np.zeros((2, 2)),
        "plane_verbs": np.array(["open", "open"]),
        "near_images": np.zeros((6, 5, 2, 8, 8, 3), np.uint8),
        "near_verbs": np.full((6, 5), "open"),
        "near_nouns": np.full((6, 5), "drawer"),
    }
    files.write_arrays(tmp_path / "artefacts" / first / "cde-global" / "seed-4" / "deltas.npz", arrays)
    every = in_order([row("cde-global", 4, 0.8, first)])
    found = delta_arrays(every[DRAWN], tmp_path)
    assert list(found) == ["cde-global"]
    drawn = {plot.kind: plot.figure for plot in plots(DRAWN, every[DRAWN], found)}
    titles = [panel.get_title() for panel in drawn["cde-global-nearest"].axes]
    assert titles == ["open drawer"] * 30


def test_joints_of_an_arm_are_summarised(told: Results) -> None:
    lines = action_markdown(told).splitlines()
    assert "| deltas of whole images | 0.90 (0.90 to 0.90) | -0.75 (-0.80 to -0.70) |  |" in lines
    assert "| deltas of whole images | 0.90 | 0.30 |  |" in lines
    assert "- Accuracy of joint and direction in unseen poses of an arm: deltas of whole images 0.97 ± 0.00." in lines


@pytest.mark.parametrize("stored", ["predicted", "told"])  # told: in files of earlier versions
def test_captions_include_a_wrong_prediction(stored: str) -> None:
    arrays: dict[str, NDArray[Any]] = {
        f"{IID}_images": np.zeros((2, 2, 8, 8), np.uint8),
        f"{IID}_verbs": np.array(["open", "close"]),
        f"{IID}_nouns": np.array(["drawer", "box"]),
        f"{IID}_{stored}": np.array(["open", "open"]),
    }
    assert pairs_and_captions(arrays, IID, patchwise=False)[1] == ["open drawer", "close box (predicted: open)"]


@pytest.mark.slow
def test_action_results_are_published_with_their_figures(told: Results, tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "results"
    results.write(folder / "results.json", told)
    recorded: dict[str, NDArray[Any]] = {
        "grid": np.array(2),
        "verbs": np.array(["close", "open"]),
        "cosines": np.array([[1.0, -1.0], [-1.0, 1.0]]),
        "plane": np.zeros((3, 2)),
        "plane_verbs": np.array(["open", "close", "open"]),
        f"{IID}_images": np.zeros((2, 2, 8, 8, 3), np.uint8),
        f"{IID}_patches": np.array([[0], [3]]),
        f"{IID}_verbs": np.array(["open", "close"]),
        f"{IID}_nouns": np.array(["drawer", "box"]),
        f"{IID}_predicted": np.array(["open", "open"]),
    }
    files.write_arrays(folder / "artefacts" / OBJECT_SCENES / "cde-patch" / "seed-0" / "deltas.npz", recorded)
    written = publish(folder, out)
    kinds = (
        *(f"{ACTION_PAIRS}-{kind}" for kind in ("accuracy", "ablations", "verbs")),
        *(f"{OBJECT_SCENES}-{kind}" for kind in ("accuracy", "verbs")),
        *(f"{OBJECT_SCENES}-cde-patch-{kind}" for kind in ("cosines", "plane")),
        f"{OBJECT_SCENES}-patches-iid",
        "panda-2c-independent-actions-moves",
    )
    names = ["causal-triplet-compact.json", *(f"causal-triplet-compact-{kind}.png" for kind in kinds)]
    assert [path.name for path in written] == names
    assert all(path.stat().st_size for path in written)

    page = tmp_path / "page.md"
    page.write_text("<!-- table:causal-triplet-compact -->\n<!-- /table -->\n")
    update(page, out)
    assert (
        page.read_text() == f"<!-- table:causal-triplet-compact -->\n{wrapped(action_markdown(told))}<!-- /table -->\n"
    )


@pytest.mark.slow
def test_rows_of_other_methods_are_kept(told: Results, tmp_path: Path) -> None:
    for name, methods in (("before", ("plain-vit",)), ("after", ("cde-global",))):
        packaged = of_an_arm("anchored (panda-2c)", 0, -0.9)
        rows = (*(row for row in told.action_rows if row.method in methods), packaged)
        results.write(tmp_path / name / "results.json", Results(**{**vars(told), "action_rows": rows}))
        publish(tmp_path / name, tmp_path / "results", keep=True)
    kept = results.read(tmp_path / "results" / "causal-triplet-compact.json")
    assert [row.method for row in kept.action_rows].count("anchored (panda-2c)") == 1
    assert {row.method for row in kept.action_rows} == {"plain-vit", "cde-global", "anchored (panda-2c)"}
    assert kept.seconds == 1200


def test_verb_map_shows_seed_means_and_leaves_missing_cells_blank() -> None:
    def told(seed: int, **shares: float) -> ActionRow:
        return row("cde-global", seed, 0.5, recall={**{split: {} for split in _SPLITS}, SYSTEMATIC: shares})

    figure = recall_map({"cde-global": [told(0, open=0.5), told(1, open=0.7)], "icm": [told(0, push=1.0)]}, SYSTEMATIC)
    (panel,) = figure.axes
    assert [label.get_text() for label in panel.get_xticklabels()] == ["open", "push"]
    assert {text.get_position(): text.get_text() for text in panel.texts} == {(0, 0): "0.60", (1, 1): "1.00"}
