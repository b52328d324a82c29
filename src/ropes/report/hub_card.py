"""The README of a packaged or an exported estimator, with metadata for model hubs."""

from collections.abc import Mapping
from math import degrees, sqrt
from statistics import fmean
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.methods.run import Run
from ropes.report.model_card import about, licence, most_labels, rows_of
from ropes.report.page import render


def package_readme(name: str, run: Run, card: str, results: Results | None) -> str:
    """The README of a packaged estimator: metadata, how to read it, and its card.

    Args:
        name: of the estimator.
        run: the fit.
        card: the text of `model_card`.
        results: evaluation of the run, for the metrics; None for none.
    """
    return render("package_readme.md.j2", metadata=_metadata(name, run, results, "safetensors"), card=card)


def hub_card(
    name: str, run: Run, config: Mapping[str, Any], *, card: str | None = None, results: Results | None = None
) -> str:
    """The card as Markdown, with a block of metadata in YAML.

    Args:
        name: of the estimator.
        run: the fit.
        config: the description of the exported file, config.json.
        card: the text of `model_card`; None for a short one.
        results: evaluation of the run, for the metrics; None for none.
    """
    return render(
        "hub_card.md.j2",
        metadata=_metadata(name, run, results, config["format"]),
        name=name,
        card=card,
        config=config,
        run=run,
        method=about(run),
        viewed=any(camera["view"] for camera in config["cameras"]),
        side=config["inputs"][0]["shape"][1],
        letterboxed=any(
            [camera["height"], camera["width"]] != list(entry["shape"][1:3])
            for camera, entry in zip(config["cameras"], config["inputs"], strict=True)
        ),
    )


def _metadata(name: str, run: Run, results: Results | None, form: str) -> str:
    """The block of metadata in YAML."""
    rows = [] if results is None else rows_of(run, results.rows)
    reported = [row for row in rows if not row.occlusion and row.calibration_labels == most_labels(rows)]
    described = ModelCardData(
        library_name="ropes",
        license=licence().lower(),
        pipeline_tag="robotics",
        tags=["robotics", "joint-angles", "causal-representation-learning", form],
        model_name=name,
        eval_results=_metrics(run, reported) or None,
    )
    return described.to_yaml()


def _metrics(run: Run, rows: list[Row]) -> list[EvalResult]:
    """RMS error in degrees, mean squared error and correlation, over all joints, for each test split."""
    made = []
    for split in dict.fromkeys(row.split for row in rows):
        own = [row for row in rows if row.split == split]
        errors, correlations = (
            [value for value in values if value is not None]
            for values in ([row.mse_mean for row in own], [row.mcc_mean for row in own])
        )
        figures: dict[str, tuple[str, float]] = {}
        if errors:
            figures["rmse"] = "root mean square error over joints, °", degrees(sqrt(fmean(errors)))
            figures["mse"] = "mean squared error over joints, rad²", fmean(errors)
        if correlations:
            figures["mcc"] = "mean correlation coefficient over joints", fmean(correlations)
        made += [
            EvalResult(
                task_type="robotics",
                task_name="joint angles from images",
                dataset_type=run.setting,
                dataset_name=run.setting,
                dataset_split=f"test-{split}",
                metric_type=kind,
                metric_name=words,
                metric_value=float(f"{value:.3g}"),
            )
            for kind, (words, value) in figures.items()
        ]
    return made
