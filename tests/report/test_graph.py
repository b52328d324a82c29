import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation.paper import ONE_CAMERA
from ropes.report import graph as report
from ropes.report.html import write_report
from tests.report.conftest import make_run

JOINTS = ["panda_joint1", "panda_joint2", "elbow"]


def found(**changes: Any) -> dict[str, Any]:
    effects = [[0, 0.4, 0.0], [0, 0, -0.2], [0, 0, 0]]
    content = {
        "joints": JOINTS,
        "effects": effects,
        "errors": [[0.01] * 3] * 3,
        "edges": [JOINTS[:2], JOINTS[1:]],
        "undecided": [],
        "cyclic": [],
        "true": [JOINTS[:2], [JOINTS[0], JOINTS[2]]],
        "distance": 2,
        "poses": 600,
    }
    return content | changes


def test_edges_are_classified_as_found_extra_or_missing() -> None:
    kinds = {(row["parent"], row["child"]): (row["kind"], row["effect"]) for row in report.edges(found())}
    assert kinds == {
        (JOINTS[0], JOINTS[1]): ("found", 0.4),
        (JOINTS[1], JOINTS[2]): ("extra", 0.2),
        (JOINTS[0], JOINTS[2]): ("missing", 0.0),
    }
    assert {row["kind"] for row in report.edges(found(true=None, distance=None))} == {"found"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "2 edges found, 2 true edges: structural Hamming distance 2."),
        ({"true": None, "distance": None}, "2 edges found; the data set has no true graph to compare with."),
        ({"edges": [], "true": [], "distance": 0}, "No edges found, no true edges: structural Hamming distance 0."),
    ],
)
def test_verdict_sentence_summarises_the_graph(changes: dict[str, Any], sentence: str) -> None:
    assert report.verdict(found(**changes)) == sentence


def test_graph_figure_has_every_joint_and_an_arrow_per_edge() -> None:
    figure = report.draw(found())
    (panel,) = figure.axes
    assert {text.get_text() for text in panel.texts} == {"joint\n1", "joint\n2", "elbow", "0.40", "0.20", "0.00"}
    assert len(panel.patches) == 3
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    assert words == ["found", "found, not true", "true, not found"]


def test_terminal_shows_effect_sizes_and_undecided_edges() -> None:
    stream = io.StringIO()
    content = found(undecided=[[JOINTS[2], JOINTS[0]]], cyclic=[[JOINTS[1], JOINTS[0]]])
    report.print_graph(content, Console(file=stream, width=80))
    text = stream.getvalue()
    assert "0.400" in text
    assert "found, not true" in text
    assert "undecided by these poses: elbow → joint 1." in text
    assert "stronger edges lead the other way: joint 2 → joint 1." in text
    assert text.rstrip().endswith("structural Hamming distance 2.")


def undetermined() -> dict[str, Any]:
    """Joint 2 is not read, and one pair of the others has no answer."""
    nothing = [[0, None, 0.02], [None] * 3, [0.2, None, 0]]
    rows = [(0, 1), (1, 0), (1, 2), (2, 1)]
    pairs = [{"parent": JOINTS[i], "child": JOINTS[j], "why": "silent"} for i, j in rows]
    pairs.append({"parent": "elbow", "child": JOINTS[0], "why": "too few poses"})
    changes = {"edges": [], "true": [JOINTS[:2]], "distance": 1, "undetermined": pairs, "unread": {JOINTS[1]: "silent"}}
    return found(effects=nothing, errors=nothing, **changes)


def test_undetermined_pairs_are_reported_and_marked(tmp_path: Path) -> None:
    files.write_json(tmp_path / "graph.json", undetermined())
    content = report.read_graph(tmp_path / "graph.json")
    assert content is not None
    sentence = (
        "No edges found, 5 of 6 ordered pairs undetermined, 1 true edge: structural Hamming distance 1 "
        "(undetermined pairs count as no edge)."
    )
    assert report.verdict(content) == sentence
    stream = io.StringIO()
    report.print_graph(content, Console(file=stream, width=200))
    lines = stream.getvalue().splitlines()
    assert "Undetermined: every pair with joint 2 (silent)." in lines
    assert "Undetermined: elbow → joint 1 (too few poses)." in lines
    figure = report.draw(content)
    (panel,) = figure.axes
    texts = {text.get_text(): text for text in panel.texts}
    assert set(texts) == {"joint\n1", "joint\n2 ?", "elbow", "?"}
    assert texts["joint\n2 ?"].get_bbox_patch() is not None
    assert [line.get_linestyle() for line in panel.lines] == [":"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["true, not found", "undetermined", "not read"]
    page = "".join(report.elements(content))
    assert "<ul><li>every pair with joint 2: silent</li><li>elbow → joint 1: too few poses</li></ul>" in page
    assert "<svg" in page
    report.write_pictures(content, tmp_path / "out")


@pytest.mark.slow
def test_page_draws_a_stored_graph(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", (ONE_CAMERA,))
    place = folder / "artefacts" / ONE_CAMERA / "ropes" / "graph.json"
    page = tmp_path / "page.html"
    for content, part in (
        (found(), 'aria-label="Causal graph. 2 edges found'),
        ({"absent": "too few anchors"}, "No graph: too few anchors."),
        (found(edges=[], true=[], distance=0), "No edges found, no true edges"),
        (undetermined(), "<li>every pair with joint 2: silent</li>"),
    ):
        files.write_json(place, content)
        write_report(folder, page)
        text = page.read_text(encoding="utf-8")
        assert ">Causal graph</h3>" in text
        assert part in text
        assert ("Strengths are relative" in text) == bool(content.get("edges") or content.get("undetermined"))
        place.with_name("training.json").unlink(missing_ok=True)  # whose curves take long to draw
    place.unlink()
    write_report(folder, page)
    assert ">Causal graph</h3>" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"joints": JOINTS},
        found(edges=[["knee", "elbow"]]),
        found(effects=[[0]]),
        found(errors=[["x"] * 3] * 3),
        found(undetermined=[["a", "b"]]),
        found(undetermined=[{"parent": "knee", "child": "elbow", "why": "w"}]),
        found(unread={"knee": "silent"}),
    ],
)
def test_damaged_graph_file_is_refused(content: Any, tmp_path: Path) -> None:
    files.write_json(tmp_path / "graph.json", content)
    with pytest.raises(UserError, match=r"graph\.json is damaged .*; run the evaluation again"):
        report.read_graph(tmp_path / "graph.json")
    assert report.read_graph(tmp_path / "other.json") is None
