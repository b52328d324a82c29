"""From images of a causal arm to its graph; the estimator reads the blobs' places, in its own order of joints."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.causal.graph.estimate import BOUND
from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.cli import entry as cli
from ropes.cli.evaluate import Graph
from ropes.common import files
from ropes.data import schema
from ropes.data.batches import held_out_anchors
from ropes.data.dataset import Dataset
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from ropes.evaluation import causal_graph
from ropes.evaluation.causal_graph import graph_of, write_graph
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from tests import tiny
from tests.command_line import refusal
from tests.estimators import Formula, estimator_of

NOISE = TruncatedNormal(mean=0, variance=0.05, low=-0.5, high=0.5)


def causal_model(weight: float = 0.6) -> CausalModel:
    plain = tiny.model()
    return CausalModel(
        joints=tiny.JOINTS,
        observational={"elbow": plain.observational["elbow"]},
        noise={"wrist": NOISE},
        weights={("elbow", "wrist"): weight},
        interventions=plain.interventions,
    )


def write_causal(path: Path, model: CausalModel, anchors: int = 60, **options: Any) -> Path:
    states = {"train": model.sample(np.random.default_rng(0), anchors)}
    images = {split: tiny.draw(angles) for split, angles in states.items()}
    data = tiny.write_data(path, images=images, states=states, **options)
    if options.get("described", True):
        note = files.read_json(data / schema.PROVENANCE)
        note["setting"]["splits"]["train"] = model.to_dict()
        files.write_json(data / schema.PROVENANCE, note)
    return data


def centres(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The centre of the first camera's blob, (n, 2): of elbow and wrist, in units of their own."""
    first = images[:, 0].astype(float)
    grid, mass = np.arange(tiny.SIDE), first.sum((1, 2))
    return np.stack([-((first.sum(1) @ grid) / mass), 7 + 0.01 * ((first.sum(2) @ grid) / mass)], axis=1)


def reader(dataset: Dataset, formula: Formula = centres, **changes: Any) -> Estimator:
    """An estimator that was fitted on a data set, a quarter of it held out; `changes` are fields of its run."""
    fitted = {"cameras": dataset.cameras, "data_checksum": dataset.checksum, "seed": 3}
    return estimator_of(formula, **(fitted | changes))


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_causal(tmp_path_factory.mktemp("causal") / "data", causal_model(), anchors=240)


@pytest.mark.parametrize("joints", [("elbow", "wrist"), ("wrist", "elbow")])
def test_graph_is_estimated_from_images(causal: Path, joints: tuple[str, ...]) -> None:
    dataset = open_dataset(causal)
    order = [tiny.JOINTS.index(joint) for joint in joints]
    found = graph_of(reader(dataset, lambda images: centres(images)[:, order], joints=joints), dataset)
    content = found.to_dict()
    assert content["edges"] == content["true"] == [["elbow", "wrist"]]
    assert content["distance"] == 0
    assert content["poses"] == 60 * 5  # of the quarter held out
    assert content["undetermined"] == []
    assert content["unread"] == {}
    effect = content["effects"][joints.index("elbow")][joints.index("wrist")]
    assert effect == pytest.approx(0.6, abs=0.1)


def test_wrong_graph_has_a_positive_distance(causal: Path) -> None:
    dataset = open_dataset(causal)
    found = graph_of(reader(dataset, lambda images: centres(images) * [1, 0] + _noise(images)), dataset, bound=0.9)
    assert found.distance == 1


def test_path_through_a_joint_that_is_not_learnt_is_a_true_edge(causal: Path, tmp_path: Path) -> None:
    data, direct = shutil.copytree(causal, tmp_path / "data"), causal_model()
    plain = tiny.model().observational["elbow"]
    chain = dataclasses.replace(
        direct,
        joints=("elbow", "forearm", "wrist", "base"),
        observational={"elbow": plain, "base": plain},
        weights={("elbow", "forearm"): 0.6, ("forearm", "wrist"): 1.0, ("base", "elbow"): 0.1, ("base", "wrist"): 0.1},
    )
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["splits"]["train"] = chain.to_dict()
    files.write_json(data / schema.PROVENANCE, note)
    dataset = open_dataset(data)
    found = graph_of(reader(dataset), dataset)
    assert found.to_dict()["true"] == [["elbow", "wrist"]]
    assert found.distance == 0


