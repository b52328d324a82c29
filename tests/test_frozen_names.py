"""Names of random streams and of finished stages stay as they are: others draw other poses and train anew.

To add a name, run this file as a script: `python -m tests.test_frozen_names`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "ropes"
TABLE = Path(__file__).parent / "fixtures" / "frozen-names.txt"
#: Functions whose names spread a seed, or are part of a digest that decides whether a stage is reused.
FUNCTIONS = ("digest", "generator", "integer", "seed")


def names(code: str) -> Iterator[str]:
    """Each call of `FUNCTIONS` with a string among its arguments, as in `generator * 'train' *`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in FUNCTIONS and any(map(is_text, node.args)):
                yield " ".join([function, *map(shown, node.args)])


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def shown(node: ast.expr) -> str:
    """A string as it is, with * for each value of an f-string; * for any other argument."""
    if isinstance(node, ast.JoinedStr):
        return repr("".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values))
    return ast.unparse(node) if is_text(node) else "*"


def found() -> list[str]:
    return sorted(name for path in SOURCE.rglob("*.py") for name in names(path.read_text(encoding="utf-8")))


def test_names_of_random_streams_and_digests_are_those_of_the_table() -> None:
    frozen = TABLE.read_text(encoding="utf-8").splitlines()
    assert len(frozen) > 80
    assert found() == frozen, "a name differs; other ones are for new streams and stages alone (see this file's head)"


def test_a_renamed_stream_is_found() -> None:
    assert list(names("rng = generator(seed, 'train', 3)")) == ["generator * 'train' *"]
    assert list(names("rng = generator(seed, 'training', 3)")) != ["generator * 'train' *"]
    assert list(names("context.seed(f'{name}', 'weights'); integer(seed, part); print('train')")) == [
        "seed '*' 'weights'"
    ]


if __name__ == "__main__":
    TABLE.write_text("".join(f"{name}\n" for name in found()), encoding="utf-8")
