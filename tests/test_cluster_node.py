"""Versions and sizes of the nodes of a Ray cluster, with a stand-in for Ray."""

import os
from functools import partial
from importlib import import_module
from itertools import chain, repeat
from unittest.mock import Mock

import pytest

from ropes.common.cluster import Cluster
from ropes.common.cluster_node import Expected, answer, require_versions, versions
from ropes.common.jobs import Job
from ropes.errors import UserError
from tests.ray_nodes import fail


def stub_of_ray(*resources: dict[str, float]) -> Mock:
    """Ray with one node, whose resources are these at each look, at last always the last; no call ever ends."""
    node = {"Alive": True, "NodeID": "ab" * 28, "NodeManagerHostname": "a", "NodeManagerAddress": "b"}
    looks = chain(resources, repeat(resources[-1]))
    ray = Mock(exceptions=import_module("ray").exceptions)
    ray.nodes.side_effect = lambda: [node | {"Resources": next(looks)}]
    ray.get.return_value = versions()
    ray.wait.return_value = [], []
    return ray


def test_a_node_that_joins_late_and_cannot_import_the_package_is_named() -> None:
    ray, errors = stub_of_ray({"CPU": 4.0}), import_module("ray").exceptions
    cluster = Cluster(ray)
    ray.get.side_effect = errors.RayTaskError("answer", "No module named 'ropes'", ModuleNotFoundError())
    with pytest.raises(UserError, match=r"^a node of the Ray cluster cannot import ropes; install it there$"):
        cluster.require_same(partial(int, "1"), "number")
    assert ray.get.call_count == 2  # it is not asked again


def test_a_process_of_a_node_checks_itself_once() -> None:
    asked: list[int] = []

    def count() -> int:
        asked.append(1)
        return 7

    right, wrong = (Expected(versions(), ((count, number, "renderer"),)) for number in (7, 8))
    assert [answer(right, int, "5"), answer(right, int, "6")] == [(True, 5), (True, 6)]
    assert len(asked) == 1
    node = os.uname().nodename
    line = f"node {node} has another renderer than this machine; give every node the same"
    assert answer(wrong, int, "5") == answer(wrong, int, "5") == (None, line)


def test_jobs_that_no_node_can_run_any_more_end_with_one_line() -> None:
    ray = stub_of_ray(*[{"CPU": 4.0, "GPU": 1.0}] * 3, {"CPU": 4.0})
    with pytest.raises(UserError, match=r"^no node of the Ray cluster with 2 CPUs and 1 GPUs is left; run the same"):
        Cluster(ray).run_all([Job(fail, 2)], finished=print, gpus=1)


def test_a_node_without_the_package_is_named() -> None:
    with pytest.raises(UserError, match=r"^node n1 lacks ropes, and this machine has 0\.1\.0; install"):
        require_versions({"ropes": "0.1.0"}, {"ropes": None}, "n1")
    with pytest.raises(UserError, match=r"^node n1 has mujoco 3\.3, and this machine lacks it"):
        require_versions({"mujoco": None}, {"mujoco": "3.3"}, "n1")
