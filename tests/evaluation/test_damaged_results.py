"""A results file that was damaged anywhere is read, or refused in one line: never a traceback."""

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import FURTHER, Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import ActionRow, ModelRow

COMMITTED = sorted((Path(__file__).parents[2] / "results").glob("*.json"))
#: Of rows of one kind, some from all over the file: those of a kind are alike.
_KEPT = 4
#: A number of more digits than Python reads.
_ENDLESS = "9" * 5000
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def an_action(**changes: Any) -> ActionRow:
    given: dict[str, Any] = {"accuracy": {"a": 0.5}, "pairs": {"a": 3}, "recall": {"a": {"open": 0.5}}, "active": 0.1}
    given |= {"moves": {"elbow": {"direction": 0.9, "length": None}}, "cosines": {"antonyms": -0.5}}
    return ActionRow(**{"setup": "pairs", "method": "icm", "seed": 0, "seconds": 1.0, **given, **changes})


def a_model(**changes: Any) -> ModelRow:
    given: dict[str, Any] = {"settings": {"beta": 1.0}, "scores": {"dci": 0.5}, "errors": {"trees": {"hue": 0.1}}}
    return ModelRow(**{"setup": "pairs", "method": "icm", "seed": 0, "seconds": 1.0, **given, **changes})


def some_results(**rows: Any) -> Results:
    return Results(**{"name": "n", "preset": "p", "device": "d", "version": "v", "seconds": 1.0, "rows": (), **rows})


@cache
def thinned(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for kind in {"rows", *FURTHER} & content.keys():
        content[kind] = content[kind][:: max(1, len(content[kind]) // _KEPT)]
    return content


def places(content: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every leaf and subtree."""
    yield at
    inner = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


@cache
def places_in(path: Path) -> list[tuple[Any, ...]]:
    return list(places(thinned(path)))


def replaced(content: Any, at: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value in one place."""
    if not at:
        return value
    key, *rest = at
    changed = content.copy()
    changed[key] = replaced(content[key], tuple(rest), value)
    return changed


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_results_file_is_read_or_refused_without_a_traceback(path: Path, data: Any, tmp_path: Path) -> None:
    content = thinned(path)
    damaged = replaced(content, data.draw(st.sampled_from(places_in(path))), data.draw(values))
    (tmp_path / "results.json").write_text(json.dumps(damaged), encoding="utf-8")
    with suppress(UserError):  # and nothing else
        assert isinstance(results.read(tmp_path / "results.json"), Results)


@pytest.mark.parametrize(
    ("kind", "row", "field", "value", "message"),
    [
        ("action_rows", an_action(), "recall", {"a": 3}, "recall of a must be named figures, got 3"),
        ("action_rows", an_action(), "recall", {"a": [["open", 0.5]]}, "recall of a must be named figures"),
        ("action_rows", an_action(), "moves", {"elbow": 3}, "moves of elbow must be named figures, got 3"),
        ("action_rows", an_action(), "seconds", 10**400, "seconds must be a finite number"),
        ("model_rows", a_model(), "errors", {"trees": 3}, "errors of trees must be named figures, got 3"),
        (
            "model_rows",
            a_model(scores={"dci": None}, reasons={"dci": "x"}),
            "reasons",
            {"dci": 3},
            "of dci must be a name",
        ),
        ("rows", None, "mse_mean", 10**400, "mse_mean must be a finite number or null"),
    ],
    ids=["recall", "pairs in a list", "moves", "seconds", "errors", "reasons", "mse_mean"],
)
def test_invalid_row_value_is_reported(
    tmp_path: Path, kind: str, row: Any, field: str, value: Any, message: str
) -> None:
    row = row or Row.measured(setup="s", joint="j", split="id", occlusion=0, seed=0, mcc=(0.5, 0.0), mse=(0.5, 0.0))
    content = some_results(**{kind: (row,)}).to_dict()
    content[kind][0][field] = value
    files.write_json(tmp_path / "results.json", content)
    with pytest.raises(UserError, match=message) as caught:
        results.read(tmp_path / "results.json")
    assert "row 0: " in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, f'{{"schema": {_ENDLESS}}}', '{"schema": 1e999}', "\x00"])
def test_json_that_cannot_be_parsed_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "results.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"results\.json"):
        results.read(tmp_path / "results.json")


def test_folder_in_place_of_the_results_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*: Is a directory"):
        results.read(tmp_path)
