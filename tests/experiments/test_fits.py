"""Which finished run a fit of an experiment takes first stages over from."""

from pathlib import Path

import pytest

from ropes.experiments.fits import pretrained_run
from ropes.experiments.folder import run_folder
from ropes.experiments.plans import experiment
from ropes.methods.run import TRAINING_FILE

SETTING = "panda-1c-independent"


@pytest.mark.parametrize(
    ("label", "done", "wanted"),
    [
        ("ropes@eq3-0.1", ("ropes@encoder-noise", "ropes@classifier"), "ropes@classifier"),
        ("ropes@eq3-noise", ("ropes@classifier", "ropes@encoder-noise"), "ropes@encoder-noise"),
        ("ropes@eq3-noise", ("ropes@classifier",), "ropes@classifier"),  # AE1 is the same
        ("ropes@eq3-noise", ("ropes@eq3-noise",), None),
        ("ropes@eq3-noise", (), None),
    ],
)
def test_ropes_reuses_a_fit_with_the_same_density_ratios_first(
    label: str, done: tuple[str, ...], wanted: str | None, tmp_path: Path
) -> None:
    plan = experiment("eq3", "compact")
    for each in done:
        (folder := run_folder(tmp_path, SETTING, each, 1)).mkdir(parents=True)
        (folder / TRAINING_FILE).touch()
    found = pretrained_run(plan, tmp_path, SETTING, label, 1)
    assert found == (None if wanted is None else run_folder(tmp_path, SETTING, wanted, 1))
    assert pretrained_run(plan, tmp_path, SETTING, label, 0) is None  # of another seed


def test_only_jointnet_reuses_pretraining_of_another_label_fraction(tmp_path: Path) -> None:
    plan = experiment("table2", "compact")
    for each in ("jointnet@1-percent", "cnn@1-percent", "anchored"):
        (folder := run_folder(tmp_path, SETTING, each, 0)).mkdir(parents=True)
        (folder / TRAINING_FILE).touch()
    found = {label: pretrained_run(plan, tmp_path, SETTING, label, 0) for label in plan.recipes}
    taking = {label for label, run in found.items() if run is not None}
    assert taking == {f"jointnet@{share}-percent" for share in (5, 10, 100)}
    assert found["jointnet@5-percent"] == run_folder(tmp_path, SETTING, "jointnet@1-percent", 0)
