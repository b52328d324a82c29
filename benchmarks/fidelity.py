"""Write docs/fidelity.md: where this package differs from the papers, from the `Deviation:` lines of its docstrings.

    python -m benchmarks.fidelity [--check]

A line reads "Deviation: what.  Why: why.  Effect: what it changes."  The text extends to the end of its
paragraph.  Its module determines the paper.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import filled, write_or_check

ROOT = Path(__file__).parents[1]
SOURCE, PAGE = ROOT / "src" / "ropes", ROOT / "docs" / "fidelity.md"
#: Table of the page → the modules whose deviations it holds: files, and folders with all that is in them.
TABLES: Mapping[str, tuple[str, ...]] = {
    "ropes": (
        "evaluation/joints.py",
        "experiments/datasets.py",
        "experiments/plan.py",
        "methods/anchored/fit.py",
        "methods/policies.py",
        "methods/ropes/objectives.py",
        "methods/student/stage.py",
        "metrics/calibration.py",
        "metrics/correlation.py",
        "models/autoencoder.py",
        "models/blocks.py",
        "models/dense.py",
        "models/density_ratio.py",
        "evaluation/paper.py",
        "experiments/plans.py",
        "methods/ropes/recipe.py",
        "causal/scm.py",
        "simulation/panda.py",
        "simulation/room.py",
        "simulation/mujoco_scene.py",
        "simulation/scene.py",
    ),
    "supervised": ("methods/supervised/blocks.py", "models/angles.py", "methods/supervised/recipe.py"),
    "disentanglement": (
        "evaluation/factor_latents.py",
        "evaluation/factors.py",
        "methods/vae/fit.py",
        "methods/vae/stage.py",
        "metrics/disentanglement",
        "metrics/transfer.py",
        "methods/vae/recipe.py",
        "models/vae.py",
        "experiments/variants.py",
        "simulation/finger.py",
        "simulation/finger_setting.py",
    ),
    "deltas": (
        "simulation/actions.py",
        "data/causal_triplet.py",
        "methods/delta/stage.py",
        "models/delta.py",
        "methods/delta/recipe.py",
    ),
    "others": ("data/import_dream.py", "metrics/pose.py", "methods/uncertainty"),
}
_PARAGRAPH = re.compile(r"^Deviation: (.*?)(?:\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)
_PARTS = re.compile(r"(.+?) Why: (.+?) Effect: (.+)")


class Deviation(NamedTuple):
    """Where the package differs from a paper.

    Attributes:
        module: file below src/ropes.
        name: of the function or class that says so.
        what, why, effect: sentences.
    """

    module: str
    name: str
    what: str
    why: str
    effect: str


def deviations(source: Path = SOURCE) -> Iterator[Deviation]:
    """Every deviation of the code, by file.

    Raises:
        ValueError: a line lacks its reason or its effect.
    """
    for path in sorted(source.rglob("*.py")):
        module, code = path.relative_to(source).as_posix(), path.read_text(encoding="utf-8")
        if "Deviation:" not in code:  # most modules, and parsing takes long
            continue
        for node in ast.walk(ast.parse(code)):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                continue
            for paragraph in _PARAGRAPH.findall(ast.get_docstring(node) or ""):
                text = " ".join(paragraph.split())
                if not (parts := _PARTS.fullmatch(text)):
                    raise ValueError(f'{module}: "{text[:60]}…" must say "Why:" and "Effect:"')
                yield Deviation(module, getattr(node, "name", ""), *(part.strip() for part in parts.groups()))


def table_of(module: str) -> str:
    """The table that holds the deviations of a module.

    Raises:
        ValueError: none, or more than one.
    """
    found = [
        name for name, owners in TABLES.items() if any(module == one or module.startswith(f"{one}/") for one in owners)
    ]
    if len(found) != 1:
        raise ValueError(f"{module} belongs to one table of TABLES, not to {len(found)}")
    return found[0]


def written(page: str, found: list[Deviation]) -> str:
    """The page with every table written anew."""

    def rows(name: str) -> str:
        lines = [f"| {' | '.join(_cells(one))} |\n" for one in found if table_of(one.module) == name]
        return "| here | why | what it changes | where |\n|---|---|---|---|\n" + "".join(lines)

    return filled(page, rows)


def _cells(one: Deviation) -> list[str]:
    texts = [_sentence(text.replace("|", "\\|")) for text in (one.what, one.why, one.effect)]
    return [*texts, f"[`{one.name or one.module}`](../src/ropes/{one.module})"]


def _sentence(text: str) -> str:
    """With a capital, unless it begins with a symbol or a name of the code."""
    first = text.partition(" ")[0]
    return text[0].upper() + text[1:] if first.isascii() and first.rstrip(".,;:").isalpha() else text


def main() -> None:
    """Write or check the page."""
    write_or_check(__doc__, PAGE, lambda page: written(page, list(deviations())))


if __name__ == "__main__":
    main()
