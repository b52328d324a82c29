"""Names of random streams and of finished stages stay as they are: others draw other poses and train anew.

To add a name, run this file as a script: `python -m tests.test_frozen_names`.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "ropes"
TABLE = Path(__file__).parent / "fixtures" / "frozen-names.txt"
#: Functions whose names spread a seed, or are part of a digest that decides whether a stage is reused.
FUNCTIONS = ("digest", "generator", "integer", "seed")
_MENTIONED = re.compile(rf"\b({'|'.join(FUNCTIONS)})\b")


def names(code: str) -> Iterator[str]:
    """Each call of `FUNCTIONS` with a string among its arguments, as in `generator * 'train' *`."""
    tree = ast.parse(code)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            arguments = [shown(each, constants) for each in node.args]
            if function in FUNCTIONS and any(each != "*" for each in arguments):
                yield " ".join([function, *arguments])


def shown(node: ast.expr, constants: Mapping[str, str]) -> str:
    """A string as it is, also that of a module's constant, with * for each value of an f-string; * for all others."""
    match node:
        case ast.JoinedStr():
            return repr("".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values))
        case ast.Constant(value=str(text)):
            return repr(text)
        case ast.Name(id=name) if name in constants:
            return repr(constants[name])
        case _:
            return "*"


def found() -> list[str]:
    modules = (path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    return sorted(name for code in modules if _MENTIONED.search(code) for name in names(code))


def test_stream_and_digest_names_match_the_frozen_table() -> None:
    frozen = TABLE.read_text(encoding="utf-8").splitlines()
    assert len(frozen) > 80
    assert found() == frozen, "a name differs; other ones are for new streams and stages alone (see this file's head)"


def test_renamed_stream_is_detected() -> None:
    assert list(names("rng = generator(seed, 'train', 3)")) == ["generator * 'train' *"]
    assert list(names("rng = generator(seed, 'training', 3)")) != ["generator * 'train' *"]
    assert list(names("_STAGE = 'first'\ncontext.digest(_STAGE, 3)")) == ["digest 'first' *"]
    assert list(names("context.seed(f'{name}', 'weights'); integer(seed, part); print('train')")) == [
        "seed '*' 'weights'"
    ]


if __name__ == "__main__":
    TABLE.write_text("".join(f"{name}\n" for name in found()), encoding="utf-8")
