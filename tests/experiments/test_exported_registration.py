"""Exported runs on recordings register frames and remove passers-by as the run does."""

import shutil
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn

from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.experiments.exporter import export
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.run import REGISTRATION_FILE
from ropes.methods.training.registration import CLEANER_FOLDER, new_cleaner, read_registration, write_registration
from ropes.models.checkpoints import WEIGHTS, load_tree, save_tree, save_weights
from tests import tiny
from tests.methods.test_registration import film

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> tuple[Path, Path]:
    """A recording and a run of it, which has no cleaner; never to be changed."""
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, 60), "test-id": causal.sample_observational(rng, 40)[:, None]}
    images = {split: film(tiny.draw(angles)) for split, angles in states.items()}
    folder = tmp_path_factory.mktemp("recorded")
    data = tiny.write_data(folder / "data", images=images, states=states)
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-3)
    fit(data, folder / "run", tiny.cnn_recipe(training=short), 0, method="cnn", show=False)
    return data, folder / "run"


def add_cleaner(run: Path, data: Path) -> None:
    """Give a run a cleaner with random weights, which detects something in some views and nothing in the others."""
    registration = read_registration(run)
    assert registration is not None
    torch.manual_seed(0)
    cleaner = new_cleaner(registration).eval()
    last = cleaner.detector[-1]
    assert isinstance(last, nn.Conv2d)
    assert last.bias is not None
    nn.init.normal_(last.weight)
    nn.init.zeros_(last.bias)
    dataset = open_dataset(data)
    frames = registration.composite(torch.from_numpy(dataset.read_images(dataset.frames("train").index[:100])))
    with torch.no_grad():
        last.bias.sub_(cleaner(frames)[0].flatten(2).transpose(0, 1).flatten(1).quantile(0.9, dim=1))
    found = cleaner.foreign_parts(frames).flatten(2).any(2).float().mean()
    assert 0.05 < found < 0.95
    registration.is_cleaned, registration.cleaner = True, None  # its weights are a file of their own
    (run / CLEANER_FOLDER).mkdir()
    save_weights(cleaner, run / CLEANER_FOLDER / WEIGHTS)
    write_registration(run, registration)


@pytest.mark.parametrize("kind", ["torch-export", "onnx"])
@pytest.mark.parametrize("cleaned", [False, True])
def test_exported_model_registers_and_cleans(
    cleaned: bool, kind: Literal["onnx", "torch-export"], recorded: tuple[Path, Path], tmp_path: Path
) -> None:
    data, fitted = recorded
    run = Path(shutil.copytree(fitted, tmp_path / "run"))
    if cleaned:
        add_cleaner(run, data)
    made = export(run, kind=kind, name="tiny", out=tmp_path / "out", data=data)
    config = read_json(made / "config.json")
    assert config["registered"] is True
    assert config["compared"]["difference"] <= 1e-4


def test_cleaner_of_an_earlier_version_is_refused(recorded: tuple[Path, Path], tmp_path: Path) -> None:
    data, fitted = recorded
    run = Path(shutil.copytree(fitted, tmp_path / "run"))
    add_cleaner(run, data)
    assert read_registration(run) is not None
    tree = load_tree(run / REGISTRATION_FILE)
    save_tree(run / REGISTRATION_FILE, {name: value for name, value in tree.items() if name != "cleaner"})
    with pytest.raises(UserError, match="a cleaner of an earlier ropes; run the same ropes fit command again"):
        read_registration(run)
