"""The commands of a model card give the estimator that it describes."""

import shlex
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.cli.fit import Fit
from ropes.evaluation.results import Results
from ropes.inference.calibration import Calibration, Origin
from ropes.methods.recipes import Optimisation, encoder_recipe
from ropes.methods.run import Run
from ropes.report.hub_card import package_readme
from ropes.report.model_card import commands, model_card
from tests import tiny
from tests.estimators import run_of
from tests.evaluation.joint_rows import a_row


def test_fit_command_in_the_card_gives_this_recipe() -> None:
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-2, schedule="constant")
    encoder = tiny.encoder_recipe().encoder
    changed = replace(encoder_recipe("compact"), encoder=encoder, training=short, student=short, val_fraction=0.25)
    name, one = "panda-2c-independent", ("a",)
    content = Run(
        method="anchored", recipe=changed, seed=4, setting=name, cameras=one, joints=one, image_size=8, data_checksum=""
    )
    provenance = {"anchors": 8000, "test_anchors": 500, "seed": 7, "mesh": "full"}
    simulated, fitted, calibrated = commands(content, provenance, Calibration(np.ones(1), np.ones(1), 0))
    counts = "--anchors 8000 --test-anchors 500 --seed 7 --mesh full"
    assert simulated == f"ropes simulate --setting panda-2c-independent {counts} --out data"
    webcam = provenance | {"mesh": "simplified", "setting": {"camera_level": "webcam"}}
    filmed = commands(replace(content, image_shapes=((128, 128, 3),)), webcam, Calibration(np.ones(1), np.ones(1), 0))
    assert filmed[0].endswith("--seed 7 --camera webcam --colour --out data")
    large = provenance | {"mesh": "simplified", "setting": {"image_size": 256, "renderer": "mujoco"}}
    drawn = commands(content, large, Calibration(np.ones(1), np.ones(1), 0))[0]
    assert "--setting panda-2c-independent --scene white --renderer mujoco --anchors 8000" in drawn
    assert drawn.endswith("--seed 7 --image-size 256 --out data")
    chained = {"chains": {"chains": 30, "turns": 5, "frames_per_move": 0}, "test_anchors": 500, "seed": 7}
    moved = commands(content, chained | {"mesh": "simplified"}, Calibration(np.ones(1), np.ones(1), 0))[0]
    assert "--chains 30 --frames-per-move 0 --test-anchors 500 --seed 7" in moved
    on_the_way = commands(content, provenance | {"frames_per_move": 2}, Calibration(np.ones(1), np.ones(1), 0))[0]
    assert "--anchors 8000 --frames-per-move 2 --test-anchors 500" in on_the_way
    stripped = commands(content, provenance | {"seed": None}, Calibration(np.ones(1), np.ones(1), 0))
    assert stripped == [fitted, calibrated]
    words = shlex.split(fitted)[1:]
    parsed = cli.parse(cli.command_kind(words[0], words[1:]), words[0], words[1:])
    assert isinstance(parsed, Fit)
    assert parsed.recipe == changed
    assert (parsed.method, parsed.seed) == ("anchored", 4)
    assert calibrated == "ropes calibrate run --data data --commanded"
    for line in (simulated, drawn, moved, on_the_way, calibrated):
        words = shlex.split(line)[1:]
        cli.parse(cli.command_kind(words[0], words[1:]), words[0], words[1:])


@pytest.mark.parametrize(
    ("samples", "origin", "words"),
    [
        (40, None, "--data data --samples 40"),
        (40, Origin(source="samples", seed=0, level=0.9), "--data data --samples 40"),
        (40, Origin(source="samples", seed=3, level=0.95), "--data data --samples 40 --seed 3 --level 0.95"),
        (12, Origin(source="labels", seed=3, level=0.9, file="my labels.csv"), "--labels 'my labels.csv'"),
        (0, Origin(source="commanded", seed=2, level=0.8), "--data data --commanded --seed 2 --level 0.8"),
        (0, Origin(source="commanded", seed=0, level=0.9, file="c.json"), "--data data --commanded c.json"),
    ],
)
def test_card_shows_the_calibration_command_that_was_used(samples: int, origin: Origin | None, words: str) -> None:
    made = Calibration(np.ones(2), np.ones(2), samples, origin=origin)
    line = commands(run_of(method="anchored", recipe=encoder_recipe("compact")), {}, made)[-1]
    assert line == f"ropes calibrate run {words}"
    parts = shlex.split(line)[1:]
    cli.parse(cli.command_kind(parts[0], parts[1:]), parts[0], parts[1:])


@pytest.mark.parametrize(("labels", "said"), [(1000, ", with 500 test poses each."), (200, "`ropes evaluate`.")])
def test_figures_of_lines_on_fewer_labels_are_in_the_card(labels: int, said: str) -> None:
    run = run_of(method="anchored", recipe=encoder_recipe("compact"))
    of_run: dict[str, Any] = {"setup": run.setting, "method": run.method, "seed": run.seed, "occlusion": 0}
    rows = tuple(
        a_row(**of_run, joint=joint, calibration_labels=count) for joint in run.joints for count in (labels, 10, 0)
    )
    about: dict[str, Any] = {"name": "evaluation", "preset": "compact", "version": "0.1.0", "seconds": 1.0}
    found = Results(**about, device="2 cores", rows=rows)
    dataset: Any = SimpleNamespace(provenance=None, urdf=None)
    training = {"provenance": {"device": "2 cores", "anchors": 8, "poses": 40}}
    made = Calibration(np.ones(2), np.ones(2), 0)
    card = model_card("mine", run, dataset, made, found, training, weights=3, precision="float32", size=12)
    assert said in " ".join(card.split())
    assert f"fitted on {labels} labelled poses" in " ".join(card.split())
    line = card[card.index("| MCC |") :].splitlines()[2]
    assert line.startswith("| in distribution | ")
    assert "line from 10 labels" in card
    assert "value:" in package_readme("mine", run, card, found)
