"""Figures of one method's joint angles and of its training."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.evaluation.paper import mse_comparable
from ropes.evaluation.summary import JointErrors
from ropes.report.figures import (
    DASHED,
    FLOOR,
    INK,
    OURS,
    PAPER,
    STYLE,
    as_degrees,
    as_number,
    error_bars,
    logarithmic_errors,
    make_panels,
    marks,
    shared_legend,
    styled,
    titled_panels,
)
from ropes.report.words import fixed, joint_label, rms

LN2 = float(np.log(2))
#: A line of a training figure: its label, the recorded curves, and the name of one of them.
Line = tuple[str, Mapping[str, Any], str]


@styled
def scatter(joints: Sequence[str], arrays: Mapping[str, NDArray[Any]], condition: str = "") -> Figure:
    """Estimated against true angle in degrees with the diagonal, one panel a joint (Figs. 3, 11, 12).

    Args:
        joints: (d,) names.
        arrays: "scatter_estimate", "scatter_angle" (d, n), radians, and "scatter_mcc", "scatter_mse" (d,) of
            the same samples.
        condition: of the measurement, above the panels.
    """
    figure, panels = titled_panels(map(joint_label, joints), height=2.9, ylabel="estimate, °")
    if condition:
        figure.suptitle(condition, fontsize=STYLE["axes.titlesize"])
    for index, panel in enumerate(panels):
        estimate, true = (np.degrees(arrays[name][index]) for name in ("scatter_estimate", "scatter_angle"))
        low, high = float(true.min()), float(true.max())
        margin = 0.06 * (high - low or 1.0)
        panel.plot([low, high], [low, high], color=INK, linewidth=1, zorder=3, linestyle=DASHED)
        # Dots as one bitmap: 500 vector marks a panel would add megabytes to the page.
        panel.scatter(true, estimate, s=7, color=OURS, alpha=0.7, linewidths=0, rasterized=True)
        panel.set(xlim=(low - margin, high + margin), xlabel="true angle, °")
        mcc, error = fixed(arrays["scatter_mcc"][index]), rms(float(arrays["scatter_mse"][index]))
        panel.set_title(f"{joint_label(joints[index])}: MCC {mcc}, RMS {error}°")
    return figure


@styled
def occlusions(cells: Sequence[JointErrors]) -> Figure:
    """RMS error against the side of the white square, one panel a joint; solid ours, dashed the paper's (Table 11).

    Args:
        cells: of one setup and method.
    """
    joints, pixels = sorted({cell.joint for cell in cells}), sorted({cell.occlusion for cell in cells})
    figure, panels = titled_panels(map(joint_label, joints), height=2.4, ylabel="RMS error, °")
    for panel, joint in zip(panels, joints, strict=True):
        for colour, split in zip((OURS, PAPER), dict.fromkeys(cell.split for cell in cells), strict=False):
            at = {cell.occlusion: cell for cell in cells if (cell.joint, cell.split) == (joint, split)}
            mse, std, paper_mse = (
                [getattr(at.get(size), name, None) for size in pixels] for name in ("mse", "mse_std", "paper_mse")
            )
            ours, paper = ([as_degrees(each) for each in values] for values in (mse, paper_mse))
            style: Any = {"color": colour, "marker": "o", "markersize": 4, "capsize": 2, "label": f"ours, {split}"}
            panel.errorbar(pixels, ours, yerr=error_bars(mse, std), **style)
            if mse_comparable(cells[0].setup, split) and np.isfinite(paper).any():
                style = {"color": colour, "linestyle": DASHED, "linewidth": 1.2, "marker": "D", "markersize": 3}
                panel.plot(pixels, paper, alpha=0.8, label=f"paper, {split}", **style)
        panel.set(xlabel="white square, px", xticks=pixels)
        panel.set_ylim(bottom=0)
    return shared_legend(figure, panels)


@styled
def density_ratio_curves(ldr: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Cross-entropy of each joint's density ratio during training, with its Bayes floor and ln 2 (guessing).

    Args:
        ldr: joint -> {"steps", "train", "held_out": curves, "floor", "best": numbers}, nats.
    """
    figure, panels = titled_panels(map(joint_label, ldr), height=2.3, ylabel="cross-entropy, nats")
    for panel, curve in zip(panels, ldr.values(), strict=True):
        _line(panel, curve, "train", OURS, "train", alpha=0.8)
        _line(panel, curve, "held_out", PAPER, "held out")
        if curve.get("floor") is not None:
            panel.axhline(curve["floor"], color=FLOOR, linestyle=(0, (5, 3)), label="Bayes floor")
        panel.axhline(LN2, color=INK, linestyle=":", linewidth=1, label="guessing")
        panel.set_xlabel("step")
    return shared_legend(figure, panels)


