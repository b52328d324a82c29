"""Wrong inputs leave nothing behind and end in one line: what `benchmarks.faults` found, and a part of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.fault_commands import digests
from benchmarks.faults import tables
from ropes.cli import entry as cli
from ropes.common.files import ensure_output_folder, require_free, write_json
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.run import TRAINING_FILE
from ropes.report.readme_tables import update
from tests.command_line import refusal

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"null", b"{}", b"\xff\xfe", b'{"stages": {}}'])
def test_damaged_training_file_is_reported(own_run: Path, content: bytes) -> None:
    (own_run / TRAINING_FILE).write_bytes(content)
    with pytest.raises(UserError, match=r"training\.json"):
        Estimator.load(own_run)


def test_unreadable_graph_leaves_no_folder(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new"
    assert "info.json" in refusal(capsys, "graph", str(tiny_run), "--data", str(tmp_path), "--out", str(out))
    assert not out.exists()
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    words = ("graph", str(tiny_run), "--data", str(tmp_path), "--out", str(tmp_path / "taken"))
    assert "holds something else" in refusal(capsys, *words)


def test_images_too_small_for_the_network_leave_no_run(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("fit", "--data", str(tiny_data), "--out", str(tmp_path / "new"), "--encoder.image-size", "4096")
    assert "smaller than 4096x4096" in refusal(capsys, *words)
    assert not (tmp_path / "new").exists()


def test_output_folder_is_checked_before_it_is_created(tmp_path: Path) -> None:
    require_free(tmp_path / "a" / "b", "marker")
    assert not (tmp_path / "a").exists()
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for check in (require_free, ensure_output_folder):
        for place in (tmp_path / "file", tmp_path / "file" / "in"):
            with pytest.raises(UserError, match="file is a file"):
                check(place, "marker")


def test_page_that_is_not_text_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_bytes(b"\xf2\x00")
    with pytest.raises(UserError, match=r"page\.md is no text"):
        update(tmp_path / "page.md", tmp_path)
    assert "--pages needs the name of a file" in refusal(capsys, "tables", "--pages")
    assert cli.main(["tables", "--help"]) == 0


@pytest.mark.slow
def test_sample_of_wrong_inputs_is_refused(cache_home: Path) -> None:
    words = [sys.executable, "-m", "benchmarks.faults", "--only", "export", "--kills", "0", "--no-conditions"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    table = [line for line in done.stdout.splitlines() if line.startswith("| export |")]
    assert len(table) == 1
    assert int(table[0].split("|")[2]) > 20


def test_digests_ignore_seconds_and_include_partial_files(tmp_path: Path) -> None:
    for name, seconds, loss in (("a", 1.0, 0.5), ("b", 2.0, 0.5), ("c", 1.0, 0.6)):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "stage.json", {"stages": [{"seconds": seconds, "loss": loss}]})
        (tmp_path / name / "weights").write_bytes(b"same")
    first, slower, other = (digests(tmp_path / name) for name in "abc")
    assert first == slower
    assert first["stage.json"] != other["stage.json"]
    (tmp_path / "b" / ".weights.part").touch()
    assert digests(tmp_path / "b").keys() - first.keys() == {".weights.part"}


def test_tables_count_what_was_tried_and_list_what_failed() -> None:
    found = {
        "inputs": {"fit": 3, "csv": 2},
        "inputs_failed": [{"command": "csv", "fault": "csv: unknown option: code 0"}],
        "trials": [
            {"command": "fit", "kills": 2, "fault": None},
            {"command": "fit", "kills": 1, "fault": "differs in run.json"},
            {"command": "simulate", "kills": 3, "fault": None},
        ],
        "conditions": [{"condition": "disk full", "command": "simulate", "fault": "a traceback"}],
        "device": "2 cores",
        "version": "1",
        "seconds": 60,
    }
    text = tables(found)
    for row in ("| csv | 2 | 1 |", "| all | 5 | 1 |", "| fit | 3 | 1 |", "| all | 6 | 1 |", "| disk full | 1 | 1 |"):
        assert row in text
    for line in ("- csv: unknown option", "- fit: differs in run.json", "- disk full, simulate: a traceback"):
        assert line in text


def has_namespaces() -> bool:
    try:
        return not subprocess.run(["unshare", "--map-root-user", "--mount", "true"], capture_output=True).returncode
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not has_namespaces(), reason="this system lets no user mount a file system of their own")
def test_output_that_becomes_writable_gets_the_same_bytes(cache_home: Path) -> None:
    words = [sys.executable, "-m", "benchmarks.faults", "--only", "output read-only: simulate", "--kills", "0"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert "| output read-only | 1 | 0 |" in done.stdout
