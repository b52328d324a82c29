"""Which states of finger and cube are possible, over the grid of factors (Dittadi et al. 2021, App. B.1)."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common.files import write_arrays
from ropes.common.seeds import generator
from ropes.simulation.finger import FingerScene
from ropes.simulation.finger_setting import FACTORS, NAMES, FingerSetting, factor_values

UPPER, MIDDLE, LOWER = (NAMES.index(f"{part}_joint") for part in ("upper", "middle", "lower"))
#: States drawn over the whole grid, and for each pair of angles of the other two joints with the upper one upright.
_DRAWN, _EACH = 60_000, 20


def write_feasibility(path: Path, setting: FingerSetting, seed: int = 0) -> None:
    """Write how many states are possible: drawn evenly over the grid, and with the upper joint upright.

    Arrays: `drawn` and `possible`, counts of states by middle and lower joint (30, 30), over all other factors
    (Fig. 10); `upright`, shares of the possible ones with the upper joint at the value nearest 0 (Fig. 9), over
    places of the cube.  A file that is there stays.

    Args:
        path: of the file.
        setting: of the scene; what it looks like does not matter.
        seed: of the draws.

    Raises:
        UserError: the meshes are not installed.
    """
    if path.exists():
        return
    rng = generator(seed, "feasibility")
    counts = np.array([factor.count for factor in FACTORS])
    everywhere = rng.integers(counts, size=(_DRAWN, len(counts)))
    upright = rng.integers(counts, size=(counts[MIDDLE] * counts[LOWER] * _EACH, len(counts)))
    upright[:, UPPER] = np.abs(FACTORS[UPPER].values).argmin()
    upright[:, MIDDLE], upright[:, LOWER] = np.divmod(np.arange(len(upright)) // _EACH, counts[LOWER])
    with FingerScene(setting) as scene:
        possible, standing = (scene.feasible(factor_values(numbers)) for numbers in (everywhere, upright))
    arrays = {
        "drawn": _counted(everywhere),
        "possible": _counted(everywhere[possible]),
        "upright": standing.reshape(counts[MIDDLE], counts[LOWER], _EACH).mean(axis=2),
    }
    write_arrays(path, arrays)


def _counted(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many states have each pair of values of middle and lower joint, (30, 30)."""
    shape = FACTORS[MIDDLE].count, FACTORS[LOWER].count
    found = np.zeros(shape, dtype=np.int64)
    np.add.at(found, (numbers[:, MIDDLE], numbers[:, LOWER]), 1)
    return found
