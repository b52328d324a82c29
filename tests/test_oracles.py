"""The comparison with other libraries: its arrays and its table."""

from pathlib import Path

import numpy as np

from benchmarks import oracles
from ropes.common.files import read_json

ROOT = Path(__file__).parents[1]


def test_codes_are_drawn_by_seed() -> None:
    latents, factors = oracles.codes(3)
    assert latents.shape == (len(factors), 5)
    assert [len(np.unique(column)) for column in factors.T] == [4, 7, 20]
    np.testing.assert_array_equal(latents, oracles.codes(3)[0])
    assert (latents != oracles.codes(4)[0]).any()


def test_the_table_says_what_agrees_and_why_not() -> None:
    row = {"name": "MIG", "oracle": "disent", "pairs": 5, "ours": 0.25, "theirs": 0.25}
    found = {
        "rows": [
            {**row, "difference": 3e-16, "note": ""},
            {**row, "difference": 0.02, "note": "factors are binned here, not there"},
        ],
        "libraries": {"disent": "0.9.3", "numpy": "2.5.5"},
    }
    lines = oracles.written(found).splitlines()
    assert lines[2] == "| MIG | disent | 5 | 0.250 | 0.250 | 3e-16 | yes |"
    assert lines[3].endswith("| 0.02 | no: factors are binned here, not there |")
    assert lines[-1] == "disent 0.9.3, numpy 2.5.5."


def test_every_comparison_that_may_differ_says_why() -> None:
    assert all(comparison.oracle in ("disent", "MAPIE") for comparison in oracles.COMPARISONS)
    assert [comparison.name for comparison in oracles.COMPARISONS if not comparison.note] == [
        "D and C of DCI from importances",
        "MIG, factors of up to 20 values",
        "SAP, ordered factors",
        "conformal quantile, 20 to 523 scores, levels .8 to .95",
        "quantile of leave-one-out residuals",
    ]


def test_the_page_has_the_published_figures_and_they_agree_where_they_should() -> None:
    found = read_json(ROOT / "results" / "oracles.json")
    page = oracles.PAGE.read_text(encoding="utf-8")
    assert f"<!-- figures:oracles -->\n{oracles.written(found)}<!-- /figures -->" in page
    assert [row["name"] for row in found["rows"]] == [comparison.name for comparison in oracles.COMPARISONS]
    assert all(map(oracles.agrees, found["rows"]))


def test_a_difference_without_a_reason_is_no_agreement() -> None:
    row = {"difference": 2e-6, "note": ""}
    assert not oracles.agrees(row)
    assert oracles.agrees({**row, "difference": 1e-7})
    assert oracles.agrees({**row, "note": "factors are binned here, not there"})
