"""A run of method ropes takes over AE1 and density ratios of another run, where their inputs are the same."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.methods.ropes.fit import fit
from ropes.models.checkpoints import WEIGHTS
from tests import tiny


def same_file(one: Path, other: Path, stage: str) -> bool:
    return (one / stage / WEIGHTS).stat().st_ino == (other / stage / WEIGHTS).stat().st_ino


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "taken"), [({"sparsity_weights": (2.0,)}, True), ({"code_noise": 0.2}, False)])
def test_density_ratios_are_reused_unless_trained_on_noisy_codes(
    changes: dict[str, Any], taken: bool, tiny_data: Path, own_run: Path, tmp_path: Path
) -> None:
    run = tmp_path / "other"
    fit(tiny_data, run, tiny.recipe(**changes), 0, pretrained=own_run, show=False)
    assert tiny.weights(run)["ae1/weights.safetensors"] == tiny.weights(own_run)["ae1/weights.safetensors"]
    assert [same_file(own_run, run, f"ldr/{joint}") for joint in tiny.JOINTS] == [taken] * 2


def test_incompatible_pretrained_run_leaves_no_new_run(tiny_data: Path, tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no AE1 of method ropes on these data, with this seed"):
        fit(tiny_data, tmp_path / "new", tiny.recipe(), 2, pretrained=tiny_run, show=False)
    with pytest.raises(UserError, match="129 directions are more than the 128 entries of a code of 2 cameras"):
        fit(tiny_data, tmp_path / "new", replace(tiny.recipe(), basis="codes", directions=129), 1, show=False)
    assert not (tmp_path / "new").exists()
