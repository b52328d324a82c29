import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from ropes.errors import UserError
from ropes.models.checkpoints import load_tree, load_weights, remove_leftovers, save_tree, save_weights

plain = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(max_size=5)
)
keys = st.one_of(st.text(max_size=4), st.integers())
trees = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.slow
@given(trees)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_plain_tree_round_trips_with_its_types(tmp_path: Path, tree: object) -> None:
    save_tree(tmp_path / "a", tree)
    assert repr(load_tree(tmp_path / "a")) == repr(tree)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.uint8])
def test_tensors_round_trip_bit_for_bit(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = (torch.randn(3, 4) * 3).to(dtype)
    tree = {"a": [tensor, tensor.t()], 5: (torch.tensor(2.5), {"b": nn.Parameter(torch.ones(2))})}
    save_tree(tmp_path / "a", tree)
    again = load_tree(tmp_path / "a")
    assert torch.equal(again["a"][0], tensor)
    assert again["a"][0].dtype == dtype
    assert torch.equal(again["a"][1], tensor.t())
    assert float(again[5][0]) == 2.5
    assert torch.equal(again[5][1]["b"], torch.ones(2))


def test_optimiser_state_round_trips(tmp_path: Path) -> None:
    layer = nn.Linear(2, 2)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=0.1)
    layer(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    save_tree(tmp_path / "a", optimiser.state_dict())
    again = torch.optim.AdamW(layer.parameters(), lr=0.5)
    again.load_state_dict(load_tree(tmp_path / "a"))
    assert again.param_groups[0]["lr"] == 0.1
    before, after = (o.state[layer.weight]["exp_avg_sq"] for o in (optimiser, again))
    assert torch.equal(before, after)


def test_unsupported_object_raises_without_writing_a_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="cannot store object"):
        save_tree(tmp_path / "a", {"a": object()})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("keep", [0, 4, 60, -1])
def test_damaged_tree_is_reported(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "last.safetensors"
    save_tree(path, {"a": torch.ones(8)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match=r"last.safetensors is damaged .*; delete it and run the same command again"):
        load_tree(path)


def test_missing_tree_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="last is missing"):
        load_tree(tmp_path / "last")


def test_weights_file_is_not_a_tree(tmp_path: Path) -> None:
    save_weights(nn.Linear(1, 1), tmp_path / "w")
    with pytest.raises(UserError, match="w is damaged"):
        load_tree(tmp_path / "w")


def test_weights_round_trip_from_any_memory_format(tmp_path: Path) -> None:
    one = convert_conv2d_weight_memory_format(nn.Conv2d(3, 4, 3), torch.channels_last)
    two = nn.Conv2d(3, 4, 3)
    save_weights(one, tmp_path / "w")
    load_weights(two, tmp_path / "w")
    assert torch.equal(one.weight, two.weight)
    assert one.bias is not None
    assert two.bias is not None
    assert torch.equal(one.bias, two.bias)


def test_the_same_weights_give_the_same_bytes(tmp_path: Path) -> None:
    layer = nn.Conv2d(3, 4, 3)
    save_weights(layer, tmp_path / "a")
    save_weights(convert_conv2d_weight_memory_format(layer, torch.channels_last), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_missing_weights_error_suggests_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is missing: the run has no weights; finish it with `ropes fit`"):
        load_weights(nn.Linear(1, 1), tmp_path / "w")


@pytest.mark.parametrize("content", ["damaged", "shape", "name"])
def test_other_weights_are_refused_in_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "w"
    if content == "damaged":
        path.write_bytes(b"no weights")
    else:
        save_weights(nn.Linear(1, 2) if content == "shape" else nn.Conv2d(1, 1, 1), path)
    with pytest.raises(UserError, match="does not hold this network's weights") as caught:
        load_weights(nn.Linear(1, 1), path)
    assert "\n" not in str(caught.value)


KILLED_WHILE_WRITING = """
import resource, signal, sys
import numpy as np
from safetensors.numpy import save_file
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
save_file({"w": np.zeros(100_000)}, sys.argv[1])
"""


def test_only_partial_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    (tmp_path / "ae1").mkdir()
    kept = {"last.safetensors", ".tmp", ".tmp123456.txt", ".notes"}
    for name in (*kept, ".last.safetensors.abc.part"):
        (tmp_path / "ae1" / name).write_text("x")
    unfinished = tmp_path / "ae1" / ".w.part"
    done = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(unfinished)], check=False)
    assert done.returncode == -signal.SIGXFSZ
    left = {path.name for path in (tmp_path / "ae1").iterdir()} - kept
    assert len(left) == 2  # ours, and what safetensors was writing
    remove_leftovers(tmp_path)
    assert {path.name for path in (tmp_path / "ae1").iterdir()} == kept
