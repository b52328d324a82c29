"""What a run says of its own making: the version that began it, and the machine that trained its weights."""

from pathlib import Path

import pytest

from ropes import __version__
from ropes.common.files import read_json, write_json
from ropes.common.hardware import device_name
from ropes.methods.ropes import fit as ropes
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.methods.vae import fit as vae
from ropes.methods.vae.stage import VAEStage
from tests import tiny
from tests.kills import killed

OLD, ELSEWHERE = "0.0.1", "another machine"


def fit(data: Path, out: Path, **changes: object) -> Run:
    return vae.fit(data, out, tiny.vae_recipe(**changes), method="ada-gvae", show=False)


def made(out: Path) -> tuple[str, str, str]:
    """Version of run.json, version and device of training.json."""
    provenance = read_json(out / TRAINING_FILE)["provenance"]
    return read_json(out / RUN_FILE)["version"], provenance["version"], provenance["device"]


def begun_by_an_older_version(out: Path) -> None:
    write_json(out / RUN_FILE, {**read_json(out / RUN_FILE), "version": OLD})
    if (out / TRAINING_FILE).exists():
        summary = read_json(out / TRAINING_FILE)
        summary["provenance"] |= {"version": OLD, "device": ELSEWHERE}
        write_json(out / TRAINING_FILE, summary)


@pytest.fixture
def finished(tiny_data: Path, tmp_path: Path) -> Path:
    """A run of an older version, from another machine."""
    fit(tiny_data, tmp_path / "run")
    assert made(tmp_path / "run") == (__version__, __version__, device_name())
    begun_by_an_older_version(tmp_path / "run")
    return tmp_path / "run"


def test_refitting_a_finished_run_changes_no_byte(finished: Path, tiny_data: Path) -> None:
    before = tiny.tree(finished)
    assert fit(tiny_data, finished) == Run.read(finished)
    assert tiny.tree(finished) == before


@pytest.mark.slow
def test_retrained_weights_record_the_current_version_and_machine(finished: Path, tiny_data: Path) -> None:
    (finished / "vae" / "weights.safetensors").unlink()
    assert fit(tiny_data, finished).version == __version__
    assert made(finished) == (__version__, __version__, device_name())


@pytest.mark.slow
def test_weights_with_changed_inputs_record_the_current_version(finished: Path, tiny_data: Path) -> None:
    summary = finished / "vae" / "stage.json"
    write_json(summary, {**read_json(summary), "fingerprint": "of an earlier objective"})
    with killed(VAEStage, 2):
        fit(tiny_data, finished)
    assert not (finished / TRAINING_FILE).exists()  # nobody may take half of it for a finished run
    fit(tiny_data, finished)
    assert made(finished) == (__version__, __version__, device_name())


@pytest.mark.slow
def test_changed_recipe_records_the_current_version(finished: Path, tiny_data: Path) -> None:
    fit(tiny_data, finished, beta=2.0)
    assert made(finished) == (__version__, __version__, device_name())


@pytest.mark.slow
def test_killed_run_records_the_version_that_started_it(tiny_data: Path, tmp_path: Path) -> None:
    with killed(VAEStage, 3):
        fit(tiny_data, tmp_path / "run")
    begun_by_an_older_version(tmp_path / "run")
    assert fit(tiny_data, tmp_path / "run").version == OLD
    assert made(tmp_path / "run") == (OLD, OLD, device_name())


@pytest.mark.slow
def test_stages_not_started_keep_the_recorded_version(tiny_data: Path, tmp_path: Path) -> None:
    with killed(LDRStage, 1):  # before it is saved, so that it begins at step 0
        ropes.fit(tiny_data, tmp_path / "run", tiny.recipe(), show=False)
    begun_by_an_older_version(tmp_path / "run")
    ropes.fit(tiny_data, tmp_path / "run", tiny.recipe(), show=False)
    assert made(tmp_path / "run")[:2] == (OLD, OLD)
