"""The disentanglement study: sections of the page, and Markdown tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from ropes.evaluation.results import Results
from ropes.evaluation.rows.model import ModelRow, by_disentanglement
from ropes.report import pictures, study_figures
from ropes.report.artefacts import pictures_of, read_arrays
from ropes.report.elements import Strip, absent, details, plot, strips, tag
from ropes.report.numbers import Floats, fixed, median_and_range
from ropes.report.page import Section, Source
from ropes.report.study_numbers import (
    ALL_REGRESSORS,
    CLASSIFIER,
    LABEL_FREE,
    METRICS,
    OOD1,
    REGRESSORS,
    SCENARIOS,
    against_paper,
    by_supervision,
    column,
    factor_names,
    findings,
    images_differ,
    mean_ood1,
    ood2,
    score_text,
    selected,
    sizes_text,
    supervision_scores,
    transfers,
)
from ropes.report.table import Table, number_columns, paragraphs, text_columns
from ropes.report.words import origin
from ropes.simulation.finger_setting import FEASIBILITY_FILE
from ropes.simulation.settings import FINGER_CUBE

#: Heading, text, sentences with numbers, and figures with their labels.
Topic = tuple[str, str, list[str], list[tuple[str, Figure]]]
#: Every score of the table of models, with its heading.
_COLUMNS = METRICS | LABEL_FREE
_COLUMNS |= {"classifier": CLASSIFIER}
_COLUMNS |= {f"{r}_{s}": f"{words}: {name}" for r, words in ALL_REGRESSORS.items() for s, name in SCENARIOS.items()}
_COLUMNS |= {f"{r}_ood": f"{words}: shifted poses" for r, words in ALL_REGRESSORS.items()}
#: Splits whose images are shown beside their reconstructions.
_SHOWN = {
    "test-id": "like those of the training",
    "test-hues": "hues held out (OOD2-A)",
    "test-ood": "shifted poses",
    "test-shifted": "another domain, a stand-in for photographs (OOD2-B)",
    "photographs": "photographs (OOD2-B)",
}
#: Errors of the Markdown table.
_ERRORS = {
    "trees_id": f"error {SCENARIOS['id']}",
    **{f"trees_{key}": SCENARIOS[key] for key in ("ood2_a", "ood2_b", "ood2_b_real")},
    "trees_ood": "error, shifted poses",
}


def title(source: Source) -> str:
    """The title of the part, with the name of another experiment than the study."""
    name = source.results.name
    return "Disentanglement" + ("" if name == "disentanglement" else f": {name}")


def all_findings(source: Source) -> list[str]:
    """Sentences on the models."""
    return findings(source.results.model_rows)


def plots(source: Source) -> Iterator[Section]:
    """The figures, by topic."""
    rows = source.results.model_rows
    topics = [_supervision(rows)] if images_differ(rows) else []
    if transfers(rows):
        topics += _study(rows)
    path = source.folder / "artefacts" / FINGER_CUBE / FEASIBILITY_FILE
    if (arrays := read_arrays(path)) is not None:
        figure = study_figures.feasibility_maps(arrays["drawn"], arrays["possible"], arrays["upright"])
        text = "States in which the finger stands in the cube or in the floor are in no image (Figs. 9 and 10)."
        topics.append(("Possible states", text, [], [("possible states", figure)]))
    for number, (heading, text, notes, figures) in enumerate(topics, 1):
        content = [tag("p", line) for line in (text, *notes)] + [plot(figure, label) for label, figure in figures]
        yield Section(f"models-{number}", heading, content)


def _supervision(rows: Sequence[ModelRow]) -> Topic:
    """Models with other supervision, trained on the same images."""
    return (
        "Which supervision buys more",
        "The same images, learnt from without a label: by themselves, in pairs of an anchor (which differ in one "
        "joint, nobody says which), and by which joint's policy was running, without and with anchors.",
        [],
        [("scores against images", study_figures.supervision_curves(rows, supervision_scores(rows)))],
    )


def _study(rows: Sequence[ModelRow]) -> list[Topic]:
    """The figures of the paper, in its order."""
    free = dict(LABEL_FREE)
    if all("classifier" in row.scores for row in rows):
        free["classifier"] = CLASSIFIER
    transfer = {
        f"{regressor}_{scenario}": f"{SCENARIOS[scenario]}, {words}"
        for regressor, words in REGRESSORS.items()
        for scenario in (*OOD1, *ood2(rows))
    }
    return [
        (
            "Metrics",
            "Every dot is a model. Below: Spearman's rank correlation over models of what needs no label"
            + (", and of the error of a classifier in distribution," if "classifier" in free else "")
            + " with the metrics (after Fig. 3 of the paper).",
            against_paper(rows),
            [
                ("metrics of each model", study_figures.metric_violins(rows)),
                ("rank correlations with metrics", study_figures.correlation_maps(rows, free)),
            ],
        ),
        (
            "Transfer",
            "Mean absolute error of regressors from latents to factors, in shares of each factor's range, over the "
            "factors but the one that shifts. OOD1: hues that the regressors did not learn from (A: red to all others, "
            "B: violet end to red end, C: every other hue); OOD2: hues that the encoder did not see (A), and another "
            "domain (B): a second simulated one as a stand-in, and photographs where they were given (Figs. 4 and 5).",
            [],
            [
                ("OOD1 error against DCI", study_figures.transfer_scatter(rows, OOD1)),
                ("OOD2 error against DCI", study_figures.transfer_scatter(rows, ood2(rows))),
                ("rank correlations of errors with metrics", study_figures.correlation_maps(rows, transfer)),
            ],
        ),
        (
            "Input noise",
            "The same errors of boosted trees by whether noise was added to the encoder's input in training (Fig. 6), "
            "and factor by factor under OOD2-A and OOD2-B (Fig. 15).",
            [],
            [
                ("rank correlations of errors with input noise", study_figures.noise_correlations(rows)),
                ("errors by input noise", study_figures.noise_violins(rows)),
                *(
                    (f"errors of each factor, {SCENARIOS[name]}", study_figures.factor_violins(rows, name))
                    for name in ood2(rows)
                ),
            ],
        ),
        (
            "What needs no label",
            "Held-out ELBO and reconstruction loss against MIG and DCI (Fig. 14): where they go together, models can "
            "be chosen without labels.",
            selected(rows),
            [("label-free measures against metrics", study_figures.label_free_scatter(rows))],
        ),
    ]


def latents(source: Source) -> Iterator[Section]:
    """Sweeps and reconstructions of three models."""
    text = (
        "The models of least, middle and greatest DCI. Sweeps: the first test image with one latent going from −2 to 2, "
        "the other ones as they were; latents that vary most over images come first. Then images, and below each what the "
        "decoder makes of it; then what it makes of draws from the prior (Fig. 11)."
    )
    content = [tag("p", text)]
    for row in by_disentanglement([row for row in source.results.model_rows if "elbo" in row.scores]):
        heading = f"{row.method}, seed {row.seed}: DCI {fixed(row.scores['dci'], 2)}"
        content += [tag("h3", heading), _pictures(heading, pictures_of(source.folder, row))]
    yield Section("latents", "What latents do", content)


def _pictures(heading: str, path: Path) -> Markup:
    """Sweeps of a model's latents, and its reconstructions."""
    arrays = read_arrays(path)
    if arrays is None:
        return absent("No pictures were recorded.")
    sweeps = [
        Strip(f"latent {number}", pictures.strip(images))
        for number, images in zip(arrays["latents"], arrays["sweeps"], strict=True)
    ]
    made = [
        Strip(words, pictures.stack([pictures.strip(arrays[f"{split}_{kind}"]) for kind in ("images", "made")]), True)
        for split, words in _SHOWN.items()
        if f"{split}_images" in arrays
    ]
    if "drawn" in arrays:
        made.append(Strip("draws from the prior", pictures.strip(arrays["drawn"]), True))
    return strips([("sweeps", sweeps), ("images and reconstructions", made)], "stacked", heading)


