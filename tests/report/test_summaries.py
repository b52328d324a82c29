"""Short tables: DCI by supervision, and actions beside the best of their baselines."""

from typing import Any

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from ropes.report.summaries import summary_markdown
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC
from ropes.simulation.settings import ACTION_PAIRS, ARM_ACTIONS, OBJECT_SCENES


def of_rows(**rows: Any) -> list[list[str]]:
    """The lines of the table, without its rule, and the last line."""
    found = Results(name="demo", preset="compact", device="2 cores", version="0", seconds=600, rows=(), **rows)
    lines = [line for line in summary_markdown(found).splitlines() if line]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [*(cells[:1] + cells[2:]), lines[-1:]]


def model(method: str, seed: int, dci: float, images: float | None) -> ModelRow:
    settings = {} if images is None else {"images": images}
    return ModelRow(
        setup="arm", method=f"{method}@{images}", seed=seed, seconds=1.0, settings=settings, scores={"dci": dci}
    )


def action(method: str, seed: int, shifted: float, setup: str = ACTION_PAIRS, **changes: Any) -> ActionRow:
    accuracy = {IID: 0.9, COMPOSITIONAL: shifted, SYSTEMATIC: shifted - 0.1}
    splits = changes.get("accuracy", accuracy)
    pairs, recall = dict.fromkeys(splits, 60), {split: {"open": 0.9} for split in splits}
    given: dict[str, Any] = {"accuracy": accuracy, "pairs": pairs, "recall": recall, "active": 0.5} | changes
    return ActionRow(setup=setup, method=method, seed=seed, seconds=1.0, **given)


def test_each_supervision_has_the_models_with_the_most_images() -> None:
    rows = [model("ldr", seed, 0.5 + seed / 10, 6_000) for seed in (0, 1, 2)]
    rows += [model("ldr", 0, 0.99, 500), model("beta-vae", 0, 0.2, None)]
    assert of_rows(model_rows=tuple(rows)) == [
        ["supervision", "training images", "models", "DCI"],
        ["unsupervised", "", "1", "0.200"],
        ["interventions", "6,000", "3", "0.600 (0.500 to 0.700)"],
        ["Preset compact, 2 cores, 10 minutes."],
    ]


def test_deltas_stand_beside_the_best_baseline_of_each_shift() -> None:
    better = action("icm", 0, 0.4, accuracy={IID: 0.9, COMPOSITIONAL: 0.4, SYSTEMATIC: 0.8})
    rows = [action("cde-global", seed, 0.7 + seed / 10) for seed in (0, 1)]
    rows += [action("plain-vit", 0, 0.6), better, action("cde-global@no-contrast", 0, 0.99)]
    rows += [action("cde-patch", 0, 0.5, OBJECT_SCENES)]
    up = {"direction": 0.9, "opposite": -0.9, "length": None}
    of_arm = f"panda-2c-independent-{ARM_ACTIONS.partition('-')[2]}"
    rows += [action("cde-global@panda-2c", 0, 0.1, of_arm, accuracy={IID: 0.9}, moves={"panda_joint1": up})]
    assert of_rows(action_rows=tuple(rows)) == [
        ["images", "method", "test", "accuracy", "best baseline"],
        ["single objects", "deltas of whole images", "compositional shift", "0.75 ± 0.07", "0.60 (plain ViT)"],
        ["", "deltas of whole images", "systematic shift", "0.65 ± 0.07", "0.80 (ResNet, independence (ICM))"],
        ["several objects in a scene", "deltas of patches", "compositional shift", "0.50", ""],
        ["", "deltas of patches", "systematic shift", "0.40", ""],
        ["joints of an arm", "deltas from the packaged encoder", "in distribution", "0.90", ""],
        ["Preset compact, 2 cores, 10 minutes."],
    ]
