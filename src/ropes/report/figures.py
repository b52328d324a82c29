"""Figures of joint angles. They take the page's text colour, light or dark.

As SVG, the ink becomes CSS `currentColor` and the grid the page's `--rule`; as PNG they stay as drawn.
"""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ropes.report.naming import joint_label
from ropes.report.numbers import error, fixed

INK, RULE = "#1b1f24", "#d5dae1"
# Okabe and Ito's palette: told apart with any colour vision, and by lightness.
# The blue is a little lighter than theirs, to show on a dark page too.
OURS, PAPER, FLOOR = "#2a86c7", "#d55e00", "#009e73"
PALETTE = (OURS, PAPER, FLOOR, "#cc79a7", "#e69f00", "#8c8c8c")
LN2 = float(np.log(2))
#: What an entry of a legend takes, in inches.
_LEGEND_INCHES = 2.4
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.constrained_layout.h_pad": 0.09,
    "figure.constrained_layout.w_pad": 0.06,
    # Text stays text: it takes the page's font, can be searched and read aloud.
    "svg.fonttype": "none",
}
# Nothing is set globally: every figure is drawn under its own copy of the style.
styled = matplotlib.rc_context(STYLE)


@styled
def scatter(joints: Sequence[str], arrays: Mapping[str, NDArray[Any]], condition: str = "") -> Figure:
    """True against estimated angle, one panel a joint, the diagonal for reference (Figs. 3, 11, 12).

    Args:
        joints: (d,) names.
        arrays: "scatter_estimate", "scatter_angle" (d, n), radians, and "scatter_mcc", "scatter_mse" (d,) of
            the same samples.
        condition: under which they were measured, above the panels.
    """
    figure, panels = make_panels(len(joints), height=2.9)
    if condition:
        figure.suptitle(condition, fontsize=STYLE["axes.titlesize"])
    for index, panel in enumerate(panels):
        found, true = arrays["scatter_estimate"][index], arrays["scatter_angle"][index]
        low, high = float(true.min()), float(true.max())
        margin = 0.06 * (high - low or 1.0)
        panel.plot([low, high], [low, high], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=3)
        # Dots as one bitmap: 500 vector marks a panel would make the page megabytes heavy.
        panel.scatter(true, found, s=7, color=OURS, alpha=0.7, linewidths=0, rasterized=True)
        panel.set(xlim=(low - margin, high + margin), xlabel="true angle, rad")
        score, squared = arrays["scatter_mcc"][index], arrays["scatter_mse"][index]
        panel.set_title(f"{joint_label(joints[index])}: MCC {fixed(score)}, MSE {error(squared)}")
        if index % 3 == 0:
            panel.set_ylabel("estimate, rad")
    return figure


@styled
def occlusions(joints: Sequence[str], lines: Mapping[str, Mapping[str, Any]]) -> Figure:
    """MSE against the side of the white square, one panel a joint; solid ours, dashed the paper's (Table 11).

    Args:
        joints: (d,) names.
        lines: name of the split -> {"pixels": (p,), "ours": (d, p), "std": (d, p), "paper": (d, p)}, rad²;
            NaN where there is no value.
    """
    figure, panels = make_panels(len(joints), height=2.4)
    for index, panel in enumerate(panels):
        for colour, (split, line) in zip((OURS, PAPER), lines.items(), strict=False):
            panel.errorbar(
                line["pixels"],
                line["ours"][index],
                yerr=line["std"][index],
                color=colour,
                marker="o",
                markersize=4,
                capsize=2,
                label=f"ours, {split}",
            )
            if np.isfinite(line["paper"][index]).any():
                panel.plot(
                    line["pixels"],
                    line["paper"][index],
                    color=colour,
                    linestyle=(0, (4, 3)),
                    linewidth=1.2,
                    marker="D",
                    markersize=3,
                    alpha=0.8,
                    label=f"paper, {split}",
                )
        panel.set_title(joint_label(joints[index]))
        panel.set(xlabel="white square, px", xticks=next(iter(lines.values()))["pixels"])
        panel.set_ylim(bottom=0)
        if index % 3 == 0:
            panel.set_ylabel("MSE, rad²")
    shared_legend(figure, panels)
    return figure


