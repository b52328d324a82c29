"""Rendering and fits on a Ray cluster of two nodes, one of which is killed; clusters that are refused."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common import ray_connection
from ropes.common.cluster import Cluster
from ropes.common.jobs import Job
from ropes.common.ray_connection import connect
from ropes.errors import UnfinishedError, UserError
from ropes.experiments import datasets
from ropes.experiments import run as experiments
from ropes.experiments.fits import torch_threads
from ropes.experiments.folder import collect_results
from ropes.experiments.run import run_experiment
from ropes.methods.fit import fit
from ropes.simulation.workers import UNIT, render
from tests import tiny
from tests.command_line import refusal
from tests.experiments.tiny_experiment import ONE, small
from tests.ray_nodes import Broken, Nodes, Painter, fail, fit_slowly, running_nodes, wait, wait_for, wait_for_any
from tests.simulation.conftest import SMALL_ARM
from tests.timeouts import PATIENCE

STATES = np.arange(20 * UNIT, dtype=np.float64)[:, None]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with running_nodes() as running:
        yield running


@pytest.fixture
def cluster(nodes: Nodes) -> Iterator[Cluster]:
    with connect(nodes.address) as connected:
        yield connected


@pytest.mark.slow
def test_a_killed_node_costs_only_its_units(cluster: Cluster, nodes: Nodes, tmp_path: Path) -> None:
    start = partial(Painter, tmp_path)
    alone = list(render(start, STATES, 1))
    frames = render(start, STATES, cluster)
    first = [next(frames)]
    wait_for(tmp_path / nodes.second.node_id)
    nodes.kill_second()
    assert first + list(frames) == alone
    assert len(list(tmp_path.iterdir())) == 2
    nodes.restart_second()


@pytest.mark.slow
def test_a_renderer_s_error_is_one_line_with_the_node(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^MuJoCo cannot draw off-screen \(on node {os.uname().nodename}\)$"):
        list(render(partial(Broken, tmp_path), STATES, cluster))


@pytest.mark.slow
def test_simulate_on_this_machine_s_ray_writes_the_same_files(cache_home: Path, tmp_path: Path) -> None:
    urdf = tmp_path / "small.urdf"
    urdf.write_text(SMALL_ARM)
    words = f"simulate --urdf {urdf} --joints elbow --ranges -1:1 --anchors 20 --test-anchors 50 --out".split()
    assert cli.main([*words, str(tmp_path / "plain"), "--workers", "1"]) == 0
    assert cli.main([*words, str(tmp_path / "ray"), "--on", "local"]) == 0
    assert tiny.tree(tmp_path / "ray") == tiny.tree(tmp_path / "plain")


@pytest.mark.slow
@pytest.mark.pybullet
def test_simulate_by_ray_s_client_survives_a_killed_node(nodes: Nodes, cache_home: Path, tmp_path: Path) -> None:
    words = ["simulate", "--setting", "panda-1c-independent", "--anchors", "500", "--test-anchors", "50", "--out"]
    plain, dealt = tmp_path / "plain", tmp_path / "dealt"
    call = [sys.executable, "-m", "ropes", *words, str(dealt), "--on", nodes.client]
    with subprocess.Popen(call, stdout=subprocess.PIPE) as running:
        wait(lambda: any(dealt.rglob("*.parquet")))
        assert running.poll() is None
        nodes.kill_second()
        assert running.wait(PATIENCE) == 0
    nodes.restart_second()
    assert cli.main([*words, str(plain)]) == 0
    assert tiny.tree(dealt) == tiny.tree(plain)


@pytest.mark.slow
def test_a_fit_on_a_killed_node_runs_again_and_ends_with_the_same_weights(
    cluster: Cluster, nodes: Nodes, tiny_data: Path, tmp_path: Path
) -> None:
    runs = [tmp_path / str(seed) for seed in (0, 1)]
    began = tmp_path / "began"
    began.mkdir()

    def kill() -> None:
        wait_for(began / nodes.second.node_id)
        nodes.kill_second()

    killer, finished = threading.Thread(target=kill), list[int]()
    killer.start()
    jobs = [Job(partial(fit_slowly, tiny_data, run, seed, began)) for seed, run in enumerate(runs)]
    cluster.run_all(jobs, finished=finished.append, gpus=0)
    killer.join()
    nodes.restart_second()
    assert sorted(finished) == [0, 1]
    with torch_threads(1):
        for seed, run in enumerate(runs):
            fit(tiny_data, tmp_path / "plain" / str(seed), tiny.encoder_recipe(), seed, method="anchored", show=False)
            assert tiny.weights(run) == tiny.weights(tmp_path / "plain" / str(seed)) != {}


@pytest.mark.slow
def test_an_experiment_on_a_cluster_has_the_same_results(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_home: Path
) -> None:
    def simulate(setting: Any, *, out: Path, anchors: int, test_anchors: int, **_: Any) -> None:
        if not out.exists():
            tiny.write_data(out, anchors=anchors, tests=test_anchors)

    collected: list[int] = []

    def counting(*given: Any) -> Any:
        collected.append(1)
        return collect_results(*given)

    monkeypatch.setattr(datasets, "simulate", simulate)
    recipes = {"ldr": tiny.recipe_of("ldr"), "ropes": tiny.recipe(), "ropes@single": tiny.recipe(joint_ae2=False)}
    recipes = {label: tiny.short(recipe) for label, recipe in recipes.items()}
    plan = small(recipes=recipes, anchors={ONE: 8}, occlusions=(0,), seeds=(0,))
    with torch_threads(1):
        plain = run_experiment(plan, preset="compact", out=tmp_path / "plain", show=False)
    monkeypatch.setattr(experiments, "collect_results", counting)
    dealt = run_experiment(plan, preset="compact", out=tmp_path / "dealt", workers=cluster, show=False)
    assert len(collected) == 3 + 1
    assert tiny.weights(tmp_path / "dealt") == tiny.weights(tmp_path / "plain") != {}
    assert dealt.rows == plain.rows


@pytest.mark.slow
def test_an_interrupt_lets_trainings_store_a_checkpoint(cluster: Cluster, tiny_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    (began := tmp_path / "began").mkdir()

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    calls = [partial(fit_slowly, tiny_data, out, 0, began, epochs=1000), partial(wait_for_any, began)]
    with pytest.raises(KeyboardInterrupt):
        cluster.run_all([Job(call) for call in calls], finished=interrupt, gpus=0)
    assert [path.name for path in out.rglob("last.safetensors")] == ["last.safetensors"]


@pytest.mark.slow
def test_a_failed_job_does_not_stop_the_others(cluster: Cluster, tmp_path: Path) -> None:
    finished: list[int] = []
    jobs = [Job(fail, 8, "slow"), Job(partial((tmp_path / "made").mkdir), after=0)]
    with pytest.raises(UnfinishedError, match=r"^slow: this fit diverged \(on node .*\) \(1 of 2 failed\)$"):
        cluster.run_all(jobs, finished=finished.append, gpus=0)
    assert (finished, (tmp_path / "made").exists()) == ([1], True)


@pytest.mark.slow
def test_fits_share_the_cluster_s_cores(cluster: Cluster) -> None:
    assert (cluster.cores, cluster.gpus) == (2, 0)
    assert [cluster.threads(fits, 0) for fits in (1, 2, 9)] == [1, 1, 1]
    with pytest.raises(UserError, match=r"no node of the cluster has 0\.5 GPUs; give fewer --gpus-per-fit"):
        cluster.threads(1, 0.5)


@pytest.mark.slow
def test_a_folder_that_nodes_do_not_see_is_refused_before_anything_is_written(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    unlike = "/proc/self/cwd"  # another folder for every process
    line = refusal(capsys, "reproduce", "demo", "--out", f"{unlike}/demo", "--on", nodes.address)
    assert "does not see the folder /proc/self/cwd of this machine" in line
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_nodes_must_agree_with_this_machine(nodes: Nodes, cluster: Cluster) -> None:
    with pytest.raises(UserError, match=r"^node .* has another number of the process than this machine"):
        cluster.require_same(os.getpid, "number of the process")


@contextmanager
def old_node(nodes: Nodes, folder: Path) -> Iterator[str]:
    """A node with an old version of NumPy; gives what is said of it."""
    package = folder / "old" / "numpy-0.1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 0.1\n")
    node = nodes.add(str(package.parent))
    yield f"has numpy 0.1, and this machine has {np.__version__}; install the same versions"
    nodes.remove(node)


@pytest.mark.slow
def test_a_node_with_another_version_is_refused(
    nodes: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "--setting", "panda-1c-independent", "--anchors", "1"]
    with old_node(nodes, tmp_path) as reason:
        line = refusal(capsys, *words, "--out", str(tmp_path / "data"), "--on", nodes.address)
    assert reason in line
    assert not (tmp_path / "data").exists()


@pytest.mark.slow
def test_a_node_with_another_version_that_joins_late_gets_no_work(
    cluster: Cluster, nodes: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start, finished = partial(Painter, tmp_path), list[int]()
    states = np.tile(STATES, (3, 1))
    alone = list(render(start, states, 1))
    frames = render(start, states, cluster)
    first = [next(frames)]
    with old_node(nodes, tmp_path) as reason:
        assert first + list(frames) == alone
        cluster.run_all([Job(partial(time.sleep, 1))] * 6, finished=finished.append, gpus=0)
    assert capsys.readouterr().err.count(reason) == 1
    assert sorted(finished) == list(range(6))


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--on lokal", "'lokal' is no Ray cluster; give local, auto, HOST:PORT or ray://HOST:PORT"),
        ("--on .a:1", "no Ray cluster answers at .a:1 "),
        ("--on 127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1 "),
        ("--on ray://127.0.0.1:1", "no Ray cluster answers at ray://127.0.0.1:1 "),
        ("--on local --workers 2", "--workers is of this machine alone and does not go with --on"),
    ],
)
def test_unusable_clusters_are_refused(
    options: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["simulate", "--setting", "panda-1c-independent", "--anchors", "1", "--out"]
    assert line in refusal(capsys, *words, str(tmp_path / "D"), *options.split())
    assert not list(tmp_path.iterdir())


def test_another_server_is_no_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_connection, "HEALTH_WITHIN", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        words = ["simulate", "--setting", "panda-1c-independent", "--anchors", "1", "--on", address, "--out"]
        line = refusal(capsys, *words, str(tmp_path / "D"))
    assert line.startswith(f"what answers at {address} is not the head of a Ray cluster of this version")
    assert not list(tmp_path.iterdir())


def test_without_ray_the_command_that_installs_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    words = ["simulate", "--setting", "panda-1c-independent", "--anchors", "1", "--on", "local", "--out"]
    assert (
        refusal(capsys, *words, str(tmp_path / "D"))
        == "a cluster needs Ray: pip install -e '.[cluster]' in the clone of ropes"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--gpus-per-fit 1", "--gpus-per-fit goes with --on; leave it out"),
        ("--on auto --gpus-per-fit inf", "--gpus-per-fit is inf; give a share between 0 and 1, or a whole number"),
        ("--on auto --gpus-per-fit 1.5", "--gpus-per-fit is 1.5; give a share between 0 and 1, or a whole number"),
        ("--on auto --processes 2", "--processes is of this machine alone and does not go with --on"),
    ],
)
def test_options_of_fits_on_a_cluster_are_checked(
    options: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refusal(capsys, "reproduce", "demo", "--out", str(tmp_path / "R"), *options.split())
    assert not list(tmp_path.iterdir())
