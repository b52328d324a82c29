"""Parts of an experiment: single settings and variants."""

from functools import partial
from pathlib import Path

import pytest

from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.experiments import run as experiments
from ropes.experiments.run import reproduce
from tests import tiny
from tests.experiments.tiny_experiment import ONE, small

OTHER = "panda-1c-six"


@pytest.mark.slow
def test_variants_and_settings_run_one_by_one(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipes = {label: tiny.recipe() for label in ("ropes", "ropes@other")}
    plan = small(recipes=recipes, anchors={ONE: 8, OTHER: 8}, seeds=(0,), occlusions=(0,))
    monkeypatch.setattr(experiments, "experiment", lambda *_, **__: plan)
    again = partial(reproduce, "demo", preset="compact", out=tmp_path / "demo", settings=[OTHER], show=False)
    assert {row.method for row in again(methods=["ropes@other"]).rows} == {"ropes@other"}
    assert calls == [f"simulate {OTHER}", "fit", "evaluate"]
    assert {row.method for row in again(methods=["ropes"]).rows} == {"ropes", "ropes@other"}
    assert calls[3:] == ["fit", "evaluate", "fit"]  # the last finds everything done
    runs = [tmp_path / "demo" / OTHER / label / "seed-0" for label in ("ropes", "ropes@other")]
    seconds = [read_json(run / "training.json")["provenance"]["seconds"] for run in runs]
    assert seconds[0]["ae1"] == seconds[1]["ae1"]  # trained once
    assert not (tmp_path / "demo" / ONE).exists()


def test_unknown_parts_are_refused(tmp_path: Path) -> None:
    parts = partial(reproduce, "table1", preset="compact", out=tmp_path / "x")
    with pytest.raises(UserError, match="unknown setting of this experiment 'panda-1c-free': did you mean panda-"):
        parts(settings=["panda-1c-free"])
    with pytest.raises(UserError, match="unknown variant of this experiment 'ropes@eq33': did you mean ropes@eq3"):
        parts(methods=["ropes@eq33"])
    each = partial(reproduce, "eq3", preset="compact", out=tmp_path / "x")
    with pytest.raises(UserError, match=r"^ropes@eq3-each is not fitted on panda-2c-causal; choose others$"):
        each(settings=["panda-2c-causal"], methods=["ropes@eq3-each"])
    assert not (tmp_path / "x").exists()
