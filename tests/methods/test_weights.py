"""A run's weights have one digest, wherever its folder lies."""

import shutil
from pathlib import Path

from ropes.methods.weights import weights_digest


def run_of(folder: Path, *contents: bytes) -> Path:
    for number, content in enumerate(contents):
        stage = folder / f"stage-{number}"
        stage.mkdir(parents=True)
        (stage / "weights.safetensors").write_bytes(content)
    return folder


def test_digest_is_equal_for_copies_and_differs_for_other_weights(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", b"first", b"second")
    digest = weights_digest(run)
    copy = Path(shutil.copytree(run, tmp_path / "elsewhere" / "copy"))
    assert weights_digest(copy) == digest
    (copy / "training.json").write_text("{}")
    assert weights_digest(copy) == digest
    (copy / "stage-1" / "weights.safetensors").write_bytes(b"third")
    assert weights_digest(copy) != digest


def test_digest_depends_on_the_stage_of_the_weights(tmp_path: Path) -> None:
    assert weights_digest(run_of(tmp_path / "a", b"x", b"y")) != weights_digest(run_of(tmp_path / "b", b"y", b"x"))
    assert weights_digest(run_of(tmp_path / "c", b"x")) != weights_digest(run_of(tmp_path / "d", b"x", b"y"))
