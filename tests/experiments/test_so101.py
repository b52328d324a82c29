"""Experiment so101, made tiny: from simulation by webcams to the report, and to a packaged estimator."""

from dataclasses import replace
from pathlib import Path

import pytest

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.experiments.plans import experiment
from ropes.experiments.run import run_experiment
from ropes.inference.estimator import Estimator
from ropes.methods.passers_by import fit as passers_by
from ropes.methods.passers_by.stage import OPTIMISATION
from ropes.report.html import write_report
from ropes.report.so101 import so101_markdown
from ropes.simulation.so101 import RANGES
from tests import tiny

#: Pixels; of smaller images no webcam's frames can be registered.
SIDE = 32


@pytest.mark.slow
@pytest.mark.usefixtures("cache_home")
def test_the_run_is_reported_and_packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passers_by, "OPTIMISATION", replace(OPTIMISATION, min_samples=64))
    plan, out = experiment("so101", "compact"), tmp_path / "so101"
    recipe = tiny.encoder_recipe(foreign=0.0)
    plan = replace(
        plan,
        recipes={"anchored": tiny.short(replace(recipe, encoder=replace(recipe.encoder, image_size=SIDE)))},
        anchors={"so101": 40},
        test_anchors=100,
        seeds=(0,),
        sizes=tiny.SIZES,
        scene="panda-gym",
        image_size=SIDE,
    )
    found = run_experiment(plan, preset="compact", out=out, workers=1, show=False)
    assert {row.joint for row in found.rows} == set(RANGES)
    assert {row.camera for row in found.rows} == {"webcam"}
    described = read_json(out / "experiment.json")["experiment"]
    assert (described["camera"], described["colour"]) == ("webcam", True)
    made = read_json(out / "so101" / "data" / "meta" / "ropes.json")["setting"]
    assert (made["camera_level"], made["colour"], made["scene"]) == ("webcam", True, "panda-gym")
    write_report(out, out / "report.html")
    assert "SO-101 · anchored" in (out / "report.html").read_text(encoding="utf-8")
    assert f"| test data | method | labels | {' | '.join(RANGES)} |" in so101_markdown(found).splitlines()

    run, data = out / "so101" / "anchored" / "seed-0", out / "so101" / "data"
    words = f"--data {data} --results {out / 'results.json'} --out {tmp_path / 'packages'}"
    assert cli.main(f"calibrate {run} --data {data} --samples 40".split()) == 0
    assert cli.main(f"package {run} --name my-so101 {words}".split()) == 0
    package = tmp_path / "packages" / "my-so101"
    card = (package / "MODEL_CARD.md").read_text(encoding="utf-8")
    simulated = next(line for line in card.splitlines() if "ropes simulate" in line)
    assert "--setting so101 --scene panda-gym --anchors 40 --test-anchors 100" in simulated
    assert "--camera webcam --colour" in simulated
    assert "in distribution" in card.partition("| RMS error, ° |")[2]
    assert Estimator.load(package).run.joints == tuple(RANGES)
