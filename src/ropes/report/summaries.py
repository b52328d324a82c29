"""Short Markdown tables of models and of actions: the columns that a reader compares first."""

from collections.abc import Iterator, Sequence

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from ropes.report.action_numbers import (
    HELD_AGAINST,
    METHODS,
    SCENES,
    SHIFTS,
    Methods,
    accuracies,
    best_of,
    in_order,
    of_an_arm,
    spread,
)
from ropes.report.study_numbers import METRICS, by_supervision, column
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import fixed, median_and_range, origin
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC


def summary_markdown(found: Results) -> str:
    """DCI of models, or accuracies of actions beside the best baseline, and the origin of the numbers."""
    of_models = [_of_models(found.model_rows)] if found.model_rows else []
    of_actions = [_of_actions(found.action_rows)] if found.action_rows else []
    return paragraphs(*of_models, *of_actions, origin(found, scene=bool(of_models)))


def _of_models(rows: Sequence[ModelRow]) -> str:
    """Median and range of DCI of each supervision, of the models that were trained on the most images."""
    lines = []
    for words, group in by_supervision(rows).items():
        by_images = grouped(group, lambda row: row.settings.get("images") or 0.0)
        images, largest = max(by_images.items(), key=lambda item: item[0])
        quality = median_and_range(column(largest, "dci"), fixed)
        lines.append([words, f"{images:,.0f}" if images else "", len(largest), quality])
    table = Table(["supervision", "training images", "models", METRICS["dci"]], lines)
    tested = {row.sizes.get("tested") for row in rows}
    count = tested.pop() if len(tested) == 1 else None
    trees = f"DCI's trees use {count:,.0f} test images, three quarters of them in training." if count else ""
    return paragraphs(table.markdown(), trees).rstrip()


def _of_actions(rows: Sequence[ActionRow]) -> str:
    """Accuracies of embeddings and of the best of their baselines under each shift."""
    lines = ((SCENES.get(setup, setup), line) for setup, group in in_order(rows).items() for line in _actions(group))
    heads = ["images", "method", "test", "accuracy", "best baseline"]
    return Table(heads, named_once(lines), texts=(0, 1, 2)).markdown()


def _actions(methods: Methods) -> Iterator[list[object]]:
    """Lines of one setting: embeddings with baselines under both shifts, those of an arm's actions in distribution."""
    shown = methods if of_an_arm(methods) else [name for name in HELD_AGAINST if name in methods]
    for name in shown:
        others = {other: methods[other] for other in HELD_AGAINST.get(name, ()) if other in methods}
        for split in (IID,) if of_an_arm(methods) else (COMPOSITIONAL, SYSTEMATIC):
            best = best_of(others, split)
            beside = "" if best is None else f"{spread(accuracies(methods[best], split), 2)} ({METHODS[best]})"
            yield [METHODS.get(name, name), SHIFTS[split], spread(accuracies(methods[name], split), 2), beside]
