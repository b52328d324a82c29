"""Figures of the disentanglement study (Dittadi et al. 2021, Figs. 3 to 6, 9, 10, 14 and 15)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.evaluation.rows.kinds import ModelRow
from ropes.metrics.transfer import least_significant_correlation
from ropes.report.figures import FLOOR, OURS, PAPER, heat, make_panels, shared_legend, styled, titled_panels
from ropes.report.study_numbers import (
    FACTORS,
    LABEL_FREE,
    METRICS,
    REGRESSORS,
    SCENARIOS,
    SUPERVISION,
    by_supervision,
    column,
    correlations,
)
from ropes.simulation.finger_setting import FACTORS as GRID

#: Fewer values are drawn as dots only, without the outline of a violin.
_OUTLINED = 8
_COLOURS = dict(zip(SUPERVISION.values(), (PAPER, OURS, FLOOR, "#cc79a7", "#e69f00"), strict=True))
_NOISE = {"without noise": "#8c8c8c", "with noise": OURS}


@styled
def metric_violins(rows: Sequence[ModelRow]) -> Figure:
    """Every metric over the models of each supervision (Fig. 3, left)."""
    metrics = _measured(METRICS, rows)
    figure, panels = titled_panels(metrics.values(), height=2.1, columns=4)
    for panel, score in zip(panels, metrics, strict=True):
        _violins(panel, {words: column(group, score) for words, group in by_supervision(rows).items()}, _COLOURS)
        panel.set_ylim(min(-0.03, panel.get_ylim()[0]), 1.03)
    return shared_legend(figure, panels)


@styled
def correlation_maps(rows: Sequence[ModelRow], scores: Mapping[str, str]) -> Figure:
    """Spearman's rank correlation of some scores with the metrics, a panel for each supervision (Figs. 3 to 5)."""
    metrics, groups = _measured(METRICS, rows), by_supervision(rows)
    titles = [f"{words}, {len(group)} models{_significant(len(group))}" for words, group in groups.items()]
    figure, panels = titled_panels(titles, height=0.9 + 0.3 * len(scores), columns=1, width=7.2)
    for panel, group in zip(panels, groups.values(), strict=True):
        heat(panel, correlations(group, list(scores), list(metrics)), list(scores.values()), list(metrics.values()))
    return figure


def _significant(models: int) -> str:
    """From which correlation on the 95% interval excludes zero; empty for so few models that there is no interval."""
    least = least_significant_correlation(models)
    return "" if np.isnan(least) else f" (95% interval excludes 0 from ±{least:.2f} on)"


@styled
def transfer_scatter(rows: Sequence[ModelRow], scenarios: Sequence[str]) -> Figure:
    """Transfer error against DCI for both regressors, filled with input noise (Figs. 4 and 5, left)."""
    titles = {f"{r}_{key}": f"{SCENARIOS[key]}, {words}" for r, words in REGRESSORS.items() for key in scenarios}
    size = {"height": 2.5, "columns": len(scenarios), "width": 3.2 * len(scenarios)}
    figure, panels = titled_panels(titles.values(), ylabel="mean absolute error", **size)
    for panel, score in zip(panels, titles, strict=True):
        _scatter(panel, rows, "dci", score)
        panel.set_xlabel("DCI")
    return shared_legend(figure, panels)


@styled
def label_free_scatter(rows: Sequence[ModelRow]) -> Figure:
    """DCI and MIG against measures without labels: ELBO and reconstruction loss (Fig. 14)."""
    figure, panels = make_panels(4, height=2.6, columns=2, width=7.2)
    places = [(metric, free) for metric in ("mig", "dci") for free in LABEL_FREE]
    for panel, (metric, free) in zip(panels, places, strict=True):
        _scatter(panel, rows, free, metric)
        panel.set(xlabel=f"{LABEL_FREE[free]}, nats an image", ylabel=METRICS[metric])
    return shared_legend(figure, panels)


@styled
def noise_violins(rows: Sequence[ModelRow]) -> Figure:
    """Transfer error without and with input noise in every scenario (Fig. 6)."""
    names = _transferred(rows)
    values = {
        name: {words: column(group, f"trees_{key}") for words, group in _by_noise(rows)} for key, name in names.items()
    }
    return _noise_figure(values, f"error, {REGRESSORS['trees']}", columns=len(names), width=1.75 * len(names))


@styled
def noise_correlations(rows: Sequence[ModelRow]) -> Figure:
    """Spearman's rank correlation of every transfer error with input noise, by supervision (Fig. 6, top row)."""
    names, groups = _transferred(rows), by_supervision(rows)
    text = "rank correlation of the error with input noise"
    titles = [f"{text}: {words}, {len(group)} models" for words, group in groups.items()]
    figure, panels = titled_panels(titles, height=1.6, columns=1, width=7.2)
    for panel, group in zip(panels, groups.values(), strict=True):
        values = [correlations(group, ["noise"], [f"{r}_{key}" for key in names]) for r in REGRESSORS]
        heat(panel, np.concatenate(values), list(REGRESSORS.values()), list(names.values()))
    return figure


@styled
def factor_violins(rows: Sequence[ModelRow], scenario: str) -> Figure:
    """Transfer error of each factor without and with input noise (Fig. 15)."""
    errors = {words: [row.errors[f"trees_{scenario}"] for row in group] for words, group in _by_noise(rows)}
    values = {
        name: {words: np.array([each[factor] for each in own]) for words, own in errors.items()}
        for factor, name in FACTORS.items()
    }
    return _noise_figure(values, f"error, {SCENARIOS[scenario]}", columns=7, width=11.5)


