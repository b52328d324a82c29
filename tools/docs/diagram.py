"""Draws the packages, layer by layer, and the imports between them: docs/images/packages.svg.

python tools/docs/diagram.py [--check]
"""

import ast
from collections import Counter
from pathlib import Path

from svg import write_or_check

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "packages.svg"
LAYERS = (
    ("common", "metrics"),
    ("causal",),
    ("simulation",),
    ("data", "models"),
    ("methods",),
    ("inference",),
    ("evaluation",),
    ("experiments", "report"),
    ("cli",),
)
_WIDTH, _ROW, _BOX = 640, 64, (150, 34)


def imports() -> Counter[tuple[str, str]]:
    """(importing package, imported package) → number of importing modules."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in (ROOT / "src" / "ropes").rglob("*.py"):
        parts = path.relative_to(ROOT / "src" / "ropes").parts
        if len(parts) == 1:
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        targets = {node.module.split(".")[1] for node in nodes if isinstance(node, ast.ImportFrom) and _ours(node)}
        counts.update((parts[0], target) for target in targets if target != parts[0])
    return counts


def _ours(node: ast.ImportFrom) -> bool:
    return bool(node.module) and str(node.module).startswith("ropes.")


def drawn() -> str:
    """The picture."""
    height = _ROW * len(LAYERS) + 20
    places = {}
    for row, layer in enumerate(LAYERS):
        for column, name in enumerate(layer):
            across = _WIDTH / 2 + (column - (len(layer) - 1) / 2) * 2.2 * _BOX[0]
            places[name] = across, height - 20 - _ROW * row - _BOX[1] / 2
    lines = []
    for (source, target), count in sorted(imports().items()):
        if target in places:
            (x, y), (to_x, to_y) = places[source], places[target]
            bend = 0.35 * (to_y - y) * (1 if source < target else -1)
            lines.append(
                f'<path d="M{x:.0f},{y:.0f} Q{(x + to_x) / 2 + bend:.0f},{(y + to_y) / 2:.0f} {to_x:.0f},{to_y:.0f}" '
                f'fill="none" stroke="#4878a8" stroke-opacity="0.45" stroke-width="{1 + count**0.5 / 2:.1f}">'
                f"<title>{source} imports {target} in {count} modules</title></path>"
            )
    for name, (x, y) in places.items():
        box = f'x="{x - _BOX[0] / 2:.0f}" y="{y - _BOX[1] / 2:.0f}" width="{_BOX[0]}" height="{_BOX[1]}" rx="6"'
        lines.append(f'<rect {box} fill="#ffffff" stroke="#345"/>')
        lines.append(f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#123">{name}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        'font-size="15">'
    )
    return "\n".join([head, *lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    write_or_check(PICTURE, drawn)
