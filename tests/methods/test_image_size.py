"""Which images a fit takes, and what it says of others."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.cli import entry as cli
from ropes.methods.recipes import encoder_recipe, jointnet_recipe, ropes_recipe
from ropes.methods.training.image_size import size_fault, size_options
from ropes.models.autoencoder import AE1
from ropes.models.encoder import ContrastNetwork
from tests import tiny
from tests.command_line import Stub, refusal

COMPACT = encoder_recipe("compact").encoder


@pytest.fixture(autouse=True)
def _folder_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands write their options beside their output."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("side", "options"),
    [
        (128, ""),
        (200, ""),
        (127, "--encoder.image-size 96"),
        (64, "--encoder.image-size 64"),
        (40, "--encoder.image-size 32 --encoder.window 32"),
        (16, "--encoder.image-size 16 --encoder.stem 2 --encoder.window 16"),
        (8, "--encoder.image-size 8 --encoder.stem 1 --encoder.window 8"),
    ],
)
def test_suggested_options_for_smaller_images_are_accepted_by_fit(side: int, options: str, stub: Stub) -> None:
    assert size_fault((side, side), COMPACT) is None
    assert size_options((side, side), COMPACT) == options
    calls = stub("ropes.methods.fit.fit")
    assert cli.main(["fit", "--data", "D", "--out", "R", *options.split()]) == 0
    shape = calls[0][0][2].encoder
    assert shape.image_size <= side
    network = ContrastNetwork(shape, views=2, joints=3)
    coordinates, _, gaze = network(torch.zeros(1, 2, shape.image_size, shape.image_size, dtype=torch.uint8))
    assert coordinates.shape == (1, 3)
    assert gaze is not None


@pytest.mark.parametrize(
    ("side", "options"),
    [
        (128, ""),
        (64, "--vit.image-size 64"),
        (40, "--vit.image-size 40 --vit.patch 8"),
        (30, "--vit.image-size 28 --vit.patch 4"),
        (3, None),
    ],
)
def test_transformer_suggests_smaller_patches(side: int, options: str | None, stub: Stub) -> None:
    shape = jointnet_recipe("compact").vit
    if options is None:
        assert "smaller than 4x4, the least" in str(size_fault((side, side), shape))
        return
    assert size_options((side, side), shape) == options
    calls = stub("ropes.methods.fit.fit")
    assert cli.main(["fit", "--method", "jointnet", "--data", "D", "--out", "R", *options.split()]) == 0
    assert calls[0][0][2].vit.image_size <= side


@pytest.mark.parametrize(
    ("preset", "side", "options"),
    [
        ("compact", 64, ""),
        ("compact", 50, "--ae1.image-size 32 --ae1.stem 2"),
        ("compact", 16, "--ae1.image-size 16 --ae1.stem 1"),
        ("paper", 100, "--ae1.image-size 64"),
    ],
)
def test_three_stage_method_suggests_its_own_options(preset: str, side: int, options: str, stub: Stub) -> None:
    assert size_options((side, side), ropes_recipe(preset).ae1) == options
    calls = stub("ropes.methods.fit.fit")
    words = ["fit", "--method", "ropes", "--preset", preset, "--data", "D", "--out", "R", *options.split()]
    assert cli.main(words) == 0
    shape = calls[0][0][2].ae1
    if preset == "compact":
        image = torch.zeros(1, 1, shape.image_size, shape.image_size)
        assert AE1(shape)(image).shape == image.shape


def test_no_window_option_is_suggested_without_a_window() -> None:
    without = tiny.encoder_recipe(anchor_weight=0.0).encoder
    assert size_options((8, 8), without) == "--encoder.image-size 8"


@pytest.mark.parametrize(
    ("method", "size", "line"),
    [
        ("anchored", (64, 64), "has 64x64 images, smaller than 128x128; add --encoder.image-size 64"),
        ("ldr", (32, 32), "has 32x32 images, smaller than 128x128; add --encoder.image-size 32"),
        ("ropes", (32, 32), "has 32x32 images, smaller than 64x64; add --ae1.image-size 32 --ae1.stem 2"),
        ("anchored", (64, 96), "has 64x96 images, smaller than 128x128; add --encoder.image-size 96"),
        ("ropes", (24, 16), "has 24x16 images, smaller than 64x64; add --ae1.image-size 16 --ae1.stem 1"),
        ("ldr", (4, 4), "images of 4x4 pixels are smaller than 8x8, the least that the network's stages take; record"),
        ("ropes", (8, 8), "images of 8x8 pixels are smaller than 16x16, the least that the network's stages take"),
    ],
)
def test_incompatible_images_are_refused_before_decoding(
    method: str, size: tuple[int, int], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], cache_home: Path
) -> None:
    images = {"train": np.zeros((2, 5, 2, *size), np.uint8)}
    data = tiny.write_data(tmp_path / "data", described=False, images=images, states=None)
    words = ["fit", "--method", method, "--data", str(data), "--out", str(tmp_path / "run")]
    assert refusal(capsys, *words).startswith(f"{data}{' ' if line.startswith('has') else ': '}{line}")
    assert tiny.tree(tmp_path / "run") == {}
