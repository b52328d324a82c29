"""The file of latents beside an evaluation."""

from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from ropes.evaluation.factor_latents import Latents, stored_latents, write_latents

ORIGIN = {name: name for name in ("weights", "data", "precision", "photographs", "version")}
FACTORS = {"test-id": np.arange(6.0).reshape(3, 2)}
LATENTS = Latents({"test-id": np.ones((3, 4))}, {"elbo": -1.5})


def test_the_same_latents_are_the_same_bytes(tmp_path: Path) -> None:
    for k in range(8):  # safetensors orders several entries of metadata at random
        write_latents(tmp_path / str(k), LATENTS, FACTORS, dict(sorted(ORIGIN.items(), reverse=k % 2 > 0)))
    assert len({(tmp_path / str(k)).read_bytes() for k in range(8)}) == 1
    stored = stored_latents(tmp_path / "0", FACTORS, ORIGIN)
    assert stored is not None
    np.testing.assert_array_equal(stored.of["test-id"], LATENTS.of["test-id"])
    assert stored.label_free == LATENTS.label_free


def test_latents_of_earlier_versions_are_read_and_those_of_another_origin_are_not(tmp_path: Path) -> None:
    path = tmp_path / "latents"
    write_latents(path, LATENTS, FACTORS, ORIGIN)
    with safe_open(path, framework="numpy") as stream:
        arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
    save_file(arrays, path, metadata=ORIGIN)
    assert stored_latents(path, FACTORS, ORIGIN) is not None
    assert stored_latents(path, FACTORS, ORIGIN | {"weights": "others"}) is None
