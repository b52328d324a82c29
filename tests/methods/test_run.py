import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.errors import UserError
from ropes.methods.recipes import PRESETS, encoder_recipe, recipe_to_dict, ropes_recipe
from ropes.methods.run import CALIBRATION_FILE, RUN_FILE, TRAINING_FILE, Run
from tests import tiny


def run(**changes: object) -> Run:
    given: dict[str, Any] = {
        "method": "ropes",
        "recipe": tiny.recipe(),
        "seed": 3,
        "setting": "tiny",
        "cameras": tiny.CAMERAS,
        "joints": tiny.JOINTS,
        "image_size": 16,
        "data_checksum": "abc",
    }
    return Run(**(given | changes))


@pytest.mark.parametrize("recipe", [tiny.recipe(), *map(ropes_recipe, PRESETS)], ids=["tiny", *PRESETS])
def test_run_round_trips(tmp_path: Path, recipe: object) -> None:
    run(recipe=recipe).write(tmp_path)
    assert Run.read(tmp_path) == run(recipe=recipe)
    run(recipe=recipe).write(tmp_path)


@pytest.mark.parametrize("found", [0, 2, None])
def test_a_run_of_another_version_is_refused(tmp_path: Path, found: int | None) -> None:
    run().write(tmp_path)
    write_json(tmp_path / RUN_FILE, {**read_json(tmp_path / RUN_FILE), "format": found})
    line = f"run.json has format {found}, this version of ropes reads 1; fit the run again"
    with pytest.raises(UserError, match=line):
        Run.read(tmp_path)
    with pytest.raises(UserError, match=line):
        run().write(tmp_path)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"data_checksum": "other"}, "holds a run with another data checksum; choose another --out"),
        ({"seed": 4}, "holds a run with another seed; choose another --out"),
        ({"method": "robopepp"}, "holds a run with another method; choose another --out"),
    ],
)
def test_folder_of_another_run_is_not_modified(tmp_path: Path, change: dict[str, object], line: str) -> None:
    run().write(tmp_path)
    before = tiny.tree(tmp_path)
    with pytest.raises(UserError, match=line):
        run(**change).write(tmp_path)
    assert tiny.tree(tmp_path) == before


def test_changed_recipe_restarts_the_run(tmp_path: Path) -> None:
    run().write(tmp_path)
    for name in (TRAINING_FILE, CALIBRATION_FILE):
        (tmp_path / name).write_text("{}")
    run().write(tmp_path)
    assert len(tiny.tree(tmp_path)) == 3
    run(recipe=tiny.recipe(val_fraction=0.5)).write(tmp_path)
    assert list(tiny.tree(tmp_path)) == [RUN_FILE]
    assert Run.read(tmp_path).recipe.val_fraction == 0.5


def test_folder_without_a_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run.json is missing; is .* the right folder\?"):
        Run.read(tmp_path / "nothing")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content.pop("recipe"),
        lambda content: content.pop("seed"),
        lambda content: content.update(colour="red"),
        lambda content: content["recipe"].update(colour="red"),
        lambda content: content["recipe"]["ae1"].update(image_size=17),
        lambda content: content.update(cameras=None),
    ],
)
def test_damaged_run_is_reported(tmp_path: Path, damage: Callable[[dict[str, Any]], object]) -> None:
    run().write(tmp_path)
    content = read_json(tmp_path / RUN_FILE)
    damage(content)
    write_json(tmp_path / RUN_FILE, content)
    with pytest.raises(UserError, match=r"run.json is damaged .*; fit the run again"):
        Run.read(tmp_path)


def test_renamed_recipe_fields_keep_their_stored_names(tmp_path: Path) -> None:
    recipe = encoder_recipe("compact")
    run(method="anchored", recipe=recipe).write(tmp_path)
    content = read_json(tmp_path / RUN_FILE)
    first = {"alone": 7, "alone_at_most": 0.25, "held_out": 0.2, "erased": 0.5}
    assert first.keys() <= content["recipe"].keys()
    assert content["recipe"]["training"]["at_least"] == 0
    assert content["recipe"]["student"]["at_least"] == 124_800
    stored = content["recipe"] | first | {"training": content["recipe"]["training"] | {"at_least": 9}}
    write_json(tmp_path / RUN_FILE, content | {"recipe": stored})
    assert Run.read(tmp_path).recipe == replace(
        recipe,
        anchor_warmup_poses=7,
        anchor_warmup_fraction=0.25,
        val_fraction=0.2,
        random_erasing=0.5,
        training=replace(recipe.training, min_samples=9),
    )


def test_recipe_no_longer_supported_is_reported(tmp_path: Path) -> None:
    run(method="anchored", recipe=encoder_recipe("compact")).write(tmp_path)
    content = read_json(tmp_path / RUN_FILE)
    write_json(tmp_path / RUN_FILE, content | {"recipe": recipe_to_dict(encoder_recipe("compact")) | {"alone": 0.35}})
    with pytest.raises(
        UserError, match=r"run.json is of another version \(anchor_warmup_poses must be .*\); fit the run again"
    ):
        Run.read(tmp_path)


@pytest.mark.parametrize("content", ["[]", "3", "null"])
def test_json_that_is_not_a_run_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / RUN_FILE).write_text(content)
    with pytest.raises(UserError, match="has format None"):
        Run.read(tmp_path)


def test_run_file_is_plain_json_without_machine_paths(tmp_path: Path) -> None:
    run().write(tmp_path)
    text = (tmp_path / RUN_FILE).read_text()
    assert json.loads(text)["format"] == 1
    assert str(tmp_path) not in text