@styled
def density_ratio_bars(ldr: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Best held-out cross-entropy of each joint beside its Bayes floor, nats; the closer the better.

    Args:
        ldr: as `density_ratio_curves`.
    """
    figure, (panel,) = make_panels(1, height=2.6, width=6.6, columns=1)
    places = np.arange(len(ldr))
    best, floor = ([as_number(curve.get(name)) for curve in ldr.values()] for name in ("best", "floor"))
    for shift, values, colour, label in ((-0.19, best, PAPER, "best, held out"), (0.19, floor, FLOOR, "Bayes floor")):
        panel.bar(places + shift, values, width=0.36, color=colour, label=label)
        for place, value in zip(places, values, strict=True):
            if np.isfinite(value):
                panel.text(place + shift, value + 0.008, fixed(value), ha="center", va="bottom", fontsize=8)
    panel.axhline(LN2, color=INK, linestyle=":", linewidth=1, label="guessing (ln 2)")
    panel.set_xticks(places, [joint_label(joint) for joint in ldr])
    panel.set(ylabel="cross-entropy, nats", ylim=(0, max([LN2, *np.nan_to_num(best)]) * 1.12))
    panel.grid(visible=False, axis="x")
    return shared_legend(figure, [panel])


@styled
def training_curves(stages: Mapping[str, Any]) -> Figure | None:
    """Training and held-out losses and dead units of the recorded stages; None without any.

    Args:
        stages: of training.json.
    """
    drawn = [panel for panel in _curves(stages) if any(curve.get(name) for _, curve, name in panel[1])]
    if not drawn:
        return None
    figure, panels = make_panels(len(drawn), height=2.8, columns=2)
    for panel, (title, lines) in zip(panels, drawn, strict=True):
        panel.set(title=title, xlabel="step", ylabel="loss" if len(lines) > 1 else lines[0][0])
        for mark, (label, curve, name) in zip(marks(len(lines)), lines, strict=True):
            _line(panel, curve, name, mark.colour, label, linestyle=mark.dashes)
        if title.endswith("dead code units"):
            panel.set(ylim=(-0.02, 1.02), ylabel="fraction")
        else:
            logarithmic_errors(panel)
            panel.legend(ncols=2)
    return figure


def _curves(stages: Mapping[str, Any]) -> list[tuple[str, list[Line]]]:
    """Title and lines of each panel."""

    def pair(stage: str, trained: str = "loss", held_out: str = "held_out") -> list[Line]:
        curves = stages.get(stage) or {}
        return [("train", curves, trained), ("held out", curves, held_out)]

    ae1, ae2, student, pretraining = (stages.get(name) or {} for name in ("ae1", "ae2", "student", "pretraining"))
    return [
        ("first autoencoder: reconstruction", pair("ae1")),
        ("first autoencoder: dead code units", [("dead", ae1, "dead_fraction")]),
        *(
            (
                f"second autoencoder: {term.replace('_', ' ')}",
                [(joint_label(joint), curve, term) for joint, curve in ae2.items()],
            )
            for term in ("reconstruction", "sparsity", "held_out_score")
        ),
        ("encoder: classification of regimes", pair("encoder", "regimes")),
        ("encoder: variance within anchors", pair("encoder", "within", "held_out_within")),
        (
            "student: distance from its teacher",
            [
                ("train", student, "apart"),
                ("held out, unchanged", student, "held_out"),
                ("held out, with foreign objects", student, "held_out_hidden"),
            ],
        ),
        ("student: detection of foreign objects", pair("student", "foreign", "held_out_foreign")),
        ("I-JEPA: prediction of hidden patches", pair("pretraining")),
        ("I-JEPA: effective rank of its targets", [("effective rank", pretraining, "rank")]),
        ("I-JEPA: spread of its targets", [("spread over images", pretraining, "spread")]),
        ("angles from labels: share of their variance", pair("angles")),
    ]


def _line(panel: Axes, curve: Mapping[str, Any], name: str, colour: str, label: str, **style: Any) -> None:
    """Draw a recorded curve, if it is there."""
    values = curve.get(name) or []
    if values:
        panel.plot(curve["steps"], [as_number(value) for value in values], color=colour, label=label, **style)
