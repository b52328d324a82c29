"""The page's part on the disentanglement study."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ropes.evaluation.results import Results
from ropes.evaluation.rows.model import ModelRow, by_disentanglement
from ropes.report import pictures, study_figures
from ropes.report.artefacts import pictures_of, read_arrays
from ropes.report.numbers import fixed
from ropes.report.page import Part, render
from ropes.report.sections import inline
from ropes.report.study_numbers import (
    ALL_REGRESSORS,
    CLASSIFIER,
    LABEL_FREE,
    METRICS,
    OOD1,
    REGRESSORS,
    SCENARIOS,
    against_paper,
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
from ropes.simulation.finger_setting import FEASIBILITY_FILE
from ropes.simulation.settings import FINGER_CUBE

#: Heading, text, sentences with figures, and plots with what they show.
Section = tuple[str, str, list[str], list[tuple[str, Figure]]]
#: Every score of the table of models, with its heading.
_COLUMNS = METRICS | LABEL_FREE
_COLUMNS |= {"classifier": CLASSIFIER}
_COLUMNS |= {f"{r}_{s}": f"{words}: {name}" for r, words in ALL_REGRESSORS.items() for s, name in SCENARIOS.items()}
_COLUMNS |= {f"{r}_ood": f"{words}: shifted poses" for r, words in ALL_REGRESSORS.items()}
#: Splits whose images are shown beside what the decoder makes of them.
_SHOWN = {
    "test-id": "like those of the training",
    "test-hues": "hues held out (OOD2-A)",
    "test-ood": "shifted poses",
    "test-shifted": "another domain, a stand-in for photographs (OOD2-B)",
    "photographs": "photographs (OOD2-B)",
}


def study_part(found: Results, folder: Path) -> Part:
    """The part of results with `model_rows`.

    Args:
        found: the results.
        folder: with artefacts/SETUP/METHOD/seed-K/pictures.npz and artefacts/SETUP/feasibility.npz, where recorded.

    Raises:
        UserError: an artefact is damaged.
    """
    rows = found.model_rows
    columns = {score: name for score, name in _COLUMNS.items() if any(score in row.scores for row in rows)}
    factors = factor_names(rows)
    plots = _plots(rows, folder)
    body = render(
        "study.html.j2",
        plots=plots,
        models=[_model(row, folder) for row in by_disentanglement([row for row in rows if "elbo" in row.scores])],
        factors=list(factors.values()),
        columns=columns,
        sizes=sizes_text(rows),
        table=[_cells(row, columns, factors) for row in rows],
        reasons=sorted({f"{METRICS[name]}: {why}" for row in rows for name, why in row.reasons.items()}),
    )
    return Part(
        title="Disentanglement" + ("" if found.name == "disentanglement" else f": {found.name}"),
        findings=findings(rows),
        links={f"models-{number}": plot["heading"] for number, plot in enumerate(plots, 1)}
        | {"latents": "What latents do", "all-models": "All numbers"},
        body=body,
    )


def _plots(rows: Sequence[ModelRow], folder: Path) -> list[dict[str, Any]]:
    """Heading, sentence and figures of each part."""
    parts = []
    if images_differ(rows):
        parts.append(_supervision(rows))
    if transfers(rows):
        parts += _study(rows)
    shown = [
        {"heading": heading, "text": text, "notes": notes, "svgs": [inline(figure, label) for label, figure in drawn]}
        for heading, text, notes, drawn in parts
    ]
    path = folder / "artefacts" / FINGER_CUBE / FEASIBILITY_FILE
    if (arrays := read_arrays(path)) is not None:
        figure = study_figures.feasibility_maps(arrays["drawn"], arrays["possible"], arrays["upright"])
        text = "States in which the finger stands in the cube or in the floor are in no image (Figs. 9 and 10)."
        svgs = [inline(figure, "possible states")]
        shown.append({"heading": "Possible states", "text": text, "notes": [], "svgs": svgs})
    return shown


def _supervision(rows: Sequence[ModelRow]) -> Section:
    """What the same images teach under other supervisions."""
    return (
        "Which supervision buys more",
        "The same images, learnt from without a label: by themselves, in pairs of an anchor (which differ in one "
        "joint, nobody says which), and by which joint's policy was running, without and with anchors.",
        [],
        [("scores against images", study_figures.supervision_curves(rows, supervision_scores(rows)))],
    )


def _study(rows: Sequence[ModelRow]) -> list[Section]:
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


def _model(row: ModelRow, folder: Path) -> dict[str, Any]:
    """One model's pictures: sweeps of its latents, and reconstructions."""
    arrays = read_arrays(pictures_of(folder, row))
    heading = f"{row.method}, seed {row.seed}: DCI {fixed(row.scores['dci'], 2)}"
    if arrays is None:
        return {"heading": heading, "sweeps": [], "splits": [], "drawn": None}
    return {
        "heading": heading,
        "sweeps": [
            {"label": f"latent {number}", "uri": pictures.data_uri(pictures.strip(images))}
            for number, images in zip(arrays["latents"], arrays["sweeps"], strict=True)
        ],
        "drawn": pictures.data_uri(pictures.strip(arrays["drawn"])) if "drawn" in arrays else None,
        "splits": [
            {
                "label": words,
                "uri": pictures.data_uri(
                    pictures.stack([pictures.strip(arrays[f"{split}_{kind}"]) for kind in ("images", "made")])
                ),
            }
            for split, words in _SHOWN.items()
            if f"{split}_images" in arrays
        ],
    }


def _cells(row: ModelRow, columns: Iterable[str], factors: Iterable[str]) -> list[str]:
    """A model's line of the table of all numbers."""
    head = [row.method, str(row.seed), f"{row.seconds:,.0f}"]
    told = [fixed(row.informativeness.get(factor)) for factor in factors]
    return [*head, *(score_text(score, row.scores.get(score)) for score in columns), *told]
