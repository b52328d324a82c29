"""`ropes import` of folders in DREAM's layout through the command line."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from tests import dream_files
from tests.command_line import refusal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("real") / "panda-3cam_azure"
    dream_files.write(path, dream_files.angles(8))
    return path


def test_options_are_passed_on(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    words = (
        f"import {folder} --cameras front --crop front=16,0,96,96 --image-size 48 --grey --test-share 0.25 --out {out}"
    )
    assert cli.main(words.split()) == 0
    said = capsys.readouterr().out.splitlines()
    assert "train 6, test-id 2" in said[0]
    assert "camera front 48x48, fixed" in said[0]
    assert said[1].endswith("estimate it (docs/dream.md)")
    assert said[2] == f"wrote {out}"
    dataset = open_dataset(out)
    assert (dataset.cameras, dataset.image_shapes) == (("front",), ((48, 48),))


def test_urdf_of_the_arm_is_taken(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"import {folder} --urdf franka_panda/panda.urdf --test-share 1 --out {tmp_path / 'data'}"
    assert cli.main(words.split()) == 0
    assert "test-id 8" in capsys.readouterr().out
    dataset = open_dataset(tmp_path / "data")
    assert dataset.provenance is not None
    assert dataset.provenance["robot"]["urdf"] == "panda.urdf"  # no path of this machine
    assert dataset.urdf is not None


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--dwell 1", "--dwell goes with recordings of arms; leave it out"),
        ("--rotate 90", "--rotate goes with recordings of arms; leave it out"),
        ("--policies p.csv", "--policies goes with recordings of arms and MPI3D's photographs; leave it out"),
        ("--no-boxes", "--no-boxes goes with Causal Triplet's pairs; leave it out"),
        ("--cameras a b", "--cameras of a folder of DREAM is one name, of its only camera"),
        ("--cameras a=/topic", "--cameras of a folder of DREAM is one name, of its only camera"),
        ("--crop left=none", "no camera 'left'; the camera of a folder of DREAM is rgb here (--cameras)"),
        ("--image-size 8", "--image-size is '8'; it must be a number of pixels, 16 or more"),
        ("--test-share 1.5", "--test-share is 1.5; it must be from 0 to 1"),
        ("--test-share nan", "--test-share is nan; it must be from 0 to 1"),
        ("--urdf nowhere.urdf", "nowhere.urdf"),
    ],
)
def test_invalid_option_is_refused_in_one_line(
    words: str, line: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "data"
    assert line in refusal(capsys, "import", str(folder), "--out", str(out), *words.split())
    assert not out.exists()


def test_options_of_dream_are_refused_for_other_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = Path(__file__).parents[1] / "fixtures" / "lerobot-v2.1-video"
    said = refusal(capsys, "import", str(other), "--test-share", "0.2", "--out", str(tmp_path / "data"))
    assert "--test-share goes with a folder of DREAM, a table of factors and the causal chambers; leave it out" in said


@pytest.mark.slow
@pytest.mark.pybullet
def test_rendering_by_the_photographs_camera_as_on_the_page(
    folder: Path, tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (
        (Path(__file__).parents[2] / "docs" / "dream.md").read_text(encoding="utf-8").partition("## Without labels")[2]
    )
    commands = re.findall(r"^    (ropes (?:import|simulate) .*)$", page.replace("\\\n", " "), flags=re.MULTILINE)
    (imported, simulated), small = commands, "--image-size 32"
    monkeypatch.chdir(tmp_path)
    imported = imported.replace("dream/real/panda-3cam_azure", str(folder)).replace("--image-size 128", small)
    assert cli.main(shlex.split(imported.replace("80,0,480,480", "16,0,96,96"))[1:]) == 0
    simulated = simulated.replace("--anchors 4000", "--anchors 1 --test-anchors 0 --workers 1")
    assert cli.main(shlex.split(simulated)[1:]) == 0
    photographs, renderings = open_dataset("data/azure-square"), open_dataset("data/azure-view")
    assert renderings.cameras == photographs.cameras
    assert renderings.image_shapes == photographs.image_shapes == ((32, 32),)
    assert set(photographs.labelled_joints) == set(renderings.labelled_joints)
    [real], [rendered] = (
        read_json(Path(f"data/{name}/meta/ropes.json"))["cameras"] for name in ("azure-square", "azure-view")
    )
    for matrix in ("intrinsics", "extrinsics"):
        np.testing.assert_allclose(rendered[matrix], real[matrix], atol=1e-6)
    points = dream_files.keypoints(renderings.states("train")) @ np.array(real["extrinsics"])[:3, :3].T
    seen = (points + np.array(real["extrinsics"])[:3, 3]) @ np.array(real["intrinsics"]).T
    columns, rows = np.floor(seen[..., :2] / seen[..., 2:]).astype(int).transpose(2, 0, 1).clip(0, 31)
    images = renderings.read_images(range(len(columns)))[:, 0].astype(int)
    moved = np.abs(images - np.median(images, axis=0)).max(axis=0) > 15
    assert moved[rows, columns].mean() > 0.6  # the arm is where its keypoints are projected
