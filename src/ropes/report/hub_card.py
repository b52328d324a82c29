"""The README of an exported estimator: a model card with the metadata that model hubs read, and how to use the file."""

from collections.abc import Mapping
from importlib.metadata import metadata
from statistics import fmean
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.methods.registry import method_named
from ropes.methods.run import Run
from ropes.report.page import render
from ropes.report.words import capitalised

_TAGS = ("robotics", "joint-angles", "causal-representation-learning")


def hub_card(
    name: str, run: Run, config: Mapping[str, Any], *, card: str | None = None, results: Results | None = None
) -> str:
    """The card as Markdown, with a block of metadata in YAML.

    Args:
        name: of the estimator.
        run: the fit.
        config: the description of the exported file, config.json.
        card: the model card of `ropes.report.model_card`; None for a short one.
        results: evaluation of the run, for the metrics; None for none.
    """
    rows = [] if results is None else [row for row in results.rows if _is_reported(run, row)]
    about = ModelCardData(
        library_name="ropes",
        license=(metadata("ropes")["License-Expression"] or "Apache-2.0").lower(),
        pipeline_tag="robotics",
        tags=[*_TAGS, config["format"]],
        model_name=name,
        eval_results=_metrics(run, rows) or None,
    )
    method = method_named(run.method)
    return render(
        "hub_card.md.j2",
        metadata=about.to_yaml(),
        name=name,
        card=card,
        config=config,
        run=run,
        method=method.description or f"{capitalised(method.summary)}.",
        side=config["inputs"][0]["shape"][1],
        letterboxed=any(_is_letterboxed(*each) for each in zip(config["cameras"], config["inputs"], strict=True)),
    )


def _is_letterboxed(camera: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether the images of a camera have another size than its input."""
    return [camera["height"], camera["width"]] != list(entry["shape"][1:3])


def _is_reported(run: Run, row: Row) -> bool:
    """Whether a row is of this run, without squares, with the paper's number of calibration labels if it needs any."""
    same = (row.setup, row.method, row.seed) == (run.setting, run.method, run.seed)
    labels = 0 if method_named(run.method).reads_labels else CALIBRATION_LABELS
    return same and not row.occlusion and row.calibration_labels == labels


def _metrics(run: Run, rows: list[Row]) -> list[EvalResult]:
    """Mean squared error and correlation, as means over the joints, for each test split."""
    made = []
    for split in dict.fromkeys(row.split for row in rows):
        own = [row for row in rows if row.split == split]
        figures = {
            "mse": ("mean squared error over joints, rad²", [row.mse_mean for row in own]),
            "mcc": ("mean correlation coefficient over joints", [row.mcc_mean for row in own]),
        }
        made += [
            EvalResult(
                task_type="robotics",
                task_name="joint angles from images",
                dataset_type=run.setting,
                dataset_name=run.setting,
                dataset_split=f"test-{split}",
                metric_type=kind,
                metric_name=words,
                metric_value=float(f"{fmean(known):.3g}"),
            )
            for kind, (words, values) in figures.items()
            if (known := [value for value in values if value is not None])
        ]
    return made
