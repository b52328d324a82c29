"""Test poses of the benchmark are those that `ropes simulate` draws, are stored, and do not change."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ropes.common.seeds import generator
from ropes.data.chains import TURNS
from ropes.data.recorder.plan import recording_order
from ropes.data.recorder.protocols import AnchorProtocol
from ropes.data.robot_time import SPEED, seconds_of_path
from ropes.errors import UserError
from ropes.evaluation.benchmark import task as frozen
from ropes.evaluation.benchmark.task import (
    ANCHOR_SECONDS,
    DIGESTS,
    HOURS,
    SEED,
    TASKS,
    TEST_POSES,
    angles_digest,
    budget_of,
    task_named,
)
from ropes.simulation.settings import SETTINGS, setting_named

LIGHT = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"scipy", "torch", "pandas", "tyro", "rich", "PIL"}:
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
from pathlib import Path
from ropes.evaluation.benchmark import read_predictions, score, task_named
task = task_named("panda-2c-independent")
score(task, read_predictions(Path("examples/benchmark/prior-mean-panda-2c-independent.npz"), task))
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
COMMAND = """
import sys
from ropes.cli import main
code = main(["score", "examples/benchmark/prior-mean-panda-2c-independent.npz", "--task", "panda-2c-independent"])
print(code, *sorted({name.partition(".")[0] for name in sys.modules}))
"""
HEAVY = {"scipy", "torch", "lightning", "matplotlib", "pybullet", "mujoco", "sklearn", "lightgbm", "trimesh", "pyarrow"}


@pytest.mark.parametrize("name", TASKS)
def test_true_angles_are_the_test_poses_of_the_simulator(name: str) -> None:
    task = task_named(name)
    setting = setting_named(name)
    assert task.joints == setting.splits["train"].joints
    assert {"train", *task.splits} == set(setting.splits)
    for split in task.splits:
        drawn = setting.splits[split].sample_observational(generator(SEED, split), TEST_POSES)
        np.testing.assert_allclose(task.angles(split), drawn, atol=1e-9)
        assert task.angles(split).shape == (TEST_POSES, len(task.joints))


def test_angles_given_away_can_be_changed_without_changing_the_task() -> None:
    task = task_named("panda-1c-independent")
    task.angles("test-id")[:] = 0
    assert task.angles("test-id").std() > 0.1


def test_digest_ignores_the_last_bits_and_sees_every_pose() -> None:
    angles = task_named("panda-1c-independent").angles("test-id")
    expected = DIGESTS["panda-1c-independent"]["test-id"]
    assert angles_digest(angles * (1 + 1e-15)) == expected
    angles[7, 1] += 2e-6
    assert angles_digest(angles) != expected


def test_other_poses_than_the_frozen_ones_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen, "DIGESTS", {"panda-1c-independent": {"test-id": "0" * 64}})
    with pytest.raises(
        UserError, match=r"angles\.npz is damaged \(it has other angles of panda-1c-independent, test-id"
    ):
        task_named("panda-1c-independent").angles("test-id")


def test_unknown_task_is_refused() -> None:
    assert "panda-1c-six" in SETTINGS
    with pytest.raises(UserError, match="unknown task 'panda-1c-six'"):
        task_named("panda-1c-six")


@pytest.mark.parametrize(
    ("hours", "budget"), [(0.0, 2), (2.0, 2), (2.03, 2), (2.05, 4), (8.1, 8), (8.17, None), (53.0, None)]
)
def test_budget_is_the_smallest_that_is_kept(hours: float, budget: int | None) -> None:
    assert budget_of(hours) == budget


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_seconds_of_an_anchor_are_those_of_the_recorders_order(name: str) -> None:
    model, anchors = task_named(name).training, 300
    poses = model.sample(generator(SEED, "train"), anchors)
    order = recording_order(AnchorProtocol, poses, np.full(len(model.joints), SPEED), range(anchors))
    path = np.concatenate([poses[anchor, places] for anchor, places in order])
    assert seconds_of_path(path) / anchors == pytest.approx(ANCHOR_SECONDS[name], rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_page_has_the_seconds_of_a_chain(name: str) -> None:
    chains = 300
    path, _ = task_named(name).training.sample_chains(generator(SEED, "chains"), chains, TURNS)
    seconds = seconds_of_path(path.reshape(-1, path.shape[-1])) / chains
    assert seconds == pytest.approx(float(page_row(name)[1].removesuffix(" s")), rel=0.02)


@pytest.mark.parametrize("name", TASKS)
def test_page_counts_the_anchors_and_chains_of_each_budget(name: str) -> None:
    anchor, chain, *numbers = page_row(name)
    assert anchor == f"{ANCHOR_SECONDS[name]} s"
    for seconds, counts in zip((anchor, chain), numbers, strict=True):
        each = float(seconds.removesuffix(" s"))
        assert counts == ", ".join(f"{int(hours * 3600 / each):,}" for hours in HOURS)


def page_row(name: str) -> list[str]:
    """The entries of a task in the page's table of robot times."""
    page = (Path(__file__).parents[3] / "docs" / "benchmark.md").read_text(encoding="utf-8")
    lines = page.partition("| task | an anchor |")[2].splitlines()
    row = next(line for line in lines if line.startswith(f"| `{name}`"))
    return [entry.strip() for entry in row.strip("|").split("|")][1:]


@pytest.mark.slow
@pytest.mark.parametrize("code", [LIGHT, COMMAND])
def test_scoring_needs_numpy_alone(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert {"numpy", "ropes"} <= loaded
    assert loaded & HEAVY == set()
