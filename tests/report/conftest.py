"""A made-up run with everything that a report can show: line-drawn arms, curves that fall to their floors."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ropes.common import files
from ropes.evaluation import results
from ropes.evaluation.paper import CAUSAL, JOINTS, ONE_CAMERA, TWO_CAMERAS, published
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row

FLOORS = dict(zip(JOINTS, (0.348, 0.338, 0.338, 0.232, 0.232, 0.257), strict=True))
SETUPS = {
    ONE_CAMERA: (JOINTS[1::2], ("cam0",)),
    TWO_CAMERAS: (JOINTS, ("cam45", "cam135")),
    CAUSAL: (JOINTS, ("cam45", "cam135")),
}


def draw_arm(angles: NDArray[np.float64], turn: float, size: int = 64) -> Image.Image:
    picture = Image.new("L", (4 * size, 4 * size), 178)
    draw = ImageDraw.Draw(picture)
    at, heading = np.array([2.0 * size, 3.6 * size]), -np.pi / 2
    for index, angle in enumerate(angles):
        heading += 0.5 * angle * np.cos(turn + index)
        step = at + size * 0.62 * np.array([np.cos(heading), np.sin(heading)])
        draw.line([*at, *step], fill=235 - 24 * index, width=22 - 3 * index)
        at = step
    return picture.resize((size, size), Image.Resampling.BOX)


def draw_views(poses: NDArray[np.float64], cameras: int, size: int = 64) -> NDArray[np.uint8]:
    views = [[np.asarray(draw_arm(pose, 0.9 * view, size)) for view in range(cameras)] for pose in poses]
    return np.asarray(views, dtype=np.uint8)


def blur(images: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    *lead, height, width = images.shape
    small = images.reshape(*lead, height // factor, factor, width // factor, factor).mean(axis=(-3, -1))
    return small.repeat(factor, axis=-2).repeat(factor, axis=-1).round().astype(np.uint8)


def evaluation_arrays(
    joints: tuple[str, ...], cameras: tuple[str, ...], rng: np.random.Generator, k: int = 6
) -> dict[str, NDArray[Any]]:
    d = len(joints)
    angle = rng.uniform(-1.5, 1.5, size=(d, 500))
    estimate = angle + rng.normal(size=angle.shape) * np.linspace(0.1, 0.4, d)[:, None]
    poses = rng.uniform(-1.5, 1.5, size=(k, d))
    original = draw_views(poses, len(cameras))
    occluded = original.copy()
    occluded[:, :, 20:36, 12:28] = 255
    names = ["observational", *(f"{joint}/{policy}" for joint in joints for policy in (1, 2))]
    samples = []
    for regime in range(len(names)):
        moved = poses.copy()
        if regime:
            moved[:, (regime - 1) // 2] = 0.9 if regime % 2 else -0.9
        samples.append(draw_views(moved, len(cameras)))
    return {
        "joints": np.array(joints),
        "cameras": np.array(cameras),
        "scatter_estimate": estimate,
        "scatter_angle": angle,
        "scatter_mcc": np.array([np.corrcoef(*pair)[0, 1] for pair in zip(estimate, angle, strict=True)]),
        "scatter_mse": ((estimate - angle) ** 2).mean(axis=1),
        "original": original,
        "ae1": blur(original, 2),
        "ae2": blur(original, 4),
        "occluded_original": occluded,
        "occluded_ae1": blur(occluded, 2),
        "occluded_ae2": blur(original, 4),
        "intervention_images": np.stack(samples),
        "intervention_names": np.array(names),
    }


def training_record(setup: str, joints: tuple[str, ...], rng: np.random.Generator) -> dict[str, Any]:
    steps = list(range(0, 4001, 100))
    fall = np.exp(-np.linspace(0, 6, len(steps)))

    def noise(size: float) -> NDArray[np.float64]:
        return 1 + 0.06 * rng.normal(size=len(steps)) * size

    ldr, ae2 = {}, {}
    for index, joint in enumerate(joints):
        floor = FLOORS[joint]
        held_out = floor + 0.02 * (index + 1) + (0.69 - floor) * fall + 0.004 * rng.normal(size=len(steps))
        ldr[joint] = {
            "steps": steps,
            "train": (held_out - 0.02 * (1 - fall)).tolist(),
            "held_out": held_out.tolist(),
            "floor": floor,
            "best": float(held_out.min()),
        }
        ae2[joint] = {
            "steps": steps,
            "loss": (1.2 * fall + 0.1).tolist(),
            "reconstruction": ((fall + 0.05 + 0.01 * index) * noise(1)).tolist(),
            "sparsity": ((2 * fall + 0.03 * (index + 1)) * noise(2)).tolist(),
        }
    d = len(joints)
    matrix = np.eye(d) * (1 - 0.03 * np.arange(d)) + np.abs(0.06 * rng.normal(size=(d, d)))
    return {
        "setup": setup,
        "seed": 0,
        "joints": list(joints),
        "stages": {
            "ae1": {
                "steps": steps,
                "loss": ((0.02 * fall + 0.0006) * noise(1)).tolist(),
                "held_out": (0.02 * fall + 0.0007).tolist(),
                "dead_fraction": (0.15 * fall).tolist(),
            },
            "ldr": ldr,
            "ae2": ae2,
        },
        "sparsity_matrix": matrix.tolist(),
        "settings": {
            "seed": 0,
            "ae1": {"width": 32, "learning_rate": 1e-3, "epochs": 6},
            "ae2": {"sparsity_weight": 0.1, "joints": "all"},
        },
        "provenance": {
            "device": "2 CPU cores",
            "version": "0.1.0",
            "seconds": 1804.2,
            "anchors": 2500,
            "commands": [
                "ropes simulate --setting panda-2c-independent --anchors 2500 --out data",
                "ropes fit --method ropes --preset compact --data data --out run",
            ],
        },
    }


def made_up_rows(rng: np.random.Generator, seeds: tuple[int, ...] = (0, 1)) -> list[Row]:
    rows = []
    for setup, (joints, _) in SETUPS.items():
        for split in ("id", "ood"):
            for occlusion in (0, 16, 32, 64):
                for joint in joints:
                    theirs = published(setup=setup, joint=joint, split=split, occlusion=occlusion)
                    mse = (theirs.mse if theirs else 0.05 + occlusion / 400) * rng.uniform(0.4, 1.2)
                    for seed in seeds:
                        error = float(mse * rng.uniform(0.9, 1.1))
                        rows.append(
                            Row.measured(
                                setup=setup,
                                joint=joint,
                                split=split,
                                occlusion=occlusion,
                                seed=seed,
                                mcc=(float(np.sqrt(max(0.0, 1 - error / 0.36))), 0.004),
                                mse=(error, 0.06 * error),
                            )
                        )
    return rows


def make_run(folder: Path, setups: Sequence[str] = tuple(SETUPS)) -> Path:
    rng = np.random.default_rng(0)
    rows = tuple(row for row in made_up_rows(rng) if row.setup in setups)
    results.write(
        folder / "results.json",
        Results(name="table1", preset="compact", device="2 CPU cores", version="0.1.0", seconds=4980.0, rows=rows),
    )
    for setup in setups:
        joints, cameras = SETUPS[setup]
        place = folder / "artefacts" / setup / "ropes"
        files.write_arrays(place / "evaluation.npz", evaluation_arrays(joints, cameras, rng))
        files.write_json(place / "training.json", training_record(setup, joints, rng))
    return folder


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One setup with everything, shared by the tests that only read it."""
    return make_run(tmp_path_factory.mktemp("run"), (ONE_CAMERA,))
