"""Counts the collision-free states of finger and cube on the grid of factors (Dittadi et al. 2021, App. B.1)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common.files import write_arrays
from ropes.common.seeds import generator
from ropes.simulation.finger import FingerScene
from ropes.simulation.finger_setting import FACTORS, NAMES, FingerSetting, factor_values

UPPER, MIDDLE, LOWER = (NAMES.index(f"{part}_joint") for part in ("upper", "middle", "lower"))


def write_feasibility(
    path: Path, setting: FingerSetting, seed: int = 0, *, drawn: int = 60_000, each: int = 20
) -> None:
    """Write the numbers of collision-free states, drawn uniformly over the grid and with the upper joint upright.

    Arrays: `drawn` and `possible` count states by middle and lower joint (30, 30), over all other factors (Fig. 10);
    `upright` holds the share of possible states with the upper joint at the value nearest 0 (Fig. 9), over
    positions of the cube.  An existing file stays.

    Args:
        path: the file.
        setting: the scene; its appearance does not matter.
        seed: seed of the draws.
        drawn: number of states drawn over the whole grid.
        each: number of states drawn for each pair of middle and lower angles with the upper joint upright.

    Raises:
        UserError: the meshes are not installed.
    """
    if path.exists():
        return
    rng = generator(seed, "feasibility")
    counts = np.array([factor.count for factor in FACTORS])
    uniform = rng.integers(counts, size=(drawn, len(counts)))
    upright = rng.integers(counts, size=(counts[MIDDLE] * counts[LOWER] * each, len(counts)))
    upright[:, UPPER] = np.abs(FACTORS[UPPER].values).argmin()
    upright[:, MIDDLE], upright[:, LOWER] = np.divmod(np.arange(len(upright)) // each, counts[LOWER])
    with FingerScene(setting) as scene:
        possible, upright_possible = (scene.feasible(factor_values(numbers)) for numbers in (uniform, upright))
    arrays = {
        "drawn": _counts(uniform),
        "possible": _counts(uniform[possible]),
        "upright": upright_possible.reshape(counts[MIDDLE], counts[LOWER], each).mean(axis=2),
    }
    write_arrays(path, arrays)


def _counts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of states by the values of middle and lower joint, (30, 30)."""
    counts = np.zeros((FACTORS[MIDDLE].count, FACTORS[LOWER].count), dtype=np.int64)
    np.add.at(counts, (numbers[:, MIDDLE], numbers[:, LOWER]), 1)
    return counts
