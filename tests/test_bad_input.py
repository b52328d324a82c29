"""Every bad input, through the command line: exit code 2, one line, no traceback, nothing half-written."""

import errno
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import save_file

from ropes.cli import entry as cli
from ropes.common import png
from ropes.common.files import read_json, write_json
from ropes.methods.training.stage import Stage
from tests import tiny
from tests.command_line import refusal

KUKA = "simulate --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 --ranges -1:1 --anchors 2 --out {out}"
Refuse = Callable[..., str]


@pytest.fixture
def refuse(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Run a command that is refused, check that it left nothing, and give its line; {out} is a new folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(words: str, **names: object) -> str:
        out = tmp_path / "out"
        given = [word.format(out=out, **names) for word in words.split()]
        inputs = [Path(str(name)) for name in names.values()]
        before = [tiny.tree(path) for path in inputs]
        line = refusal(capsys, *given)
        assert tiny.tree(out) == {}
        assert [tiny.tree(path) for path in inputs] == before
        return line

    return run


TINY = (
    "--preset paper --ae1.image-size 16 --ae1.encoder-widths 4 --ae1.encoder-blocks 1 --ae1.decoder-widths 4 "
    "--ae1.decoder-blocks 1 --ae2.encoder-widths 4 4 4 --ae2.decoder-widths 4 4 4 --ae2.seed-width 4 --ae2.blocks 0 "
    "--ldr.widths 2 2 2 --ldr.hidden 4 --ae1-training.batch 40 --ldr-training.epochs 2 --ae2-training.batch 40 "
    "--joint-ae2 --sparsity-weights 1"
)
FIT = f"fit --method ropes --data {{data}} --out {{out}} {TINY}"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("simulate --setting panda-2c-casual --anchors 5 --out {out}", "did you mean panda-2c-causal?"),
        ("simulate --setting panda-2c-causal --anchors 5 --sed 1 --out {out}", "perhaps you meant --seed"),
        (KUKA.replace("kuka_iiwa/model.urdf", "nowhere.urdf"), "nowhere.urdf"),
        pytest.param(KUKA.replace("joint_2", "joint_9"), "lbr_iiwa_joint_9", marks=pytest.mark.pybullet),
        pytest.param(KUKA.replace("-1:1", "-1:9"), "limits", marks=pytest.mark.pybullet),
        ("validate {out}", "is missing"),
        ("fit --data {out} --out {out}/run", "is missing"),
        ("report {out}", "results.json is missing"),
    ],
)
def test_unknown_names_are_refused(words: str, part: str, refuse: Refuse) -> None:
    assert part in refuse(words)


@pytest.mark.parametrize(
    "words",
    [
        "simulate --setting panda-1c-independent --anchors 2 --out {folder}",
        "fit --data {data} --out {folder}",
        "evaluate {run} --data {data} --out {folder} --occlusions 0",
        "strip {data} --out {folder}",
        "reproduce demo --out {folder}",
    ],
)
def test_output_folders_with_other_content_are_refused(
    words: str, tiny_run: Path, tiny_data: Path, tmp_path: Path, refuse: Refuse
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    line = refuse(words, folder=tmp_path / "mine", run=tiny_run, data=tiny_data)
    assert "holds something" in line
    assert "choose an empty or new folder" in line


def test_too_few_anchors_for_the_evaluation_are_refused(tiny_run: Path, tmp_path: Path, refuse: Refuse) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2, tests=100)
    line = refuse("evaluate {run} --data {data} --out {out} --occlusions 0", run=tiny_run, data=data)
    assert "has 100 poses; the evaluation needs at least 1500" in line