def _noise(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """A wrist that answers to its own policies alone: the elbow's part regressed out."""
    elbow, wrist = centres(images).T
    return np.stack([np.zeros(len(images)), wrist - 0.6 * np.polyfit(elbow, wrist, 1)[0] * elbow], axis=1)


def test_graph_is_the_same_without_labels_or_distributions(causal: Path, tmp_path: Path) -> None:
    stripped = copy_without_labels(causal, tmp_path / "stripped")
    untold = open_dataset(write_causal(tmp_path / "untold", causal_model(), anchors=240, described=False))
    for dataset, distance in ((stripped, 0), (untold, None)):
        found = graph_of(reader(dataset), dataset)
        assert found.graph.edges == ((0, 1),)
        assert found.distance == distance


@pytest.mark.parametrize(("at_most", "anchors"), [(500, 60), (15, 15)])
def test_only_held_out_anchors_are_read(
    causal: Path, monkeypatch: pytest.MonkeyPatch, at_most: int, anchors: int
) -> None:
    monkeypatch.setattr(causal_graph, "MAX_POSES", at_most)
    dataset = open_dataset(causal)
    frames = dataset.frames("train")
    chosen = causal_graph.held_out_rows(reader(dataset), dataset, frames, np.arange(5) > 0, 0)
    held = held_out_anchors(frames.anchor, 0.25, 3)
    assert set(frames.anchor[chosen]) <= set(held)
    assert len(np.unique(frames.anchor[chosen])) == anchors
    assert len(chosen) == anchors * 4
    other = reader(dataset, data_checksum="another data set's")
    chosen = causal_graph.held_out_rows(other, dataset, frames, np.arange(5) > 0, 0)
    assert not set(frames.anchor[chosen]) <= set(held)


def test_uninformative_coordinates_are_refused_and_recorded(causal: Path, tmp_path: Path) -> None:
    dataset = open_dataset(causal)
    still = reader(dataset, lambda images: np.zeros((len(images), 2)))
    with pytest.raises(UserError, match="no graph: the coordinate of elbow does not respond to the pol"):
        graph_of(still, dataset)
    write_graph(tmp_path / "graph.json", still, dataset)
    assert "does not respond" in files.read_json(tmp_path / "graph.json")["absent"]


def test_missing_joints_and_policies_are_refused(causal: Path, tmp_path: Path) -> None:
    dataset = open_dataset(causal)
    with pytest.raises(UserError, match=r"has no interventions on knee \(it has elbow, wrist\)"):
        graph_of(reader(dataset, joints=("elbow", "knee")), dataset)
    images = {"train": np.zeros((4, 4, 2, 16, 16), np.uint8)}
    regimes = tiny.model().regimes[:-1]
    half = open_dataset(tiny.write_data(tmp_path / "h", described=False, images=images, states=None, regimes=regimes))
    with pytest.raises(UserError, match="joint wrist has no images under policy 2"):
        graph_of(reader(half), half)


def test_graph_command_prints_and_draws(
    causal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Estimator, "load", lambda _: reader(open_dataset(causal)))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "R").mkdir()
    assert cli.main(["graph", "R", "--data", str(causal), "--out", str(tmp_path / "g")]) == 0
    out = capsys.readouterr().out
    assert "1 edge found, 1 true edge: structural Hamming distance 0." in out
    assert sorted(path.name for path in (tmp_path / "g").iterdir()) == [
        "graph.json",
        "graph.png",
        "graph.svg",
        "options.yaml",
    ]
    assert files.read_json(tmp_path / "g" / "graph.json")["edges"] == [["elbow", "wrist"]]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    line = refusal(capsys, "graph", "R", "--data", str(causal), "--out", str(tmp_path / "mine"))
    assert "holds something else" in line
    assert Graph(run="R", data=Path("D")).bound == BOUND
    assert refusal(capsys, "graph", "R", "--data", "D", "--bound", "1").startswith("--bound is 1; it must be")


@pytest.mark.slow
def test_evaluation_stores_the_graph_for_the_report(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    from ropes.report.artefacts import load

    evaluate(tiny_run, tiny_data, tmp_path / "e", occlusions=(0,), show=False)
    (artefacts,) = load(tmp_path / "e")
    assert artefacts.graph is not None
    assert "absent" in artefacts.graph or artefacts.graph["true"] == []