@styled
def density_ratio_curves(ldr: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Cross-entropy of each joint's density ratio while it trained, with its Bayes floor and ln 2 (guessing).

    Args:
        ldr: joint -> {"steps", "train", "held_out": curves, "floor", "best": numbers}, nats.
    """
    figure, panels = make_panels(len(ldr), height=2.3)
    for index, (panel, (joint, curve)) in enumerate(zip(panels, ldr.items(), strict=True)):
        _line(panel, curve, "train", OURS, "train", alpha=0.8)
        _line(panel, curve, "held_out", PAPER, "held out")
        if curve.get("floor") is not None:
            panel.axhline(curve["floor"], color=FLOOR, linestyle=(0, (5, 3)), label="Bayes floor")
        panel.axhline(LN2, color=INK, linestyle=":", linewidth=1, label="guessing")
        panel.set_title(joint_label(joint))
        panel.set_xlabel("step")
        if index % 3 == 0:
            panel.set_ylabel("cross-entropy, nats")
    shared_legend(figure, panels)
    return figure


@styled
def density_ratio_bars(ldr: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Best held-out cross-entropy of each joint beside its Bayes floor, nats: the closer the better.

    Args:
        ldr: as `density_ratio_curves`.
    """
    figure, (panel,) = make_panels(1, height=2.6, width=6.6, columns=1)
    places = np.arange(len(ldr))
    best = [as_number(curve.get("best")) for curve in ldr.values()]
    floor = [as_number(curve.get("floor")) for curve in ldr.values()]
    panel.bar(places - 0.19, best, width=0.36, color=PAPER, label="best, held out")
    panel.bar(places + 0.19, floor, width=0.36, color=FLOOR, label="Bayes floor")
    for shift, values in ((-0.19, best), (0.19, floor)):
        for place, value in zip(places, values, strict=True):
            if np.isfinite(value):
                panel.text(place + shift, value + 0.008, fixed(value), ha="center", va="bottom", fontsize=8)
    panel.axhline(LN2, color=INK, linestyle=":", linewidth=1, label="guessing (ln 2)")
    panel.set_xticks(places, [joint_label(joint) for joint in ldr])
    panel.set(ylabel="cross-entropy, nats", ylim=(0, max([LN2, *np.nan_to_num(best)]) * 1.12))
    panel.grid(visible=False, axis="x")
    shared_legend(figure, [panel])
    return figure


@styled
def training_curves(stages: Mapping[str, Any]) -> Figure | None:
    """Losses and dead units of the stages that there are, held out beside training; None without any.

    Args:
        stages: of training.json.
    """
    wanted = [panel for panel in _curves(stages) if any(curve.get(name) for _, curve, name in panel[1])]
    if not wanted:
        return None
    figure, panels = make_panels(len(wanted), height=2.8, columns=2)
    for panel, (title, lines) in zip(panels, wanted, strict=True):
        panel.set(title=title, xlabel="step", ylabel="loss" if len(lines) > 1 else lines[0][0])
        for colour, (label, curve, name) in zip(colour_cycle(len(lines)), lines, strict=True):
            _line(panel, curve, name, colour, label)
        if title.endswith("dead code units"):
            panel.set(ylim=(-0.02, 1.02), ylabel="fraction")
        else:
            panel.set_yscale("log")
            panel.legend(ncols=2)
    return figure


def _curves(stages: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, Mapping[str, Any], str]]]]:
    """Panels as titles with lines, each a label, the curves that it is among, and its name there."""
    ae1, ae2, encoder, student, pretraining, angles = (
        stages.get(name) or {} for name in ("ae1", "ae2", "encoder", "student", "pretraining", "angles")
    )
    return [
        ("first autoencoder: reconstruction", [("train", ae1, "loss"), ("held out", ae1, "held_out")]),
        ("first autoencoder: dead code units", [("dead", ae1, "dead_fraction")]),
        *(
            (f"second autoencoder: {term}", [(joint_label(joint), curve, term) for joint, curve in ae2.items()])
            for term in ("reconstruction", "sparsity")
        ),
        ("encoder: regimes told apart", [("train", encoder, "regimes"), ("held out", encoder, "held_out")]),
        ("encoder: variance within anchors", [("train", encoder, "within"), ("held out", encoder, "held_out_within")]),
        (
            "student: how far from its teacher",
            [
                ("train", student, "apart"),
                ("held out, as they are", student, "held_out"),
                ("held out, with foreign things", student, "held_out_hidden"),
            ],
        ),
        (
            "student: where foreign things are",
            [("train", student, "foreign"), ("held out", student, "held_out_foreign")],
        ),
        ("I-JEPA: hidden patches predicted", [("train", pretraining, "loss"), ("held out", pretraining, "held_out")]),
        ("I-JEPA: directions that its targets use", [("effective rank", pretraining, "rank")]),
        ("I-JEPA: how far its targets differ", [("spread over images", pretraining, "spread")]),
        ("angles from labels: share of their variance", [("train", angles, "loss"), ("held out", angles, "held_out")]),
    ]


def to_svg(figure: Figure, label: str) -> str:
    """Inline SVG that follows the page's colours.

    Args:
        figure: one of the above.
        label: what it shows, for those who cannot see it.
    """
    stream = io.StringIO()
    # Ids are hashed with the label as salt: unique on the page, and the same figure gives the same bytes.
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": label}):
        figure.savefig(stream, format="svg", transparent=True, dpi=200, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)
    text = text.replace(INK, "currentColor").replace(RULE, "var(--rule)")
    width = re.search(r'width="([\d.]+)pt"', text)
    shown = f' style="width: min(100%, {float(width[1]) * 4 / 3:.0f}px)"' if width else ""
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    escaped = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{escaped}"{shown}', 1)


def to_png(figure: Figure) -> bytes:
    """The figure on white, for pages that show files only."""
    stream = io.BytesIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(stream, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return stream.getvalue()


def make_panels(count: int, *, height: float, width: float = 9.6, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels in rows of `columns`, with `width` inches for a full row and `height` for each row."""
    # A row that is not full keeps its panels' size: the figure is narrower.
    wide = width * min(columns, count) / columns
    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(wide, height * rows), layout="constrained")
    panels = [figure.add_subplot(rows, columns, index + 1) for index in range(count)]
    return figure, panels


def _line(panel: Axes, curve: Mapping[str, Any], name: str, colour: str, label: str, alpha: float = 1.0) -> None:
    values = curve.get(name) or []
    if values:
        panel.plot(curve["steps"], [as_number(value) for value in values], color=colour, label=label, alpha=alpha)


def as_number(value: float | None) -> float:
    """What is drawn for a figure: NaN, a gap, where there is none."""
    return float("nan") if value is None else float(value)


def colour_cycle(count: int) -> list[str]:
    """Colours of `count` lines, from the palette over and over."""
    return [PALETTE[index % len(PALETTE)] for index in range(count)]


def shared_legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend above all panels, each label once, in as many rows as it takes."""
    handles: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    columns = min(len(handles), max(1, round(figure.get_figwidth() / _LEGEND_INCHES)))
    figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=columns)
