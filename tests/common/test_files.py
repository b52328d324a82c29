import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ropes.common import files
from ropes.errors import UserError


def test_a_file_is_replaced_when_the_block_ends_well(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    for text in ("one", "two"):
        with files.atomic_path(path) as temporary:
            assert temporary.parent == path.parent
            temporary.write_text(text)
        assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_file_mode_follows_the_umask(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        files.write_text(tmp_path / "a.txt", "a")
        with files.atomic_path(tmp_path / "b.txt") as temporary:  # as libraries do that write under another name
            temporary.unlink()
            temporary.write_text("b")
            temporary.chmod(0o600)
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.txt", "b.txt")} == {mode}


def test_copy_tree_copies_each_file_atomically(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for folder, name, text in (
        (source, "x/a", "new"),
        (source, "b", "new"),
        (target, "b", "old"),
        (target, "c", "own"),
    ):
        files.write_text(folder / name, text)
    copy = shutil.copyfile

    def die(path: Path, to: Path) -> None:
        copy(path, to)
        if path.name == "b":
            to.write_text("ne")
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", die)
        with pytest.raises(KeyboardInterrupt):
            files.copy_tree(source, target)
    assert (target / "b").read_text() == "old"
    files.copy_tree(source, target)
    found = {path.relative_to(target).as_posix(): path.read_text() for path in target.rglob("*") if path.is_file()}
    assert found == {"x/a": "new", "b": "new", "c": "own"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_file_is_unchanged_when_the_block_fails(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with files.atomic_path(path) as temporary:
            temporary.write_text("half")
            raise error

    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(error):
        fail()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write .*choose another output folder"):
        files.write_text(tmp_path / "file" / "a", "")


def test_json_is_sorted_and_ends_with_a_newline(tmp_path: Path) -> None:
    files.write_json(tmp_path / "a.json", {"b": [1, 2.5], "a": None})
    text = (tmp_path / "a.json").read_text()
    assert text == json.dumps({"a": None, "b": [1, 2.5]}, indent=1) + "\n"
    assert files.read_json(tmp_path / "a.json") == {"a": None, "b": [1, 2.5]}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nan_and_infinity_are_not_written_as_json(tmp_path: Path, value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.write_json(tmp_path / "a.json", {"a": value})
    assert list(tmp_path.iterdir()) == []


def test_missing_json_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"a.json is missing; is {tmp_path} the right folder\?"):
        files.read_json(tmp_path / "a.json")


def test_missing_json_error_suggests_checking_the_parent_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"meta/a.json is missing; is {tmp_path} the right folder\?"):
        files.read_json(tmp_path / "meta" / "a.json", folder=tmp_path)


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe"])
def test_damaged_json_is_reported(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.json is not valid JSON"):
        files.read_json(tmp_path / "a.json")


def test_sha256_matches_the_standard_example(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    assert files.sha256(tmp_path / "abc").startswith("ba7816bf8f01cfea414140de5dae2223")


def test_output_folder_is_created_or_reused(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    files.ensure_output_folder(folder, "run.json")
    files.ensure_output_folder(folder, "run.json")  # empty
    (folder / ".run.json.x1.part").write_text("")  # of a killed writer
    files.ensure_output_folder(folder, "run.json")
    (folder / "run.json").write_text("{}")
    (folder / "weights").write_text("")
    files.ensure_output_folder(folder, "run.json")


def test_folder_with_other_content_is_refused_unchanged(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match=r"holds something else \(no run.json in it\); choose an empty or new folder"):
        files.ensure_output_folder(tmp_path, "run.json")
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_file_in_place_of_the_output_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot make the folder"):
        files.ensure_output_folder(tmp_path / "file", "run.json")


def test_check_manifest_refuses_different_content(tmp_path: Path) -> None:
    path = tmp_path / "new" / "about.json"
    files.check_manifest(path, {"sizes": (1, 2), "name": "a"}, "holds another")
    assert files.read_json(path) == {"sizes": [1, 2], "name": "a"}
    files.write_json(path, {**files.read_json(path), "seconds": 3.0})
    before = path.read_bytes()
    files.check_manifest(path, {"sizes": (1, 2), "name": "a"}, "holds another")  # as it came back from the file
    for other in ({"sizes": (1, 3), "name": "a"}, {"sizes": (1, 2), "name": "a", "more": 1}):
        with pytest.raises(UserError, match=rf"^{path.parent} holds another$"):
            files.check_manifest(path, other, "holds another")
    assert path.read_bytes() == before


def test_check_manifest_refuses_a_damaged_record(tmp_path: Path) -> None:
    files.write_json(tmp_path / "about.json", ["name"])
    with pytest.raises(UserError, match="holds another"):
        files.check_manifest(tmp_path / "about.json", {"name": "a"}, "holds another")


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_earlier_folder_stays_when_the_new_one_fails(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out" / "package"
    with files.replaced_folder(target) as new:
        (new / "a").write_text("first")

    def fail() -> None:
        with files.replaced_folder(target) as new:
            (new / "b").write_text("second")
            raise error

    with pytest.raises(error):
        fail()
    assert [path.name for path in target.parent.iterdir()] == ["package"]
    assert (target / "a").read_text() == "first"
    with files.replaced_folder(target) as new:
        (new / "b").write_text("second")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert [path.name for path in target.parent.iterdir()] == ["package"]


def test_an_earlier_folder_comes_back_when_the_new_one_cannot_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, rename = tmp_path / "package", Path.rename
    target.mkdir()
    (target / "a").write_text("first")

    def interrupted(path: Path, to: Path) -> Path:
        if (path / "b").exists():
            raise KeyboardInterrupt
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), files.replaced_folder(target) as new:
        (new / "b").write_text("second")
    assert (target / "a").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["package"]


def killed_while_replacing(target: Path, then: str) -> None:
    """Kill a process in `replaced_folder`, at a statement of its block."""
    code = f"""
import os, signal, sys
from pathlib import Path
from ropes.common import files
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
with files.replaced_folder(Path(sys.argv[1])) as new:
    (new / "half").write_text("half")
    {then}
"""
    found = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert found.returncode == -signal.SIGKILL


def test_folders_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path: Path) -> None:
    target = tmp_path / "package"
    others = [tmp_path / ".package.settings", tmp_path / ".package-2.abcdefgh.part"]
    for other in others:
        other.mkdir()
    killed_while_replacing(target, "die()")
    assert len(list(tmp_path.glob(".package.????????.part"))) == 1
    with files.replaced_folder(target) as new:
        (new / "a").write_text("whole")
        with files.replaced_folder(target):  # another process's, which runs meanwhile
            assert new.is_dir()
    assert sorted(tmp_path.iterdir()) == sorted([*others, target])
    assert (target / "a").read_text() == "whole"


def test_an_earlier_folder_that_a_killed_process_moved_away_comes_back(tmp_path: Path) -> None:
    target = tmp_path / "package"
    with files.replaced_folder(target) as new:
        (new / "a").write_text("first")
    killed_while_replacing(target, "new.__class__.rename = lambda a, b: (os.rename(a, b), die())")
    assert not target.exists()

    def fail() -> None:
        with files.replaced_folder(target):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["package"]
    assert (target / "a").read_text() == "first"


def test_a_folder_in_place_of_a_file_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"^{tmp_path} is a folder; give the name of a file$"):
        files.write_text(tmp_path, "text")
    assert list(tmp_path.iterdir()) == []


def test_folders_of_temporary_files_alone_are_free(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    files.require_free(tmp_path, "meta/ropes.json")
    (tmp_path / "meta" / ".ropes.json.x1.part").write_text("{")  # of a killed writer
    files.require_free(tmp_path, "meta/ropes.json")
    (tmp_path / "meta" / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="holds something else"):
        files.require_free(tmp_path, "meta/ropes.json")
