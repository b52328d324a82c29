"""Traversals: which factor a latent encodes, the order of latents, and the codes that are decoded."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from ropes.evaluation.factor_latents import LATENTS_FILE, PICTURES_FILE, encoded_factors
from ropes.evaluation.factors import evaluate_factors
from ropes.methods.fit import fit
from ropes.methods.readers import finished_reader
from ropes.methods.vae.reader import VAEReader
from ropes.simulation.finger_setting import NAMES
from tests import tiny


def test_latents_are_ordered_by_the_factor_that_they_encode() -> None:
    rng = np.random.default_rng(0)
    factors = rng.uniform(-1, 1, size=(4_000, 3))
    noise = rng.normal(size=(4_000, 2))
    latents = np.column_stack([factors[:, 2], noise[:, 0], 0.1 * factors[:, 0], -factors[:, 0] + 0.5 * noise[:, 1]])
    found = encoded_factors(latents, factors, ("a", "b", "c"))
    assert [(each.latent, each.factor) for each in found] == [(2, "a"), (3, "a"), (0, "c"), (1, "")]
    assert found[0].share == pytest.approx(1, abs=0.01)
    assert 0.1 < found[1].share < 0.9


def test_of_many_latents_those_that_vary_most_are_shown() -> None:
    rng = np.random.default_rng(0)
    found = encoded_factors(rng.normal(size=(500, 12)) * np.arange(12), rng.uniform(size=(500, 2)), ("a", "b"))
    assert sorted(each.latent for each in found) == list(range(2, 12))


@pytest.mark.slow
def test_a_traversal_moves_one_latent_over_two_standard_deviations(measured_finger: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "evaluation"
    fit(measured_finger, run, tiny.vae_recipe(), 0, method="ada-gvae", show=False)
    evaluate_factors(run, measured_finger, out)
    _, reader = finished_reader(run, torch.device("cpu"), "32-true")
    assert isinstance(reader, VAEReader)
    latents = load_file(out / LATENTS_FILE)
    trained = latents["latents/train"]
    with np.load(out / "artefacts" / "finger-cube" / "ada-gvae" / "seed-0" / PICTURES_FILE) as stored:
        assert sorted(stored["latents"]) == [0, 1, 2, 3]
        assert set(stored["encoded"]) <= {*NAMES, ""}
        assert ((stored["information"] >= 0) & (stored["information"] <= 1)).all()
        for number, images in zip(stored["latents"], stored["sweeps"], strict=True):
            for step, image in zip((-2, 0, 2), images[::3], strict=True):
                code = latents["latents/test-id"][0].copy()
                code[number] = trained[:, number].mean() + step * trained[:, number].std()
                decoded = 255 * reader.decoded(torch.tensor(code[None], dtype=torch.float32), colour=True)[0, 0]
                np.testing.assert_allclose(image, decoded.numpy(), atol=1.01)
