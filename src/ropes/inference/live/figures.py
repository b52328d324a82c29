"""The figures of the live page as HTML: flag, latency and frame rate, and each angle with its interval."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from ropes.common.units import percent
from ropes.inference.live.watch import Estimate

_WIDTH, _HEIGHT = 96, 14
#: Colours of estimate, filtered estimate, truth, and of the flag's two states.
_ESTIMATE, _FILTERED, _TRUTH, _IN_DISTRIBUTION, _OUT_OF_DISTRIBUTION = (
    "#ff7f0e",
    "#1f77b4",
    "#2ca02c",
    "#1a7f37",
    "#c62828",
)
_CELL = "padding-right:.5em;text-align:right;white-space:nowrap"

Limits = Mapping[str, tuple[float, float]]


def status(estimate: Estimate) -> str:
    """Flag, latency, frame rate and dropped frames."""
    flag, colour = "in distribution", _IN_DISTRIBUTION
    if estimate.prediction.get("out_of_distribution"):
        reasons = "; ".join(f"{camera}: {', '.join(what)}" for camera, what in _reasons(estimate).items())
        flag, colour = f"out of distribution{f' ({reasons})' if reasons else ''}", _OUT_OF_DISTRIBUTION
    elif "out_of_distribution" not in estimate.prediction:
        flag, colour = "no flag: the run has no uncertainty model", "#666"
    figures = {
        "latency": f"{1e3 * estimate.latency:.0f} ms",
        "95% below": f"{1e3 * estimate.latency_95:.0f} ms",
        "rate": f"{estimate.rate:.1f} Hz",
        "dropped": f"{estimate.dropped} frames",
    }
    cells = "".join(f"<td style='padding-right:1em'>{name}<br><b>{value}</b></td>" for name, value in figures.items())
    return (
        f"<div style='font-size:.85em;padding:.2em .6em'><div style='color:#fff;background:{colour};"
        f"border-radius:4px;padding:.15em .6em;margin-bottom:.4em'>{escape(flag)}</div>"
        f"<table><tr>{cells}</tr></table></div>"
    )


def angles(estimate: Estimate, limits: Limits) -> str:
    """A row for each joint: estimated and true angle in degrees, half an interval, and both on the joint's range.

    Args:
        estimate: the estimate.
        limits: joint → (low, high) of the scale, radians.
    """
    prediction = estimate.prediction
    names = list(prediction["joints"])
    heads = ["joint", "angle"]
    heads += [f"± {percent(prediction['level'])}"] if "level" in prediction else []
    heads += ["filter"] if estimate.filtered is not None else []
    heads += ["true"] if estimate.truth is not None else []
    rows = []
    for column, (name, short) in enumerate(zip(names, short_names(names), strict=True)):
        angle = prediction["joints"][name]
        cells = [short, _degrees(angle)]
        interval, marks = None, [(angle, _ESTIMATE)]
        if "level" in prediction:
            interval = prediction["low"][name], prediction["high"][name]
            cells.append(_degrees((interval[1] - interval[0]) / 2))
        if estimate.filtered is not None:
            filtered = float(estimate.filtered.angles[column])
            cells.append(_degrees(filtered))
            marks.append((filtered, _FILTERED))
        if estimate.truth is not None:
            truth = float(estimate.truth[column])
            cells.append(_degrees(truth))
            marks.append((truth, _TRUTH))
        bar = _bar(limits.get(name, (-math.pi, math.pi)), interval, marks)
        row = "".join(f"<td style='{_CELL}'>{escape(cell)}</td>" for cell in cells)
        rows.append(f"<tr>{row}<td>{bar}</td></tr>")
    head = "".join(f"<th style='{_CELL};font-weight:500'>{name}</th>" for name in heads)
    keys = [("estimate", _ESTIMATE)]
    keys += [("filter", _FILTERED)] if estimate.filtered is not None else []
    keys += [("true", _TRUTH)] if estimate.truth is not None else []
    key = " ".join(f"<span style='color:{colour}'>■ {name}</span>" for name, colour in keys)
    return (
        "<div style='font-size:.85em;padding:.2em .6em;font-variant-numeric:tabular-nums'>"
        f"<table><thead><tr>{head}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table>{key}</div>"
    )


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the beginning that all share, up to its last underscore."""
    shared = 0
    if len(names) > 1:
        first, last = min(names), max(names)
        while shared < min(len(first), len(last)) and first[shared] == last[shared]:
            shared += 1
        shared = first.rfind("_", 0, shared) + 1
    return [name[shared:] for name in names]


def _reasons(estimate: Estimate) -> Mapping[str, Sequence[str]]:
    reasons: Mapping[str, Sequence[str]] = estimate.prediction.get("reasons", {})
    return reasons


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.1f}°"


def _bar(limits: tuple[float, float], interval: tuple[float, float] | None, marks: Sequence[tuple[float, str]]) -> str:
    """An SVG scale from one limit to the other, with the interval as a band and a tick for each mark."""
    low, high = limits

    def place(angle: float) -> float:
        return min(max((angle - low) / (high - low), 0.0), 1.0) * (_WIDTH - 4) + 2

    parts = [f"<line x1='2' x2='{_WIDTH - 2}' y1='{_HEIGHT / 2}' y2='{_HEIGHT / 2}' stroke='#bbb'/>"]
    if interval is not None:
        left, right = place(interval[0]), place(interval[1])
        width = max(right - left, 1.0)
        parts.append(f"<rect x='{left:.1f}' y='3' width='{width:.1f}' height='8' fill='{_ESTIMATE}' opacity='.35'/>")
    for angle, colour in marks:
        parts.append(f"<rect x='{place(angle) - 1:.1f}' y='1' width='2' height='12' fill='{colour}'/>")
    return f"<svg width='{_WIDTH}' height='{_HEIGHT}'>{''.join(parts)}</svg>"
