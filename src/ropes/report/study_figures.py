"""Figures of the disentanglement study (Dittadi et al. 2021, Figs. 3 to 6, 9, 10, 14 and 15)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter
from numpy.typing import NDArray

from ropes.evaluation.rows.model import ModelRow
from ropes.report.figures import FLOOR, OURS, PAPER, heat, make_panels, shared_legend, styled
from ropes.report.numbers import Floats
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
    known = _known_metrics(rows)
    figure, panels = make_panels(len(known), height=2.1, columns=4)
    for panel, (score, name) in zip(panels, known.items(), strict=True):
        groups = {words: column(group, score) for words, group in by_supervision(rows).items()}
        _violins(panel, groups, _COLOURS)
        panel.set(title=name, ylim=(-0.03, 1.03))
    shared_legend(figure, panels)
    return figure


@styled
def correlation_maps(rows: Sequence[ModelRow], scores: Mapping[str, str]) -> Figure:
    """Spearman's rank correlation of some scores with the metrics, a panel for each supervision (Figs. 3 to 5)."""
    known = _known_metrics(rows)
    groups = by_supervision(rows)
    figure, panels = make_panels(len(groups), height=0.9 + 0.3 * len(scores), columns=1, width=7.2)
    for panel, (words, group) in zip(panels, groups.items(), strict=True):
        heat(panel, correlations(group, list(scores), list(known)), list(scores.values()), list(known.values()))
        panel.set_title(f"{words}, {len(group)} models")
    return figure


@styled
def transfer_scatter(rows: Sequence[ModelRow], scenarios: Sequence[str]) -> Figure:
    """Transfer error against DCI for both regressors, filled with input noise (Figs. 4 and 5, left)."""
    figure, panels = make_panels(2 * len(scenarios), height=2.5, columns=len(scenarios), width=3.2 * len(scenarios))
    places = [(regressor, scenario) for regressor in REGRESSORS for scenario in scenarios]
    for panel, (regressor, scenario) in zip(panels, places, strict=True):
        _scatter(panel, rows, "dci", f"{regressor}_{scenario}")
        panel.set(title=f"{SCENARIOS[scenario]}, {REGRESSORS[regressor]}", xlabel="DCI")
        if scenario == scenarios[0]:
            panel.set_ylabel("mean absolute error")
    shared_legend(figure, panels)
    return figure


@styled
def label_free_scatter(rows: Sequence[ModelRow]) -> Figure:
    """DCI and MIG against what needs no label: ELBO and reconstruction loss (Fig. 14)."""
    figure, panels = make_panels(4, height=2.6, columns=2, width=7.2)
    places = [(metric, free) for metric in ("mig", "dci") for free in LABEL_FREE]
    for panel, (metric, free) in zip(panels, places, strict=True):
        _scatter(panel, rows, free, metric)
        panel.set(xlabel=f"{LABEL_FREE[free]}, nats an image", ylabel=METRICS[metric])
    shared_legend(figure, panels)
    return figure


@styled
def noise_violins(rows: Sequence[ModelRow], regressor: str = "trees") -> Figure:
    """Transfer error with and without input noise in every scenario (Fig. 6)."""
    known = _known_scenarios(rows)
    figure, panels = make_panels(len(known), height=2.2, columns=len(known), width=1.75 * len(known))
    for panel, (scenario, name) in zip(panels, known.items(), strict=True):
        _violins(panel, _by_noise(rows, lambda group, s=scenario: column(group, f"{regressor}_{s}")), _NOISE)
        panel.set(title=name, ylim=(0, 1.05 * panel.get_ylim()[1]))
    panels[0].set_ylabel(f"error, {REGRESSORS[regressor]}")
    shared_legend(figure, panels)
    return figure


@styled
def noise_correlations(rows: Sequence[ModelRow]) -> Figure:
    """Spearman's rank correlation of every transfer error with input noise, by supervision (Fig. 6, top row)."""
    known, groups = _known_scenarios(rows), by_supervision(rows)
    figure, panels = make_panels(len(groups), height=1.6, columns=1, width=7.2)
    for panel, (words, group) in zip(panels, groups.items(), strict=True):
        values = [correlations(group, ["noise"], [f"{r}_{key}" for key in known]) for r in REGRESSORS]
        heat(panel, np.concatenate(values), list(REGRESSORS.values()), list(known.values()))
        panel.set_title(f"rank correlation of the error with input noise: {words}, {len(group)} models")
    return figure


