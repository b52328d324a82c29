"""Runs by folder and by name."""

from pathlib import Path

import pytest

from ropes.errors import UserError
from ropes.models.registry import CARD_FILE, find_run, own_run, packaged_folder, packaged_names, read_card


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    for name in ("panda-2c", "kuka-1c"):
        (tmp_path / "packaged" / name).mkdir(parents=True)
        (tmp_path / "packaged" / name / CARD_FILE).write_text(f"# {name}\n")
    (tmp_path / "packaged" / "half-made").mkdir()
    return tmp_path / "packaged"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_name_resolves_to_its_packaged_folder(packaged: Path) -> None:
    assert packaged_names(packaged) == ("kuka-1c", "panda-2c")
    assert find_run(Path("panda-2c"), packaged) == packaged / "panda-2c"


def test_folder_without_a_run_does_not_hide_a_packaged_estimator(packaged: Path) -> None:
    Path("panda-2c").mkdir()  # as `ropes reproduce panda-2c --out panda-2c` leaves it
    (Path("panda-2c") / "experiment.json").write_text("{}")
    assert find_run(Path("panda-2c"), packaged) == packaged / "panda-2c"
    assert find_run("panda-2c", packaged) == packaged / "panda-2c"


def test_ambiguous_name_requires_a_prefix(packaged: Path) -> None:
    Path("panda-2c").mkdir()
    (Path("panda-2c") / "run.json").write_text("{}")
    line = r"panda-2c is a run's folder and a packaged estimator: give \./panda-2c or packaged:panda-2c$"
    for find in (find_run, own_run):
        with pytest.raises(UserError, match=line):
            find("panda-2c", packaged)
    assert find_run("packaged:panda-2c", packaged) == packaged / "panda-2c"
    assert find_run("./panda-2c", packaged) == own_run("./panda-2c", packaged) == Path("panda-2c")
    assert find_run(Path("panda-2c").absolute(), packaged) == Path("panda-2c").absolute()
    with pytest.raises(UserError, match="packaged:panda-2c is a packaged estimator and stays as it is"):
        own_run("packaged:panda-2c", packaged)


def test_run_of_another_name_resolves_to_its_folder(packaged: Path) -> None:
    Path("mine").mkdir()
    (Path("mine") / "run.json").write_text("{}")
    assert find_run("mine", packaged) == own_run("mine", packaged) == Path("mine")
    with pytest.raises(UserError, match="mine is no packaged estimator: packaged are kuka-1c, panda-2c"):
        find_run("packaged:mine", packaged)
    with pytest.raises(UserError, match=r"\./panda-2c is neither a run's folder nor a packaged estimator"):
        find_run("./panda-2c", packaged)


def test_unknown_name_is_refused_with_the_packaged_names(packaged: Path, tmp_path: Path) -> None:
    line = r"runs/x is neither a run's folder nor a packaged estimator: packaged are kuka-1c, panda-2c"
    with pytest.raises(UserError, match=line):
        find_run(Path("runs/x"), packaged)
    with pytest.raises(UserError, match=r"did you mean panda-2c\? packaged are"):
        find_run(Path("panda-2"), packaged)
    with pytest.raises(UserError, match="half-made is neither"):
        find_run(Path("half-made"), packaged)
    with pytest.raises(UserError, match="nor a packaged estimator: none comes with this installation"):
        find_run(Path("panda-2c"), tmp_path / "none")


def test_packaged_estimators_are_read_only(packaged: Path) -> None:
    for name in (Path("panda-2c"), packaged / "panda-2c"):
        with pytest.raises(UserError, match=r"is a packaged estimator and stays as it is; copy .*panda-2c"):
            own_run(name, packaged)


def test_model_card_is_read(packaged: Path) -> None:
    assert read_card(packaged / "panda-2c") == "# panda-2c\n"
    with pytest.raises(UserError, match=r"half-made has no MODEL_CARD\.md; ropes package writes one"):
        read_card(packaged / "half-made")


def test_every_packaged_estimator_is_complete() -> None:
    from ropes.experiments.packager import MOST_BYTES
    from ropes.inference.estimator import Estimator

    assert packaged_folder().is_dir()
    for name in packaged_names():
        folder = find_run(f"packaged:{name}")
        assert Estimator.load(folder).calibration is not None
        assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) <= MOST_BYTES