def all_numbers(source: Source) -> Iterator[Section]:
    """Every score of every model."""
    rows = source.results.model_rows
    scores = {score: name for score, name in _COLUMNS.items() if any(score in row.scores for row in rows)}
    factors = factor_names(rows)
    columns = [*text_columns("method"), *number_columns("seed", "seconds", *scores.values(), *factors.values())]
    lines = [
        [
            *(row.method, str(row.seed), f"{row.seconds:,.0f}"),
            *(score_text(score, row.scores.get(score)) for score in scores),
            *(fixed(row.informativeness.get(factor)) for factor in factors),
        ]
        for row in rows
    ]
    text = (
        "Every model. Errors are in shares of the factors' ranges; the last columns say how well all latents together "
        f"tell each factor (R², of the hue the share of right answers). {sizes_text(rows)}"
    )
    reasons = sorted({f"{METRICS[name]}: {why}" for row in rows for name, why in row.reasons.items()})
    undefined = [absent(f"Undefined, {reason}.") for reason in reasons]
    table = details(f"{len(lines)} models", Table(columns, lines).html(), opened=True)
    yield Section("all-models", "All numbers", [tag("p", text), *undefined, table])


def study_markdown(found: Results) -> str:
    """Tables of scores and of factors with a line for each group of models, the findings, and the origin.

    A group has one supervision, and one number of images, or input noise or none, where these differ.

    Args:
        found: with `model_rows`.
    """
    rows = found.model_rows
    heads, groups = _groups(rows)
    scores, factors = _scores(rows), factor_names(rows)
    first = [[*words, *(_range(of(group), name) for name, of in scores.values())] for words, group in groups]
    second = [
        [*words, *(_range(np.array([row.informativeness[name] for row in group]), name) for name in factors)]
        for words, group in groups
    ]
    classes = "; of the hue, a class, the share of right answers" if "cube_hue" in factors else ""
    several = "Median (least to greatest) of the models of a line. " if len(rows) > len(groups) else ""
    sentences = [*findings(rows), *selected(rows)] if transfers(rows) else []
    columns = [*text_columns(heads[0]), *number_columns(*heads[1:])]
    about = (
        f"{several}Errors of boosted trees, in shares of the factors' ranges.",
        sizes_text(rows),
        origin(found, scene=False),
    )
    return paragraphs(
        Table([*columns, *number_columns(*scores)], first).markdown(),
        f"How well all latents together tell each factor (R²{classes}):",
        Table([*columns, *number_columns(*factors.values())], second).markdown(),
        "\n".join(f"- {sentence}" for sentence in sentences),
        " ".join(filter(None, about)),
    )