@styled
def factor_violins(rows: Sequence[ModelRow], scenario: str, regressor: str = "trees") -> Figure:
    """Transfer error of every factor by itself, with and without input noise (Fig. 15)."""
    figure, panels = make_panels(len(FACTORS), height=2.2, columns=7, width=11.5)
    score = f"{regressor}_{scenario}"
    for panel, (factor, name) in zip(panels, FACTORS.items(), strict=True):

        def errors(group: Sequence[ModelRow], factor: str = factor) -> Floats:
            return np.array([row.errors[score][factor] for row in group])

        _violins(panel, _by_noise(rows, errors), _NOISE)
        panel.set(title=name, ylim=(0, 1.05 * panel.get_ylim()[1]))
    panels[0].set_ylabel(f"error, {SCENARIOS[scenario]}")
    shared_legend(figure, panels)
    return figure


@styled
def supervision_curves(rows: Sequence[ModelRow], scores: Mapping[str, str]) -> Figure:
    """Scores against the number of images, a line for each supervision through the means over seeds."""
    figure, panels = make_panels(len(scores), height=2.5)
    for panel, (score, name) in zip(panels, scores.items(), strict=True):
        for words, group in by_supervision(rows).items():
            images, values = column(group, "images"), column(group, score)
            places = np.unique(images)
            means = [values[images == place].mean() for place in places]
            panel.plot(places, means, color=_COLOURS[words], marker="o", markersize=4, label=words)
            panel.scatter(images, values, s=8, color=_COLOURS[words], alpha=0.6, linewidths=0)
        panel.set(title=name, xscale="log", xlabel="images")
        panel.set_xticks(np.unique(column(rows, "images")))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.set_ylim(bottom=0)
    shared_legend(figure, panels)
    return figure


@styled
def feasibility_maps(drawn: NDArray[np.int64], possible: NDArray[np.int64], upright: Floats) -> Figure:
    """Which angles of middle and lower joint are possible: with the upper one upright, and over all (Figs. 9, 10).

    Args:
        drawn: states drawn for each pair of values, (30, 30).
        possible: of these the possible ones.
        upright: share of the possible ones with the upper joint upright.
    """
    figure, panels = make_panels(2, height=3.4, columns=2, width=7.6)
    middle, lower = (next(factor for factor in GRID if factor.name == f"{n}_joint") for n in ("middle", "lower"))
    extent = (lower.low, lower.high, middle.low, middle.high)
    shares = np.divide(possible, drawn, out=np.zeros(drawn.shape), where=drawn > 0)
    titles = ("upper joint upright", f"all: {possible.sum() / max(1, drawn.sum()):.1%} of the states")
    for panel, values, title in zip(panels, (upright, shares), titles, strict=True):
        image = panel.imshow(values, origin="lower", extent=extent, aspect="auto", cmap="Blues", vmin=0, vmax=1)
        panel.set(title=title, xlabel="lower joint, rad", ylabel="middle joint, rad")
        panel.grid(visible=False)
    figure.colorbar(image, ax=panels, label="share that is possible", shrink=0.9)
    return figure


def _known_metrics(rows: Sequence[ModelRow]) -> dict[str, str]:
    return {score: name for score, name in METRICS.items() if np.isfinite(column(rows, score)).any()}


def _known_scenarios(rows: Sequence[ModelRow]) -> dict[str, str]:
    return {key: name for key, name in SCENARIOS.items() if all(f"trees_{key}" in row.scores for row in rows)}


def _by_noise(rows: Sequence[ModelRow], value: Any) -> dict[str, Floats]:
    noisy = [row for row in rows if row.settings.get("noise")]
    clear = [row for row in rows if not row.settings.get("noise")]
    return {words: value(group) for words, group in zip(_NOISE, (clear, noisy), strict=True) if group}


def _violins(panel: Axes, groups: Mapping[str, Floats], colours: Mapping[str, str]) -> None:
    """Figures of each group one beside the other: all of them as dots, the median as a line."""
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
    for words, group in by_supervision(rows).items():
        noisy = column(group, "noise") > 0
        x, y = column(group, across), column(group, up)
        for chosen, filled, suffix in ((~noisy, False, ""), (noisy, True, ", input noise")):
            if chosen.any():
                face = _COLOURS[words] if filled else "none"
                panel.scatter(
                    x[chosen], y[chosen], s=22, facecolor=face, edgecolor=_COLOURS[words], label=words + suffix
                )
