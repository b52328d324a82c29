"""Markdown tables of the disentanglement study."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ropes.evaluation.results import Results
from ropes.evaluation.rows.model import ModelRow
from ropes.report.markdown_tables import table
from ropes.report.study_numbers import (
    METRICS,
    SCENARIOS,
    by_supervision,
    column,
    factor_names,
    findings,
    images_differ,
    mean_ood1,
    score_text,
    selected,
    sizes_text,
    transfers,
)

Floats = NDArray[np.float64]
_SHOWN = ("dci", "mig", "sap", "modularity", "mcc", "informativeness")
_ERRORS = {
    "trees_id": f"error {SCENARIOS['id']}",
    **{f"trees_{key}": SCENARIOS[key] for key in ("ood2_a", "ood2_b", "ood2_b_real")},
    "trees_ood": "error, shifted poses",
}


def study_markdown(found: Results) -> str:
    """Two tables, of scores and of factors, a line for each group of models; what they show; and their origin.

    Groups are of one supervision, and of one number of images, or without or with input noise, where that differs.

    Args:
        found: with `model_rows`.
    """
    rows = found.model_rows
    heads, groups = _groups(rows)
    scores = _scores(rows)
    told = factor_names(rows)
    first = [[*words, *(_spread(of(group), name) for name, of in scores.values())] for words, group in groups]
    second = [
        [*words, *(_spread(np.array([row.informativeness[factor] for row in group]), factor) for factor in told)]
        for words, group in groups
    ]
    classes = "; of the hue, a class, the share of right answers" if "cube_hue" in told else ""
    several = "Median (least to greatest) of the models of a line. " if len(rows) > len(groups) else ""
    said = [*findings(rows), *selected(rows)] if transfers(rows) else []
    parts = [
        table(heads[:1], [*heads[1:], *scores], first),
        f"How well all latents together tell each factor (R²{classes}):",
        table(heads[:1], [*heads[1:], *told.values()], second),
        "\n".join(f"- {sentence}" for sentence in said),
        " ".join(
            filter(
                None,
                (
                    f"{several}Errors of boosted trees, in shares of the factors' ranges.",
                    sizes_text(rows),
                    f"Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes.",
                ),
            )
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _groups(rows: Sequence[ModelRow]) -> tuple[list[str], list[tuple[list[str], list[ModelRow]]]]:
    """Headings of the columns that tell groups apart, and each group's words and models."""
    images = images_differ(rows)
    setting, head = ("images", "images") if images else ("noise", "input noise")
    found = []
    for words, models in by_supervision(rows).items():
        for value in sorted({row.settings.get(setting, 0.0) for row in models}):
            group = [row for row in models if row.settings.get(setting, 0.0) == value]
            told = f"{value:,.0f}" if images else ("with" if value else "without")
            found.append(([words, told, str(len(group))], group))
    return ["supervision", head, "models"], found


def _scores(rows: Sequence[ModelRow]) -> Mapping[str, tuple[str, Callable[[Sequence[ModelRow]], Floats]]]:
    """Heading → the score, and what it says of each model of a group."""

    def of(score: str) -> tuple[str, Callable[[Sequence[ModelRow]], Floats]]:
        return score, lambda group: column(group, score)

    known = METRICS | _ERRORS
    shown = [name for name in (*_SHOWN, *_ERRORS) if np.isfinite(column(rows, name)).any()]
    found = {known[name]: of(name) for name in shown}
    if transfers(rows):
        place = list(found).index(_ERRORS["trees_id"]) + 1
        entries = list(found.items())
        found = dict([*entries[:place], ("OOD1, mean of A to C", ("trees_ood1", mean_ood1)), *entries[place:]])
    return found


def _spread(values: Floats, score: str) -> str:
    """Median of a score, and the range where there are several; empty where undefined."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return ""
    middle, least, greatest = (score_text(score, float(one)) for one in (np.median(kept), kept.min(), kept.max()))
    return middle if len(kept) == 1 else f"{middle} ({least} to {greatest})"
