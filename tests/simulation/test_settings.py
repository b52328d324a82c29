"""Tables 6 to 9 and App. F as the paper prints them, parsed and held against our settings."""

import dataclasses
import json
import math
import re
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.cli import entry as cli
from ropes.common import plugins
from ropes.errors import UserError
from ropes.simulation import settings
from ropes.simulation.panda import APPENDIX_F_NOISE, APPENDIX_F_WEIGHTS
from ropes.simulation.settings import PANDA, SETTINGS, Camera, Setting, find_setting, setting_named

# Lines of the paper's tables: joint | observational | intervention 1 | intervention 2.
TABLE_6 = r"""
2 | \mathcal{TN}_{[-1.5, 1.5]}(0, 1) | \mathcal{TN}_{[-1.5, 1.5]}(-0.75, 0.5) | \mathcal{TN}_{[-1.5, 1.5]}(0.75, 0.5)
4 | TN_{[-1.5, 1.5]}(0, 1) | \mathcal{TN}_{[-1.5, 1.5]}(-0.75, 0.5) | \mathcal{TN}_{[-1.5, 1.5]}(0.75, 0.5)
6 | \mathcal{TN}_{[0,3]}(1.5,1) | \mathcal{TN}_{[0,3]}(2.25,0.5) | \mathcal{TN}_{[0,3]}(0.75,0.5)
"""
TABLE_7 = r"""
1 | TN_{[0,3]}(1.2, 0.4) | TN_{[0,3]}(2.0, 0.4) | TN_{[0,3]}(0.6,0.4)
2 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.7, 0.4) | TN_{[-1.5, 1.5]}(-0.7, 0.4)
3 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.7, 0.4) | TN_{[-1.5, 1.5]}(-0.7, 0.4)
4 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.9, 0.4) | TN_{[-1.5, 1.5]}(-0.9, 0.4)
5 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.9, 0.4) | TN_{[-1.5, 1.5]}(-0.9, 0.4)
6 | TN_{[0,3]}(1.5, 0.4) | TN_{[0,3]}(2.4, 0.4) | TN_{[0,3]}(0.7,0.4)
"""
TABLE_8 = r"""
1 | \mathcal{TN}_{[0,3]}(1.2,0.4)
2 | TN_{[-1.5, 1.5]}(0.0, 0.4)
3 | TN_{[-1.5, 1.5]}(0.0, 0.4)
4 | TN_{[-1.5, 1.5]}(0.8, 0.4)
5 | TN_{[-1.5, 1.5]}(0.0, 0.4)
6 | TN_{[0,3]}(0.5, 0.4)
"""
TABLE_9 = r"""
1 | TN_{[0,3]}(1.2, 0.4) | TN_{[0,3]}(2.0,0.4) | TN_{[0,3]}(0.6,0.4)
2 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.7, 0.4) | TN_{[-1.5, 1.5]}(-0.7, 0.4)
3 | Not a root node | TN_{[-1.5, 1.5]}(0.7, 0.4) | TN_{[-1.5, 1.5]}(-0.7, 0.4)
4 | TN_{[-1.5, 1.5]}(0, 0.4) | TN_{[-1.5, 1.5]}(0.9, 0.4) | TN_{[-1.5, 1.5]}(-0.9, 0.4)
5 | Not a root node | TN_{[-1.5, 1.5]}(0.9, 0.4) | TN_{[-1.5, 1.5]}(-0.9, 0.4)
6 | Not a root node | TN_{[0,3]}(2.4,0.4) | TN_{[0,3]}(0.7,0.4)
"""
APPENDIX_F = r"""
J_1 = J_1 + \epsilon_1
J_2 = J_2 + \epsilon_2
J_4 = J_4 + \epsilon_4
J_3 = 0.88J_2 + \epsilon_3
J_5 = 0.26J_3 + \epsilon_5
J_6 = 0.24J_1 + 0.31J_2 + 0.37J_3 + 0.15J_5 + \epsilon_6
"""
NOISE = r"\mathcal{TN}_{[0,1]}(0.0, 0.1)"
FORM = re.compile(r"TN\}?_\{\[(.+?),(.+?)\]\}\((.+?),(.+?)\)")


def parse(cell: str) -> TruncatedNormal | None:
    if "Not a root" in cell:
        return None
    found = FORM.search(cell)
    assert found, cell
    low, high, mean, variance = map(float, found.groups())
    return TruncatedNormal(mean=mean, variance=variance, low=low, high=high)