@pytest.mark.parametrize("damage", ["truncated", "changed"])
@pytest.mark.parametrize("words", ["validate {data}", FIT])
def test_truncated_or_changed_shard_is_refused(damage: str, words: str, tmp_path: Path, refuse: Refuse) -> None:
    data = tiny.write_data(tmp_path / "data", tests=0)
    shard = data / "data" / "chunk-000" / "file-000.parquet"
    content = bytearray(shard.read_bytes())
    if damage == "truncated":
        del content[len(content) // 2 :]
    else:
        content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    assert "data/chunk-000/file-000.parquet" in refuse(words, data=data)


def test_missing_camera_is_refused(tiny_run: Path, tmp_path: Path, refuse: Refuse) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2, cameras=("right", "top"))
    expected = "has no camera left (it has right, top)"
    assert expected in refuse("evaluate {run} --data {data} --out {out} --occlusions 0", run=tiny_run, data=data)
    assert expected in refuse("calibrate {run} --data {data} --samples 5", run=tiny_run, data=data)
    (tmp_path / "a.png").write_bytes(png.encode(np.zeros((16, 16), np.uint8)))
    line = refuse("predict {run} --images right={image}", run=tiny_run, image=tmp_path / "a.png")
    assert line == "no image for camera left; this run needs right, left"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two poses of different elbow and wrist: a folder of images for each camera."""
    for n, pose in enumerate(tiny.draw(np.array([[-0.5, 0.8], [0.7, -0.3]]))):
        for camera, image in zip(tiny.CAMERAS, pose, strict=True):
            (tmp_path / "photos" / camera).mkdir(parents=True, exist_ok=True)
            (tmp_path / "photos" / camera / f"{n}.png").write_bytes(png.encode(image))
    return tmp_path / "photos"


def test_camera_under_another_name_is_refused(tiny_run: Path, photos: Path, refuse: Refuse) -> None:
    line = refuse("predict {run} --images right={at}/right/0.png top={at}/left/0.png", run=tiny_run, at=photos)
    assert line == "no image for camera left; this run needs right, left"
    line = refuse(
        "predict {run} --images right={at}/right/0.png left={at}/left/0.png top={at}/left/0.png",
        run=tiny_run,
        at=photos,
    )
    assert line == "unknown camera top; this run knows right, left"
    (photos / "labels.csv").write_text("right,top,elbow,wrist\nright/0.png,left/0.png,0,0\n")
    line = refuse("calibrate {run} --labels {at}/labels.csv", run=tiny_run, at=photos)
    assert "has no column left; it needs right, left, elbow, wrist" in line
    (photos / "left").rename(photos / "top")
    line = refuse("predict {run} --images {at}", run=tiny_run, at=photos)
    assert "has no folder left; it needs one of images for each camera" in line


@pytest.mark.parametrize(
    ("angles", "joint"), [([(0.5, 1.0)], "elbow"), ([(0.5, 1.0), (0.5, 2.0)], "elbow"), ([(0, 1), (2, 1)], "wrist")]
)
def test_fewer_than_two_distinct_angles_are_refused(
    angles: list[tuple[float, float]], joint: str, tiny_run: Path, photos: Path, refuse: Refuse
) -> None:
    rows = [f"left/{k}.png,right/{k}.png,{elbow},{wrist}" for k, (elbow, wrist) in enumerate(angles)]
    (photos / "labels.csv").write_text("\n".join(["left,right,elbow,wrist", *rows]) + "\n")
    line = refuse("calibrate {run} --labels {at}/labels.csv", run=tiny_run, at=photos)
    assert line == f"calibration needs two distinct angles of each joint; {joint} has one in all samples"


def test_data_set_with_one_distinct_angle_is_refused(tiny_run: Path, tmp_path: Path, refuse: Refuse) -> None:
    def hold(states: dict[str, Any]) -> None:
        states["train"][..., 1] = 0.25

    data = tiny.write_data(tmp_path / "data", tests=0, change=hold)
    line = refuse("calibrate {run} --data {data} --samples 20", run=tiny_run, data=data)
    assert line == "calibration needs two distinct angles of each joint; wrist has one in all samples"


def test_incomplete_commanded_distributions_are_refused(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, refuse: Refuse
) -> None:
    words = "calibrate {run} --data {data} --commanded"
    line = refuse(words, run=tiny_run, data=tiny_data)
    assert "has 16 training images under elbow/1; commanded distributions need 30 or more" in line
    (tmp_path / "c.json").write_text("{}")
    line = refuse(f"{words} {{file}}", run=tiny_run, data=tiny_data, file=tmp_path / "c.json")
    assert line == f"{tmp_path / 'c.json'} has no entry for joint elbow; it needs one for each of elbow, wrist"


@pytest.mark.parametrize("shape", [(8, 8), (16, 16, 3)])
def test_images_of_another_size_or_type_are_refused(
    shape: tuple[int, ...], tiny_run: Path, tmp_path: Path, refuse: Refuse
) -> None:
    from PIL import Image

    image = tmp_path / "a.png"
    Image.fromarray(np.zeros(shape, np.uint8)).save(image)
    line = refuse("predict {run} --images right={image} left={image}", run=tiny_run, image=image)
    assert "a.png: " in line
    assert "image where 16x16 8-bit grey is expected" in line


def test_nonfinite_angles_are_refused(own_run: Path, tmp_path: Path, refuse: Refuse) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2)
    for split in ("train", "test-id"):
        tiny.forget_angle(data, split)
    for words in (
        "evaluate {run} --data {data} --out {out} --occlusions 0",
        "calibrate {run} --data {data} --samples 5",
        "validate {data}",
    ):
        line = refuse(words, run=own_run, data=data)
        assert re.search(r"file-00\d\.parquet, row \d+: ", line)
        assert "finite" in line


def test_missing_regimes_and_policies_are_refused(tmp_path: Path, refuse: Refuse) -> None:
    regimes = tiny.model().regimes
    for name, kept, frames, part in (
        ("one", regimes[:-1], 4, "joint wrist has no images under policy 2; fitting needs both of its interventions"),
        ("none", regimes, 1, "no training image under regime elbow/1"),
    ):
        images = {"train": np.zeros((4, frames, 2, 16, 16), np.uint8)}
        data = tiny.write_data(tmp_path / name, described=False, images=images, states=None, regimes=kept)
        assert part in refuse(FIT, data=data)


@pytest.mark.parametrize("words", ["predict {run} --images {data}", "calibrate {run} --data {data}"])
def test_run_of_another_version_or_without_weights_is_refused(
    words: str, own_run: Path, tiny_data: Path, refuse: Refuse
) -> None:
    (own_run / "ae1" / "weights.safetensors").unlink()
    assert "the run has no weights; finish it with `ropes fit`" in refuse(words, run=own_run, data=tiny_data)
    write_json(own_run / "run.json", {**read_json(own_run / "run.json"), "format": 99})
    assert "has format 99, this version of ropes reads 1" in refuse(words, run=own_run, data=tiny_data)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tiny_data: Path) -> Path:
    """A run fitted by the same command without a break."""
    run = tmp_path_factory.mktemp("whole") / "run"
    assert cli.main(FIT.format(data=tiny_data, out=run).split()) == 0
    return run


@pytest.mark.slow
def test_full_disk_loses_no_progress(
    whole: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ropes.models import checkpoints

    written: list[Path] = []

    def full(tensors: Any, path: Path, **options: Any) -> None:
        if len(written) == 2:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        written.append(path)
        save_file(tensors, path, **options)

    words = FIT.format(data=tiny_data, out=tmp_path / "run").split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "save_file", full)
        assert cli.main(words) == 2
    few, begun, *_, line = capsys.readouterr().err.splitlines()
    assert few.startswith("ropes: warning: ")
    assert begun.startswith("ropes: training in ")
    assert line.startswith("ropes: the disk is full at ")
    assert line.endswith("; free some space and run the same command again to resume")
    assert len(tiny.weights(tmp_path / "run")) == 2
    assert not list((tmp_path / "run").rglob("*.part"))
    assert cli.main(words) == 0
    assert tiny.weights(tmp_path / "run") == tiny.weights(whole)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt_loses_no_progress(
    number: int, code: int, whole: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = Stage.after_step

    def after_step(self: Stage) -> None:
        original(self)
        if type(self).__name__ == "AE2Stage" and self.global_step == 1:
            os.kill(os.getpid(), number)

    words = FIT.format(data=tiny_data, out=tmp_path / "run").split()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage, "after_step", after_step)
        assert cli.main(words) == code
    assert capsys.readouterr().err.splitlines()[-1] == "ropes: interrupted; run the same command again to resume"
    assert (tmp_path / "run" / "ae2" / "joint" / "last.safetensors").exists()
    assert cli.main(words) == 0
    assert tiny.weights(tmp_path / "run") == tiny.weights(whole)
