"""Writes the tables of docs/processors.md from the figures of other benchmarks, or checks that they agree.

    python -m benchmarks.processors [--check]

The figures are in results/processors, one file per benchmark and processor. The option --out of `layers.py`,
`training.py`, `reduced_precision.py`, `same_weights.py`, `spinning.py` and `wheels.py` writes them.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import spinning
from benchmarks.figures import filled, table, write_or_check
from ropes.common.files import read_json

ROOT = Path(__file__).parents[1]
PAGE, FIGURES = ROOT / "docs" / "processors.md", ROOT / "results" / "processors"
Found = Mapping[str, Any]
_NAMES = {
    "other": "none of these",
    "avx2": "AVX2",
    "avx512": "AVX-512",
    "avx512-bf16": "AVX-512 with bf16",
    "amx": "AMX",
    "cuda": "CUDA",
}


def origin(found: Sequence[Found]) -> str:
    """A line on where figures are from; nothing of those that an older benchmark wrote without."""
    told = [
        f"{_NAMES[one['processor']]}: {one['device']}, torch {one['torch']}, {one['seconds']} s"
        for one in found
        if "device" in one
    ]
    return f"\n{'; '.join(told)}.\n" if told else ""


def layers(found: Sequence[Found]) -> str:
    """Largest error of a layer, by network and processor."""
    names = sorted({name for one in found for name in one["largest_errors"]})
    rows = [
        [name, *(f"{one['largest_errors'][name]:.1e}" if name in one["largest_errors"] else "" for one in found)]
        for name in names
    ]
    # Files of before a precision could be asked for are of float32.
    heads = [f"{_NAMES[one['processor']]}, {one.get('precision', '32-true')}" for one in found]
    return table(["network", *heads], rows) + origin(found)


def training(found: Sequence[Found]) -> str:
    """Where the time of a step goes."""
    parts = ("step", "read", "forward", "backward", "optimiser", "bound")
    rows = [
        [
            f"{method}, {_NAMES[one['processor']]}, {one['precision']}",
            one["device"].partition("(R)")[0].partition(",")[0],
            *(f"{figures[f'{part}_ms']:.0f}" for part in parts),
            f"{figures['share_of_bound']:.0%}",
            f"{figures['share_of_matrix_product']:.0%}",
            f"{figures['in_convolutions']:.0%}",
        ]
        for method in sorted({name for one in found for name in one["methods"]})
        for one in found
        if method in one["methods"]
        for figures in [one["methods"][method]]
    ]
    times = (f"{part}, ms" for part in parts)
    heads = ["method", "on", *times, "bound ÷ step", "of a matrix product", "in convolutions"]
    return table(heads, rows) + origin(found)


def reading(found: Sequence[Found]) -> str:
    """What reduced precision costs and gains."""
    rows = [
        [
            f"{name}, {_NAMES[one['processor']]}",
            *(f"{min(figures[key]):.3f} to {max(figures[key]):.3f}" for key in ("error", "moved")),
            f"{figures['times_as_fast']:.2f}",
        ]
        for one in found
        for name, figures in one["readers"].items()
    ]
    heads = ["read in", "RMS error ÷ float32's", "RMS difference ÷ float32's error", "poses a second ÷ float32's"]
    return table(heads, rows) + origin(found)


def weights(found: Sequence[Found]) -> str:
    """How many fits gave how many sets of weights."""
    rows = [
        [
            row["method"],
            f"{_NAMES[one['processor']]}, {row['precision']}",
            str(row["threads"]),
            str(one["times"]),
            str(row["digests"]),
        ]
        for one in found
        for row in one["rows"]
    ]
    return table(["method", "processor", "threads", "fits", "different weights"], rows) + origin(found)


def wheels(found: Sequence[Found]) -> str:
    """What has no wheel, by platform and Python."""
    if not found:
        return ""
    (one,) = found
    rows = [
        [
            name,
            str(figures["looked_at"]),
            " ".join(figures["missing"]) or "none",
            " ".join(figures["simulation"]) or "none",
        ]
        for name, figures in one["platforms"].items()
    ]
    return table(["platform", "distributions needed", "without a wheel", "without a wheel, to simulate"], rows)


WRITERS: dict[str, Callable[[Sequence[Found]], str]] = {
    "layers": layers,
    "training": training,
    "reading": reading,
    "weights": weights,
    "wheels": wheels,
    "spinning": lambda found: "\n".join(map(spinning.written, found)),
}


def written(page: str, folder: Path) -> str:
    """The page with every table written anew."""
    return filled(page, lambda name: WRITERS[name]([read_json(file) for file in sorted(folder.glob(f"{name}*.json"))]))


def main() -> None:
    """Write or check the page."""
    write_or_check(__doc__, PAGE, lambda page: written(page, FIGURES))


if __name__ == "__main__":
    main()