def rows(table: str) -> dict[str, list[TruncatedNormal | None]]:
    lines = [line.split("|") for line in table.strip().splitlines()]
    return {f"panda_joint{cells[0].strip()}": [parse(cell) for cell in cells[1:]] for cells in lines}


def table_of(model: CausalModel) -> dict[str, list[TruncatedNormal | None]]:
    return {joint: [model.observational.get(joint), *model.interventions[joint]] for joint in model.joints}


@pytest.mark.parametrize(
    ("name", "table", "size"),
    [("panda-1c-independent", TABLE_6, 3), ("panda-2c-independent", TABLE_7, 6), ("panda-2c-causal", TABLE_9, 6)],
)
@pytest.mark.parametrize("split", ["train", "test-id"])
def test_training_distributions_match_the_tables(name: str, table: str, size: int, split: str) -> None:
    model = setting_named(name).splits[split]
    assert len(model.joints) == size
    assert table_of(model) == rows(table)


def test_six_joint_setting_intervenes_on_three_joints() -> None:
    three, six = (setting_named(name).splits["train"] for name in ("panda-1c-independent", "panda-1c-six"))
    assert len(six.joints) == 6
    assert six.interventions == three.interventions
    assert six.regimes == three.regimes
    assert {joint: six.observational[joint] for joint in three.joints} == dict(three.observational)
    others = {joint: [six.observational[joint]] for joint in six.joints if joint not in three.joints}
    assert others == {joint: row[:1] for joint, row in rows(TABLE_7).items() if joint in others}
    assert len(others) == 3
    poses = six.sample(np.random.default_rng(0), 5)
    assert (poses[:, :1, ::2] == poses[:, :, ::2]).all()  # joints 1, 3 and 5 stay where they are within an anchor
    assert (poses[:, 0, ::2].std(0) > 0.1).all()


@pytest.mark.parametrize("name", ["panda-2c-independent", "panda-2c-causal"])
def test_ood_split_is_table_8_with_interventions_of_table_7(name: str) -> None:
    model = setting_named(name).splits["test-ood"]
    assert {joint: [t] for joint, t in model.observational.items()} == rows(TABLE_8)
    assert {joint: list(pair) for joint, pair in model.interventions.items()} == {
        joint: row[1:] for joint, row in rows(TABLE_7).items()
    }
    assert (dict(model.weights), dict(model.noise)) == ({}, {})


def test_structural_equations_match_appendix_f() -> None:
    model = setting_named("panda-2c-causal").splits["train"]
    weights, roots = {}, set()
    for line in APPENDIX_F.strip().splitlines():
        left, right = line.split(" = ")
        child = f"panda_joint{left[-1]}"
        assert right.endswith(f"\\epsilon_{left[-1]}")
        if left in right.split():
            roots.add(child)
        for weight, parent in re.findall(r"(\d\.\d+)J_(\d)", right):
            weights[f"panda_joint{parent}", child] = float(weight)
    assert dict(model.weights) == weights == APPENDIX_F_WEIGHTS
    assert set(model.observational) == roots
    assert parse(NOISE) == APPENDIX_F_NOISE
    assert model.noise == dict.fromkeys(model.joints, APPENDIX_F_NOISE)


def test_settings_have_the_splits_and_cameras_of_the_paper() -> None:
    one, two, causal, six = map(setting_named, SETTINGS)
    assert list(one.splits) == ["train", "test-id"]
    assert list(two.splits) == list(causal.splits) == ["train", "test-id", "test-ood"]
    assert [camera.name for camera in one.cameras] == [camera.name for camera in six.cameras] == ["cam0"]
    assert [(c.name, c.yaw, c.pitch, c.roll, c.fov, c.distance) for c in two.cameras] == [
        ("cam45", 45, -30, 0, 60, 1.4),
        ("cam135", 135, -30, 0, 60, 1.4),
    ]
    assert two.cameras == causal.cameras
    assert {setting.image_size for setting in (one, two, causal)} == {128}


def test_pose_sets_every_movable_joint_and_paper_panda_ignores_limits() -> None:
    for name in SETTINGS:
        robot = setting_named(name).robot
        assert set(setting_named(name).splits["train"].joints) <= set(robot.joints)
        assert set(robot.neutral) <= set(robot.joints)
        assert not robot.check_limits


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_round_trip_through_json(name: str) -> None:
    setting = setting_named(name)
    again = Setting.from_dict(json.loads(json.dumps(setting.to_dict())))
    assert again == setting
    assert again.to_dict() == setting.to_dict()


