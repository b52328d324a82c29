"""An unfinished recording can be inspected, and not learnt from; faulty anchors are listed and recorded again."""

import io
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from rich.console import Console

from ropes.common import files
from ropes.common.arrays import Images
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.data.recorder.folder import LOG
from ropes.data.recorder.record import RecordOptions
from ropes.errors import UserError
from ropes.evaluation.inspection import Inspection, inspect_data
from ropes.report.inspection import print_inspection
from tests import tiny
from tests.data.recorder.conftest import MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record


def gone() -> NoReturn:
    raise ConnectionError("gone")


def interrupted(kind: ScriptedKind, options: RecordOptions, out: Path, goals: int) -> None:
    kind.fault = lambda done: gone() if done == goals else None
    with pytest.raises(UserError, match="the arm is stopped"):
        record(options, out)
    kind.fault = lambda done: None


def printed(found: Inspection) -> str:
    console = Console(file=io.StringIO(), width=200)
    print_inspection(found, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("state", [True, False])
def test_unfinished_recording_is_inspected_as_it_will_be(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, state: bool
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=10, state=state)
    interrupted(kind, options, out, 2)
    with pytest.raises(UserError, match="D has no whole anchor yet; run the same ropes record command again"):
        inspect_data(out, show=False)
    interrupted(kind, options, out, 42)
    before = tiny.tree(out)
    found = inspect_data(out, show=False)
    assert found.unfinished
    assert (found.anchors, found.complete, found.sizes) == (8, 1.0, ((32, 32),))
    assert "the recording is unfinished: these are the whole anchors so far\n" in printed(found)
    assert tiny.tree(out) == before
    with pytest.raises(
        UserError, match="is unfinished; run the same ropes record command again to resume, or ropes ins"
    ):
        open_dataset(out)
    record(make_options(kind="scripted", anchors=8, state=state), out)  # finishes it as it is
    whole = inspect_data(out, show=False)
    assert not whole.unfinished
    assert found.to_dict() == {**whole.to_dict(), "unfinished": True}
    # While it is extended, anchors after a damaged one do not count.
    interrupted(kind, options, out, 7)
    (out / schema.data_file(5)).write_bytes(b"torn")
    assert inspect_data(out, show=False).anchors == 5


@pytest.mark.slow
def test_unfinished_chains_are_inspected(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    out = tmp_path / "D"
    interrupted(kind, make_options(kind="scripted", chains=6), out, 48)
    found = inspect_data(out, show=False)
    assert (found.unfinished, found.chains, found.anchors) == (True, True, 4)
    (out / LOG).write_text("{}")
    with pytest.raises(UserError, match=r"recording.json is damaged \(KeyError\('chains'\)\)"):
        inspect_data(out, show=False)


@pytest.mark.slow
def test_faulty_anchor_is_listed_until_it_is_recorded_again(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    """Its robot time has both tries; a fault that the second try mended is not listed."""
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=6)

    def blurred(image: Images, number: int) -> Images:
        goals = len(kind.robots[-1].goals)
        twice = goals in (13, 18)  # both tries of the third anchor
        return image // 8 + 100 if twice or goals == 23 else image

    kind.change = blurred
    record(options, out)
    log = files.read_json(out / LOG)["anchors"]
    assert [len(entry["unmended"]) for entry in log] == [0, 0, 1, 0, 0, 0]
    assert log[2]["unmended"] == log[2]["faults"]
    times = np.array([sum(entry["seconds"]) for entry in log])
    assert (times[[2, 3]] > 1.5 * np.delete(times, [2, 3]).max()).all()
    found = inspect_data(out, show=False)
    [line] = found.unmended
    assert line.startswith(f"anchor {log[2]['anchor']} ({schema.data_file(2)}): camera cam: the frame of ")
    text = printed(found)
    assert (
        "anchors that were recorded again, and were faulty again: 1; to record one again, delete its file and run"
        in text
    )
    assert f"- {line}\n" in text
    kind.change = lambda image, number: image
    (out / schema.data_file(2)).unlink()
    record(options, out)
    assert len(kind.robots[1].goals) == 5
    assert inspect_data(out, show=False).unmended == ()


def test_all_faults_of_earlier_versions_are_listed_and_long_lists_are_cut(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    record(make_options(kind="scripted", anchors=13), tmp_path / "D")
    log = files.read_json(tmp_path / "D" / LOG)
    for entry in log["anchors"]:
        del entry["unmended"]
        entry["faults"] = ["camera cam: 7% of the pixels are black or white"]
    files.write_json(tmp_path / "D" / LOG, log)
    found = inspect_data(tmp_path / "D", show=False)
    assert len(found.unmended) == 13
    assert printed(found).count("7% of the pixels are black or white") == 10
    assert "- and 3 more (--json lists all)\n" in printed(found)
