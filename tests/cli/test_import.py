"""`ropes import` through the command line."""

import importlib
import shutil
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.data.layout import open_dataset
from tests import tiny
from tests.command_line import refusal

FIXTURES = Path(__file__).parents[1] / "fixtures"
BAG, LEROBOT = FIXTURES / "bag_mcap", FIXTURES / "lerobot-v2.1-video"


@pytest.mark.slow
def test_import_passes_its_options_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    words = (
        f"import {BAG} --out {out} --cameras near=/right/image_raw/compressed --frames stretch "
        "--crop near=40,0,120,110 --rotate 180 --image-size 90 --grey --state none --tolerance 0.01"
    )
    assert cli.main(words.split()) == 0
    said = capsys.readouterr().out
    assert "bag: 52 poses in 4 anchors; cameras near 90x82; time stamps within 0.01 s" in said
    assert said.endswith(f"wrote {out}\n")
    dataset = open_dataset(out)
    assert (dataset.cameras, dataset.image_shapes, dataset.state_names) == (("near",), ((82, 90),), None)
    before = tiny.tree(out)
    assert cli.main(words.split()) == 0  # complete: nothing changes
    assert tiny.tree(out) == before


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("{bag}", "the arm never stands still for 0.3 s (at most 0.07 s); give a shorter --dwell"),
        ("{bag} --dwell 0", "--dwell is 0; it must be above 0"),
        ("{bag} --tolerance 0", "--tolerance is 0; it must be above 0"),
        ("{bag} --rotate 45", "--rotate: '45' is not 0, 90, 180 or 270"),
        ("{bag} --rotate 90 180", "--rotate has two values for all cameras; give one"),
        ("{bag} --crop left=1,2,3", "--crop: '1,2,3' is not LEFT,TOP,WIDTH,HEIGHT in pixels"),
        (
            "{bag} --crop left=0,0,20,20 --image-size 8",
            "--image-size is '8'; it must be a number of pixels, 16 or more",
        ),
        ("{bag} --frames stretch --crop left=0,0,100,8", "camera left: images of 100x8 pixels are too small"),
        ("{bag} --policies {folder}/none.csv", "none.csv is missing"),
        ("{folder}", "is no recording that can be read"),
        ("{folder}/nowhere", "nowhere does not exist"),
        ("{lerobot} --cameras top", "has no camera 'top'; it has left, right"),
        ("{lerobot} --cameras left=/left/image", "has no camera '/left/image'; it has left, right"),
        ("{lerobot} --log {folder}/notes.txt", "--log goes with videos and frames, not with lerobot; leave it out"),
        ("{bag} --policy-column policy", "--policy-column goes with lerobot and videos and frames, not with bag"),
        ("{bag} --out {bag}", "holds something else"),
        ("{bag} --out {bag}/data", "is inside the recording"),
        ("{bag} --frames stretch --dwell 0.5", "--dwell goes with --frames dwell, not with --frames stretch; leave it"),
        ("{bag} --manifest a.json", "--manifest goes with Causal Triplet's pairs; leave it out"),
        ("{bag} --no-boxes", "--no-boxes goes with Causal Triplet's pairs; leave it out"),
        ("{bag} --tolerance inf", "--tolerance is inf; it must be above 0 and finite"),
        ("{bag} --offset nan", "--offset is nan; it must be finite"),
    ],
)
def test_invalid_import_is_refused_in_one_line(
    words: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("nothing")
    out = [] if "--out" in words else ["--out", str(tmp_path / "out")]
    given = words.format(bag=BAG, lerobot=LEROBOT, folder=folder).split()
    assert line in refusal(capsys, "import", *given, *out)
    assert tiny.tree(tmp_path / "out") == {}


@pytest.mark.parametrize(("source", "package"), [(LEROBOT, "av"), (BAG, "rosbags")])
def test_missing_extra_is_reported_with_its_install_command(
    source: Path, package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = importlib.import_module

    def missing(name: str, package_of: str | None = None) -> ModuleType:
        if name.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return original(name, package_of)

    monkeypatch.setattr(importlib, "import_module", missing)
    line = refusal(capsys, "import", str(source), "--out", str(tmp_path / "out"))
    assert (
        line == f"reading this recording needs the package {package}: pip install -e '.[import]' in the clone of ropes"
    )


def test_a_preview_imports_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"import {BAG} --out {tmp_path / 'data'} --crop right=none left=40,0,100,110 --preview {tmp_path / 'look'}"
    assert cli.main(words.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("; see")[0] for line in lines] == [
        "camera left: keeps 100x110 of 160x120 pixels at 40,0",
        "camera right: keeps 160x120 of 160x120 pixels at 0,0",
    ]
    assert sorted(path.name for path in (tmp_path / "look").iterdir()) == ["preview-left.png", "preview-right.png"]
    assert not (tmp_path / "data").exists()
    words = f"import {BAG} --preview {tmp_path / 'again'} --crop none"
    assert cli.main(words.split()) == 0
    assert not Path("again.options.yaml").exists()
    line = refusal(capsys, "import", str(BAG))
    assert line == "give --out FOLDER for the data set, or --preview FOLDER for pictures alone"


def test_pair_recordings_refuse_options_for_arm_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "annotations.csv").write_text("scene,idx,figure,noun_class,verb_class,xmin,ymin,xmax,ymax\n")
    words = ["import", str(tmp_path), "--out", str(tmp_path / "out")]
    assert "its tables have no pairs" in refusal(capsys, *words)
    assert "--policy-topic goes with recordings of arms; leave it out" in refusal(
        capsys, *words, "--policy-topic", "/policy"
    )
    line = refusal(capsys, *words, "--grey")
    assert line.startswith(
        "--grey goes with recordings of arms, a folder of DREAM, MPI3D's photographs, a table of fac"
    )
    assert "is one number; leave the camera out" in refusal(capsys, *words, "--image-size", "left=64")
    assert "--preview shows recordings" in refusal(capsys, *words, "--preview", str(tmp_path / "look"))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("", "has 3 images, which is no full grid of MPI3D: 28,800 of each colour and shape"),
        ("--crop none", "--crop goes with recordings of arms, a folder of DREAM, a table of factors and the causal"),
        ("--no-boxes", "--no-boxes goes with Causal Triplet's pairs; leave it out"),
        (
            "--image-size 32",
            "--image-size goes with recordings of arms, a folder of DREAM, Causal Triplet's pairs, a table of fac",
        ),
        ("--anchors 2 --samples 2", "--anchors and --samples are two kinds of data sets; leave one of them out"),
        ("--anchors 0", "--anchors is 0; it must be 1 or more"),
        ("--samples 2 --policies axes.json", "--policies goes with --anchors, not with --samples; leave it out"),
        ("--labelled 4", "--labelled goes with --samples; leave it out"),
        ("--fixed object_color", "--fixed: 'object_color' is not NAME=NUMBER"),
        ("--fixed object_size=0 object_size=1", "--fixed has object_size twice; give each name once"),
    ],
)
def test_invalid_import_of_photographs_is_refused_in_one_line(
    words: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "few.npz", images=np.zeros((3, 64, 64, 3), np.uint8))
    source = str(tmp_path / "few.npz")
    assert line in refusal(capsys, "import", source, "--out", str(tmp_path / "out"), *words.split())
    assert not (tmp_path / "out").exists()


def test_recordings_of_arms_refuse_options_for_photographs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "import", str(BAG), "--anchors", "3", "--out", str(tmp_path / "out"))
    assert line == "--anchors goes with MPI3D's photographs; leave it out"


@pytest.mark.slow
def test_unfinished_import_error_names_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    assert cli.main(["import", str(BAG), "--out", str(out), "--dwell", "0.06"]) == 0
    capsys.readouterr()
    text = (out / "meta/ropes.json").read_text()
    (out / "meta/ropes.json").write_text(text.replace('"complete": true', '"complete": false'))
    assert "run the same ropes import command again to resume" in refusal(capsys, "validate", str(out))
    shutil.rmtree(out)