CAMERA = Camera(name="c", target=(0.0, 0.0, 0.3), distance=1.4, yaw=30.0, pitch=-20.0, roll=0.0, fov=60.0)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"name": ""}, "the name '' is empty"),
        ({"name": "a/b"}, "the name 'a/b' is empty or has a slash"),
        ({"name": "a b"}, "the name 'a b'"),
        ({"name": "a=b"}, "the name 'a=b'"),
        ({"name": ".."}, "the name '..'"),
        ({"target": (0.0, 0.0)}, "target has 2 numbers, not x, y and z"),
        ({"target": (0.0, math.nan, 0.0)}, "target is (0.0, nan, 0.0), which is not finite"),
        ({"yaw": math.inf}, "yaw is inf, which is not finite"),
        ({"distance": 0.0}, "distance is 0 m; it must be above 0"),
        ({"fov": 0.0}, "fov is 0°; it must be above 0 and below 180"),
        ({"fov": 180.0}, "fov is 180°; it must be above 0 and below 180"),
    ],
)
def test_invalid_camera_raises(change: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)):
        dataclasses.replace(CAMERA, **change)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("panda-2c-casual", "unknown setting 'panda-2c-casual': did you mean panda-2c-causal?"),
        ("ur5", "unknown setting 'ur5': choose one of panda-1c-independent, panda-2c-independent, panda-2c-causal"),
    ],
)
def test_unknown_settings_are_refused_with_a_suggestion(name: str, line: str) -> None:
    with pytest.raises(UserError, match=re.escape(line)):
        setting_named(name)


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """Entry points of other packages by name, to be filled by a test."""
    named: dict[str, object] = {}

    class Point(EntryPoint):
        def load(self) -> object:
            loaded = named[self.name]
            if isinstance(loaded, Exception):
                raise loaded
            return loaded

    def entry_points(*, group: str) -> list[Point]:
        return [Point(name=name, value="other:SETTING", group=group) for name in named if group == "ropes.settings"]

    monkeypatch.setattr(plugins, "entry_points", entry_points)
    settings.plugin_settings.cache_clear()
    yield named
    settings.plugin_settings.cache_clear()


def test_another_package_adds_a_setting(points: dict[str, object]) -> None:
    other = dataclasses.replace(setting_named("panda-1c-independent"), name="other")
    points["other"] = other
    assert setting_named("other") is other
    assert find_setting("other") is other
    with pytest.raises(UserError, match="did you mean other"):
        setting_named("othr")


@pytest.mark.parametrize(
    ("name", "loaded", "line"),
    [
        ("other", ImportError("no module named x"), "ImportError: no module named x"),
        ("other", "a word", "its entry point is a str, not a Setting"),
        ("other", setting_named("panda-1c-independent"), "is called other and its Setting panda-1c-independent"),
        ("panda-2c-causal", setting_named("panda-2c-causal"), None),
        ("other", dataclasses.replace(setting_named("panda-2c-causal"), name="other", splits={}), "splits lack train"),
        ("finger-cube", dataclasses.replace(setting_named("panda-2c-causal"), name="finger-cube"), "is part of ropes"),
    ],
)
def test_broken_external_setting_does_not_affect_others(
    points: dict[str, object], name: str, loaded: object, line: str | None
) -> None:
    points[name] = loaded
    assert setting_named("panda-2c-independent").name == "panda-2c-independent"
    if line is None:  # the package's own setting wins
        assert setting_named(name) == loaded
        return
    assert find_setting(name) is None
    with pytest.raises(UserError, match=f"setting {name} cannot be loaded .*{line}"):
        setting_named(name)


def test_external_setting_keeps_its_scene_and_camera_level_by_default(
    points: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = dataclasses.replace(
        setting_named("panda-1c-independent"), name="other", scene="panda-gym", camera_level="harsh"
    )
    points["other"] = own
    given: list[Setting] = []
    monkeypatch.setattr("ropes.data.generate.simulate", lambda setting, **_: given.append(setting))
    words = ["simulate", "--setting", "other", "--anchors", "1", "--out", "D"]
    assert cli.main(words) == 0
    assert cli.main([*words, "--scene", "white", "--camera", "webcam"]) == 0
    assert given[0] == own
    assert (given[1].scene, given[1].camera_level) == ("white", "webcam")


def test_settings_without_edges_are_independent() -> None:
    assert [name for name in PANDA if setting_named(name).independent] == [
        "panda-1c-independent",
        "panda-2c-independent",
        "panda-1c-six",
    ]
