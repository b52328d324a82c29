"""Rates of false alarms of `ropes check` with simulated errors of first order; see `benchmarks.drift`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import signal

from benchmarks.figures import table
from ropes.common.seeds import generator
from ropes.evaluation.drift.statistics import Drift, ReferenceOffset, drifts

#: Correlations of neighbouring simulated errors, recordings of each, frames and joints of one.
CORRELATIONS, SIMULATED, LENGTH, JOINTS = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98), 400, 200, 6
#: Correlation of neighbouring simulated errors of a reference of as many frames.
SLOW = 0.95


def simulated(rho: float, draw: int, kind: str, usual: Sequence[ReferenceOffset] | None = None) -> tuple[Drift, ...]:
    """The drift of each of six joints with errors of first order."""
    noise = generator(draw, "drift", kind, str(rho)).normal(size=(LENGTH, JOINTS))
    noise[1:] *= np.sqrt(1 - rho**2)
    errors = signal.lfilter([1.0], [1.0, -rho], noise, axis=0)
    poses = 10.0 * np.arange(LENGTH)[:, None] * np.ones(JOINTS)  # no two poses are similar
    usual = usual or [ReferenceOffset(value=0.0, half=0.0)] * JOINTS
    return drifts(errors, np.full(poses.shape, 1e-6), poses, poses[:, 0], usual=usual)


def alarm_rows(recordings: int = SIMULATED) -> list[dict[str, Any]]:
    """False alarms with simulated errors, on any of six joints, without and with a slow reference."""
    rows = []
    for rho in CORRELATIONS:
        alone, compared = [], []
        for draw in range(recordings):
            reference = simulated(SLOW, draw, "reference")
            usual = [ReferenceOffset(value=each.offset.value, half=each.offset.half) for each in reference]
            alone.append(simulated(rho, draw, "errors"))
            compared.append(simulated(rho, draw, "errors", usual))
        few = float(np.mean([each.few for one in alone for each in one]))
        alarms = {"false_alarms": alarm_rate(alone), "false_alarms_compared": alarm_rate(compared)}
        rows.append({"correlation": rho, **alarms, "too_few_frames": few})
    return rows


def alarm_rate(found: Sequence[Sequence[Drift]]) -> float:
    """Share of recordings with a significant offset or trend; no spread is explained where no error is promised."""
    return float(np.mean([any(each.offset.significant or each.trend.significant for each in one) for one in found]))


def alarm_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The Markdown table of `alarm_rows`."""
    heads = [
        f"simulated errors, {JOINTS} joints, {LENGTH} frames: correlation",
        *(f"{r['correlation']:g}" for r in rows),
    ]
    kinds = {
        "false alarms": "false_alarms",
        f"false alarms, compared with a reference of correlation {SLOW:g}": "false_alarms_compared",
        "joints with too few frames": "too_few_frames",
    }
    return table(heads, [[words, *(f"{row[key]:.0%}" for row in rows)] for words, key in kinds.items()])
