"""Files of predictions: both formats, and every wrong one in one line through the command."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.errors import UserError
from ropes.evaluation.benchmark import Predictions, read_predictions, score, task_named, write_predictions
from tests.command_line import refusal

TASK = task_named("panda-1c-independent")
Arrays = dict[str, Any]


def arrays() -> Arrays:
    angles = TASK.angles("test-id")
    return {
        "joints": list(TASK.joints),
        "test-id": angles + 0.1,
        "test-id-lower": angles - 0.1,
        "test-id-upper": angles + 0.3,
    }


def write_csv(path: Path, content: Arrays) -> None:
    ends = [end for end in ("-lower", "-upper") if f"test-id{end}" in content]
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["split", "pose", *(f"{joint}{end}" for end in ("", *ends) for joint in content["joints"])])
        for pose, row in enumerate(np.hstack([content[f"test-id{end}"] for end in ("", *ends)]).tolist()):
            writer.writerow(["test-id", pose, *row])


@pytest.mark.parametrize("kind", ["npz", "csv"])
def test_both_formats_give_the_numbers_written(kind: str, tmp_path: Path) -> None:
    path, content = tmp_path / f"mine.{kind}", arrays()
    if kind == "npz":
        np.savez_compressed(path, **content)
    else:
        write_csv(path, content)
    read = read_predictions(path, TASK)
    assert list(read) == ["test-id"]
    for name, values in (("", read["test-id"].angles), ("-lower", read["test-id"].lower)):
        np.testing.assert_array_equal(values, content[f"test-id{name}"])
    figures = score(TASK, read)["test-id"]["panda_joint4"]
    assert figures.rms_degrees == pytest.approx(np.degrees(0.1))
    assert figures.coverage == 1


def test_intervals_are_optional_in_a_table(tmp_path: Path) -> None:
    content = arrays()
    del content["test-id-lower"], content["test-id-upper"]
    write_csv(tmp_path / "mine.csv", content)
    assert read_predictions(tmp_path / "mine.csv", TASK)["test-id"].lower is None


def test_written_predictions_are_read_again(tmp_path: Path) -> None:
    content = arrays()
    given = Predictions(angles=content["test-id"], lower=content["test-id-lower"], upper=content["test-id-upper"])
    write_predictions(tmp_path / "mine.npz", TASK, {"test-id": given})
    read = read_predictions(tmp_path / "mine.npz", TASK)["test-id"]
    np.testing.assert_allclose(read.angles, given.angles, atol=1e-6)
    assert read.upper is not None
    np.testing.assert_allclose(read.upper, content["test-id-upper"], atol=1e-6)
    with np.load(tmp_path / "mine.npz") as archive:
        assert str(archive["task"]) == TASK.name
    with pytest.raises(UserError, match=r"ends in \.npz"):
        write_predictions(tmp_path / "mine.csv", TASK, {"test-id": given})


def test_intervals_for_a_part_of_the_splits_are_refused(tmp_path: Path) -> None:
    task = task_named("panda-2c-independent")
    content: Arrays = {"joints": list(task.joints), **{split: task.angles(split) for split in task.splits}}
    content |= {f"test-id-{end}": content["test-id"] for end in ("lower", "upper")}
    np.savez_compressed(tmp_path / "mine.npz", **content)
    with pytest.raises(UserError, match="test-ood has no intervals; give intervals for all splits, or for none"):
        read_predictions(tmp_path / "mine.npz", task)
    assert list(read_predictions(tmp_path / "mine.npz", task, ["test-ood"])) == ["test-ood"]


def test_a_single_large_error_is_scored(tmp_path: Path) -> None:
    content = arrays()
    content["test-id"][0] = 400.0
    np.savez(tmp_path / "mine.npz", **content)
    assert score(TASK, read_predictions(tmp_path / "mine.npz", TASK))["test-id"]["panda_joint2"].rms_degrees > 400


def changed(name: str, change: Callable[[Any], Any]) -> Callable[[Arrays], None]:
    return lambda content: content.__setitem__(name, change(content[name]))


def put(value: float, name: str = "test-id") -> Callable[[Arrays], None]:
    def change(angles: Any) -> Any:
        angles[3, 1] = value
        return angles

    return changed(name, change)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (
            changed("test-id", lambda angles: angles[:-1]),
            "test-id has shape (1999, 3); panda-1c-independent needs (2000",
        ),
        (changed("test-id", lambda angles: angles[:, :2]), "test-id has shape (2000, 2)"),
        (changed("test-id", lambda angles: angles.astype(str)), "not numbers"),
        (changed("test-id", np.degrees), "above a full turn; give radians, not degrees"),
        (changed("test-id", lambda angles: np.add(angles, (7, 0, 0))), "test-id: panda_joint2 has a median of 7."),
        (changed("test-id", lambda angles: angles.astype(object)), "test-id: Object arrays cannot be loaded"),
        (put(float("nan")), "test-id, pose 3, panda_joint4: not a finite number"),
        (put(float("inf"), "test-id-upper"), "test-id-upper, pose 3, panda_joint4: not a finite number"),
        (put(1e200), "test-id, pose 3, panda_joint4: 1e+200 is no angle in radians"),
        (put(-2e3, "test-id-lower"), "test-id-lower, pose 3, panda_joint4: -2e+03 is no angle in radians"),
        (put(9.0, "test-id-lower"), "test-id, pose 3, panda_joint4: the lower end is above the upper end"),
        (lambda content: content.pop("test-id-lower"), "test-id has upper ends of intervals alone"),
        (
            lambda content: content.update(task="panda-2c-causal"),
            "these are predictions for task panda-2c-causal, not for panda-1c-independent",
        ),
        (lambda content: content.pop("joints"), "no array joints"),
        (lambda content: content.pop("test-id"), "no predictions for test-id"),
        (changed("joints", lambda names: names[::-1]), "in another order: panda_joint6, panda_joint4, panda_joint2"),
        (changed("joints", lambda names: ["elbow", *names[1:]]), "other joints: elbow, panda_joint4"),
        (changed("joints", lambda names: np.array(names, dtype=object)), "joints: Object arrays cannot be loaded"),
        (lambda content: content.update({"test-ood": content["test-id"]}), "unknown 'test-ood'"),
    ],
)
def test_wrong_archives_are_refused(
    change: Callable[[Arrays], object], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = arrays()
    change(content)
    np.savez(tmp_path / "mine.npz", **content)
    line = refusal(capsys, "score", str(tmp_path / "mine.npz"), "--task", TASK.name)
    assert part in line
    assert "mine.npz" in line


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("mine.npz", b"", "is no .npz archive"),
        ("mine.npz", b"PK\x03\x04 and no more", "cannot be read"),
        ("mine.npz", b"\x80\x04N.", "is no .npz archive"),
        ("mine.txt", b"1 2 3", "a .npz or a .csv file"),
        ("mine.csv", b"", "the first columns must be split and pose, not nothing"),
        ("mine.csv", b"\xff\xfe", "can't decode"),
        ("mine.csv", b"split,pose,panda_joint4,panda_joint2,panda_joint6\n", "in another order: panda_joint4"),
        ("mine.csv", b"split,pose,panda_joint2,panda_joint4,panda_joint6\n", "no predictions for test-id"),
        ("mine.csv", b"split,pose,panda_joint2,panda_joint4,panda_joint6\ntest-id,1,0,0,0\n", "pose 0 is next"),
        ("mine.csv", b"split,pose,panda_joint2,panda_joint4,panda_joint6\ntest-id,0,0,0\n", "row 2 has 4 values"),
        ("mine.csv", b"split,pose,panda_joint2,panda_joint4,panda_joint6\ntest-id,0,0,x,0\n", "row 2: could not"),
        ("mine.csv", b"split,pose,panda_joint2,panda_joint4,panda_joint6\ntest-id,0,0,0,0\n", "has shape (1, 3)"),
        (
            "mine.csv",
            b"split,pose,panda_joint2,panda_joint4,panda_joint6,panda_joint2-lower\n",
            "the columns of lower ends must be panda_joint2-lower, panda_joint4-lower",
        ),
    ],
)
def test_other_files_are_refused(
    name: str, content: bytes, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert part in refusal(capsys, "score", str(tmp_path / name), "--task", TASK.name)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("score {path}/nowhere.npz --task panda-1c-independent", "nowhere.npz is missing"),
        ("score {path} --task panda-1c-independent", "a .npz or a .csv file"),
        ("score a.npz --task panda-1c", "unknown task 'panda-1c'"),
        ("score a.npz --task panda-1c-independent --split test-ood", "unknown split 'test-ood'"),
        ("score --task panda-1c-independent", "needs a file of predictions, or --data"),
        ("score a.npz --task panda-1c-independent --out e.json", "--entry and --out go together"),
        ("score a.npz --task t --split s --entry a.json --out e.json", "leave --split out"),
        ("predict panda-2c --images a.png --predictions p.npz --poses", "leave --poses and --overlay out"),
        ("predict panda-2c --images cam45=a.png cam135=b.png --predictions p.npz", "needs --images DATA"),
    ],
)
def test_wrong_calls_are_refused(words: str, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert part in refusal(capsys, *words.format(path=tmp_path).split())


def test_one_split_is_scored_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = task_named("panda-2c-causal")
    content: Arrays = {"joints": task.joints, "test-ood": task.angles("test-ood")}
    np.savez(tmp_path / "mine.npz", **content)
    words = ["score", str(tmp_path / "mine.npz"), "--task", task.name]
    assert "no predictions for test-id" in refusal(capsys, *words)
    assert cli.main([*words, "--split", "test-ood"]) == 0
    shown = capsys.readouterr().out
    assert "test-ood" in shown
    assert "test-id" not in shown
    assert max(map(len, shown.splitlines())) <= 80