def _groups(rows: Sequence[ModelRow]) -> tuple[list[str], list[tuple[list[str], list[ModelRow]]]]:
    """Headings of the first columns, and the words and models of each group."""
    images = images_differ(rows)
    setting, head = ("images", "images") if images else ("noise", "input noise")
    found = []
    for words, models in by_supervision(rows).items():
        for value in sorted({row.settings.get(setting, 0.0) for row in models}):
            group = [row for row in models if row.settings.get(setting, 0.0) == value]
            text = f"{value:,.0f}" if images else ("with" if value else "without")
            found.append(([words, text, str(len(group))], group))
    return ["supervision", head, "models"], found


def _scores(rows: Sequence[ModelRow]) -> Mapping[str, tuple[str, Callable[[Sequence[ModelRow]], Floats]]]:
    """Heading → the name of a score, and its values for a group of models."""
    found: dict[str, tuple[str, Callable[[Sequence[ModelRow]], Floats]]] = {}
    headings = METRICS | _ERRORS
    for score in ("dci", "mig", "sap", "modularity", "mcc", "informativeness", *_ERRORS):
        if np.isfinite(column(rows, score)).any():
            found[headings[score]] = score, lambda group, score=score: column(group, score)
        if score == "trees_id" and transfers(rows):
            found["OOD1, mean of A to C"] = "trees_ood1", mean_ood1
    return found


def _range(values: Floats, score: str) -> str:
    return median_and_range(values, lambda value: score_text(score, value))