@styled
def supervision_curves(rows: Sequence[ModelRow], scores: Mapping[str, str]) -> Figure:
    """Scores against the number of images, a line for each supervision through the means over seeds."""
    figure, panels = titled_panels(scores.values(), height=2.5)
    for panel, score in zip(panels, scores, strict=True):
        for words, group in by_supervision(rows).items():
            images, values = column(group, "images"), column(group, score)
            places = np.unique(images)
            means = [values[images == place].mean() for place in places]
            panel.plot(places, means, color=_COLOURS[words], marker="o", markersize=4, label=words)
            panel.scatter(images, values, s=8, color=_COLOURS[words], alpha=0.6, linewidths=0)
        panel.set(xscale="log", xlabel="images")
        panel.set_xticks(np.unique(column(rows, "images")))
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.xaxis.set_minor_formatter("")
        panel.set_ylim(bottom=0)
    return shared_legend(figure, panels)


@styled
def feasibility_maps(drawn: NDArray[np.int64], possible: NDArray[np.int64], upright: Floats) -> Figure:
    """Possible middle and lower joint angles, degrees; the upper joint upright, and over all its angles (Figs. 9, 10).

    Args:
        drawn: number of sampled states for each pair of angles, (30, 30).
        possible: number of possible ones among them.
        upright: share of possible states with the upper joint upright.
    """
    middle, lower = (next(factor for factor in GRID if factor.name == f"{n}_joint") for n in ("middle", "lower"))
    extent = tuple(np.degrees((lower.low, lower.high, middle.low, middle.high)))
    shares = np.divide(possible, drawn, out=np.zeros(drawn.shape), where=drawn > 0)
    titles = ("upper joint upright", f"all: {possible.sum() / max(1, drawn.sum()):.1%} of the states")
    figure, panels = titled_panels(titles, height=3.4, columns=2, width=7.6)
    for panel, values in zip(panels, (upright, shares), strict=True):
        image = panel.imshow(values, origin="lower", extent=extent, aspect="auto", cmap="Blues", vmin=0, vmax=1)
        panel.set(xlabel="lower joint, °", ylabel="middle joint, °")
        panel.grid(visible=False)
    figure.colorbar(image, ax=panels, label="share that is possible", shrink=0.9)
    return figure


def _measured(names: Mapping[str, str], rows: Sequence[ModelRow]) -> dict[str, str]:
    """The scores that are finite for a model."""
    return {score: name for score, name in names.items() if np.isfinite(column(rows, score)).any()}


def _transferred(rows: Sequence[ModelRow]) -> dict[str, str]:
    """The scenarios in which every model was tested."""
    return {key: name for key, name in SCENARIOS.items() if all(f"trees_{key}" in row.scores for row in rows)}


def _by_noise(rows: Sequence[ModelRow]) -> list[tuple[str, list[ModelRow]]]:
    """Models without and with input noise, if there are any."""
    groups = ([row for row in rows if bool(row.settings.get("noise")) == noisy] for noisy in (False, True))
    return [(words, group) for words, group in zip(_NOISE, groups, strict=True) if group]


def _noise_figure(values: Mapping[str, Mapping[str, Floats]], ylabel: str, **size: Any) -> Figure:
    """Violins of each panel's values, without and with input noise."""
    figure, panels = titled_panels(values, height=2.2, ylabel=ylabel, **size)
    for panel, groups in zip(panels, values.values(), strict=True):
        _violins(panel, groups, _NOISE)
        panel.set_ylim(0, 1.05 * panel.get_ylim()[1])
    return shared_legend(figure, panels)


def _violins(panel: Axes, groups: Mapping[str, Floats], colours: Mapping[str, str]) -> None:
    """Draw the values of groups beside one another: all values as dots, the median as a line."""
    for place, (words, values) in enumerate(groups.items()):
        kept = values[np.isfinite(values)]
        if not len(kept):
            continue
        colour = colours[words]
        if len(kept) >= _OUTLINED and np.ptp(kept) > 0:
            outline: Any = panel.violinplot(kept, [place], widths=0.8, showextrema=False)
            for body in outline["bodies"]:
                body.set(facecolor=colour, alpha=0.3)
        apart = np.linspace(-0.16, 0.16, len(kept)) if len(kept) > 1 else np.zeros(1)
        panel.scatter(place + apart, np.sort(kept), s=9, color=colour, linewidths=0, label=words)
        panel.hlines(np.median(kept), place - 0.3, place + 0.3, color=colour, linewidth=2)
    panel.set(xticks=[], xlim=(-0.6, len(groups) - 0.4))


def _scatter(panel: Axes, rows: Sequence[ModelRow], across: str, up: str) -> None:
    """Draw two scores of each model; filled dots have input noise."""
    for words, group in by_supervision(rows).items():
        noisy, colour = column(group, "noise") > 0, _COLOURS[words]
        x, y = column(group, across), column(group, up)
        for chosen, face, label in ((~noisy, "none", words), (noisy, colour, f"{words}, input noise")):
            if chosen.any():
                panel.scatter(x[chosen], y[chosen], s=22, facecolor=face, edgecolor=colour, label=label)
