"""The disentanglement study: sections of the page, and Markdown tables."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ModelRow, by_disentanglement
from ropes.report import pictures, study_figures
from ropes.report.artefacts import arrays_of_seed, read_arrays
from ropes.report.page import Section, Source, Strip, absent, details, explained, plot, strips, tag
from ropes.report.study_numbers import (
    ALL_REGRESSORS,
    CLASSIFIER,
    COUNTS,
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
    ood2,
    score_text,
    selected,
    sizes_text,
    supervision_scores,
    transfers,
)
from ropes.report.table import Table, paragraphs
from ropes.report.words import fixed, median_and_range, origin
from ropes.simulation.finger_setting import FEASIBILITY_FILE
from ropes.simulation.settings import FINGER_CUBE

#: Heading, explanation, sentences with numbers, and figures by their labels.
Topic = tuple[str, Markup, list[str], dict[str, Figure]]
#: Name → array of a model's pictures.
Arrays = dict[str, NDArray[Any]]
#: Every score of the table of models, with its heading.
_COLUMNS = METRICS | COUNTS | LABEL_FREE
_COLUMNS |= {"classifier": CLASSIFIER}
_COLUMNS |= {f"{r}_{s}": f"{words}: {name}" for r, words in ALL_REGRESSORS.items() for s, name in SCENARIOS.items()}
_COLUMNS |= {f"{r}_ood": f"{words}: shifted poses" for r, words in ALL_REGRESSORS.items()}
#: Splits whose images are shown beside their reconstructions.
_SHOWN = {
    "test-id": "in distribution",
    "test-hues": "held-out hues (OOD2-A)",
    "test-ood": "shifted poses",
    "test-shifted": "another domain, a stand-in for photographs (OOD2-B)",
    "photographs": "photographs (OOD2-B)",
}
#: Errors of the Markdown table.
_ERRORS = {
    "trees_id": f"error {SCENARIOS['id']}",
    "trees_ood1": "OOD1, mean of A to C",
    **{f"trees_{key}": SCENARIOS[key] for key in ("ood2_a", "ood2_b", "ood2_b_real")},
    "trees_ood": "error, shifted poses",
}


def title(source: Source) -> str:
    """The title of the part, with the name of another experiment than the study."""
    name = source.results.name
    return "Disentanglement" + ("" if name == "disentanglement" else f": {name}")


def plots(source: Source) -> Iterator[Section]:
    """The figures, by topic."""
    for number, (heading, text, notes, drawn) in enumerate(_topics(source), 1):
        content = [text, *(tag("p", note) for note in notes), *(plot(figure, label) for label, figure in drawn.items())]
        yield Section(f"models-{number}", heading, content)


def _topics(source: Source) -> Iterator[Topic]:
    """The comparison of supervisions, the figures of the paper in its order, and the map of possible states."""
    rows = source.results.model_rows
    if images_differ(rows):
        curves = study_figures.supervision_curves(rows, supervision_scores(rows))
        yield "Comparison of supervision", explained("supervision"), [], {"scores against images": curves}
    if transfers(rows):
        yield from _of_paper(rows)
    path = source.folder / "artefacts" / FINGER_CUBE / FEASIBILITY_FILE
    if (arrays := read_arrays(path)) is not None:
        maps = study_figures.feasibility_maps(arrays["drawn"], arrays["possible"], arrays["upright"])
        yield "Possible states", explained("feasibility"), [], {"possible states": maps}


def _of_paper(rows: Sequence[ModelRow]) -> Iterator[Topic]:
    """Dittadi et al. 2021, Figs. 3 to 6, 14 and 15."""
    classifier = all("classifier" in row.scores for row in rows)
    free = LABEL_FREE | ({"classifier": CLASSIFIER} if classifier else {})
    scenarios = (*OOD1, *ood2(rows))
    errors = {f"{name}_{key}": f"{SCENARIOS[key]}, {words}" for name, words in REGRESSORS.items() for key in scenarios}
    figures = {
        "metrics of each model": study_figures.metric_violins(rows),
        "rank correlations with metrics": study_figures.correlation_maps(rows, free),
    }
    yield "Metrics", explained("metrics", classifier=classifier), against_paper(rows), figures
    figures = {
        "OOD1 error against DCI": study_figures.transfer_scatter(rows, OOD1),
        "OOD2 error against DCI": study_figures.transfer_scatter(rows, ood2(rows)),
        "rank correlations of errors with metrics": study_figures.correlation_maps(rows, errors),
    }
    yield "Transfer", explained("transfer"), [], figures
    figures = {
        "rank correlations of errors with input noise": study_figures.noise_correlations(rows),
        "errors by input noise": study_figures.noise_violins(rows),
    }
    figures |= {
        f"errors of each factor, {SCENARIOS[key]}": study_figures.factor_violins(rows, key) for key in ood2(rows)
    }
    yield "Input noise", explained("noise"), [], figures
    figures = {"label-free measures against metrics": study_figures.label_free_scatter(rows)}
    yield "Model selection without labels", explained("label_free"), selected(rows), figures


def traversals(source: Source) -> Iterator[Section]:
    """Traversals of the latents of up to three models."""
    missing = absent("No pictures were recorded.")
    return _of_shown_models(source, "traversals", "Traversals of the latents", _traversals, missing)


def reconstructions(source: Source) -> Iterator[Section]:
    """Reconstructions of the same models, and their draws from the prior."""
    return _of_shown_models(source, "reconstructions", "Reconstructions", _reconstructions)


def _of_shown_models(
    source: Source,
    name: str,
    title: str,
    draw: Callable[[str, Arrays, ModelRow], Markup],
    missing: Markup | None = None,
) -> Iterator[Section]:
    """A section with pictures of the VAEs of smallest, median and largest DCI; `missing` stands for absent pictures."""
    content: list[Markup] = []
    for row in by_disentanglement([row for row in source.results.model_rows if "elbo" in row.scores]):
        heading = f"{row.method}, seed {row.seed}: DCI {fixed(row.scores['dci'], 2)}"
        if (arrays := arrays_of_seed(source.folder, row, "pictures.npz")) is not None:
            content += [tag("h3", heading), draw(heading, arrays, row)]
        elif missing is not None:
            content += [tag("h3", heading), missing]
    if content:
        yield Section(name, title, [explained(name), *content])


def _traversals(heading: str, arrays: Arrays, row: ModelRow) -> Markup:
    """A row of images for each latent, with the factor that it encodes; evaluations of older versions name none."""
    names = factor_names([row])
    labels = [f"latent {number}" for number in arrays["latents"]]
    if "encoded" in arrays:
        encoded = zip(labels, arrays["encoded"], arrays["information"], strict=True)
        labels = [
            f"{names[str(factor)]} {fixed(share, 2)}, {label}" if factor else f"no factor, {label}"
            for label, factor, share in encoded
        ]
    rows = [Strip(label, pictures.strip(images)) for label, images in zip(labels, arrays["sweeps"], strict=True)]
    unit = " standard deviations" if "encoded" in arrays else ""
    return strips([(f"traversals, from −2 (left) to 2 (right){unit}", rows)], "stacked", heading)


def _reconstructions(heading: str, arrays: Arrays, _: ModelRow) -> Markup:
    """Images above their reconstructions, and draws from the prior."""
    made = [
        Strip(words, pictures.stack([pictures.strip(arrays[f"{split}_{kind}"]) for kind in ("images", "made")]), True)
        for split, words in _SHOWN.items()
        if f"{split}_images" in arrays
    ]
    if "drawn" in arrays:
        made.append(Strip("draws from the prior", pictures.strip(arrays["drawn"]), True))
    return strips([("images and reconstructions", made)], "stacked", heading)


def all_numbers(source: Source) -> Iterator[Section]:
    """Every score of every model."""
    rows = source.results.model_rows
    scores = {score: name for score, name in _COLUMNS.items() if any(score in row.scores for row in rows)}
    factors = factor_names(rows)
    lines = [
        [
            *(row.method, str(row.seed), f"{row.seconds:,.0f}"),
            *(score_text(score, row.scores.get(score)) for score in scores),
            *(fixed(row.informativeness.get(factor)) for factor in factors),
        ]
        for row in rows
    ]
    heads = ["method", "seed", "seconds", *scores.values(), *factors.values()]
    reasons = sorted({f"{_COLUMNS[name]}: {why}" for row in rows for name, why in row.reasons.items()})
    undefined = [absent(f"Undefined, {reason}.") for reason in reasons]
    table = details(f"{len(lines)} models", Table(heads, lines).html(), opened=True)
    yield Section("all-models", "All numbers", [explained("all_models", sizes=sizes_text(rows)), *undefined, table])


def study_markdown(found: Results) -> str:
    """Tables of scores and of factors with a line for each group of models, the findings, and the origin.

    A group has one supervision, and one number of images, or input noise or none, where these differ.

    Args:
        found: with `model_rows`.
    """
    rows = found.model_rows
    heads, groups = _groups(rows)
    scores, factors = _scores(rows), factor_names(rows)
    first = [[*words, *(_range(column(group, score), score) for score in scores)] for words, group in groups]
    second = [
        [*words, *(_range(np.array([row.informativeness[name] for row in group]), name) for name in factors)]
        for words, group in groups
    ]
    classes = "; accuracy for the hue, a class" if "cube_hue" in factors else ""
    several = "Median (minimum to maximum) over the models of a line. " if len(rows) > len(groups) else ""
    sentences = [*findings(rows), *selected(rows)] if transfers(rows) else []
    about = (
        f"{several}Errors of boosted trees, in shares of the factors' ranges.",
        sizes_text(rows),
        origin(found),
    )
    return paragraphs(
        Table([*heads, *scores.values()], first).markdown(),
        f"Prediction of each factor from all latents together (R²{classes}):",
        Table([*heads, *factors.values()], second).markdown(),
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


def _scores(rows: Sequence[ModelRow]) -> dict[str, str]:
    """The scores of the table of groups, with their headings."""
    headings = METRICS | _ERRORS
    shown = {
        score: transfers(rows) if score == "trees_ood1" else bool(np.isfinite(column(rows, score)).any())
        for score in ("dci", "mig", "sap", "modularity", "mcc", "informativeness", *_ERRORS)
    }
    return {score: headings[score] for score, measured in shown.items() if measured}


def _range(values: Floats, score: str) -> str:
    return median_and_range(values, lambda value: score_text(score, value))
