"""From image files and labels to JSON lines, and what is refused on the way."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.cli import entry as cli
from ropes.common import png
from ropes.common.arrays import Images
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, images_of, predict_lines, states_of, views_of
from ropes.methods.run import Run
from tests import tiny


@pytest.fixture(scope="module")
def images(tiny_data: Path) -> Images:
    return open_dataset(tiny_data).read_images(range(4))


@pytest.fixture
def folder(tmp_path: Path, images: Images) -> Path:
    """A folder of images for each camera."""
    for k, camera in enumerate(tiny.CAMERAS):
        (tmp_path / "photos" / camera).mkdir(parents=True)
        for n, pose in enumerate(images):
            (tmp_path / "photos" / camera / f"{n}.png").write_bytes(png.encode(pose[k]))
    return tmp_path / "photos"


def files_of(folder: Path, name: str = "0.png") -> dict[str, Path]:
    return {camera: folder / camera / name for camera in tiny.CAMERAS}


def values(line: str) -> list[float]:
    return [json.loads(line)["joints"][joint] for joint in tiny.JOINTS]


def test_cameras_of_one_pose_may_be_given_in_any_order(tiny_run: Path, folder: Path, images: Images) -> None:
    expected = Estimator.load(tiny_run).coordinates(images[:1])[0]
    given = files_of(folder)
    for order in (given, dict(reversed(given.items()))):
        (line,) = predict_lines(tiny_run, order)
        assert json.loads(line)["unit"] == "raw"
        assert json.loads(line)["images"] == {camera: str(path) for camera, path in given.items()}
        np.testing.assert_allclose(values(line), expected, atol=1e-5)


def test_folder_with_a_folder_per_camera_is_read(tiny_run: Path, folder: Path, images: Images) -> None:
    lines = list(predict_lines(tiny_run, folder))
    np.testing.assert_allclose(
        [values(line) for line in lines], Estimator.load(tiny_run).coordinates(images), atol=1e-5
    )
    assert json.loads(lines[2])["images"]["left"] == str(folder / "left" / "2.png")


@pytest.fixture(scope="module")
def one_camera(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A run with a single camera."""
    from ropes.methods.ropes.fit import fit

    root = tmp_path_factory.mktemp("one")
    images = {"train": tiny.draw(tiny.model().sample(np.random.default_rng(0), 8))[:, :, :1]}
    data = tiny.write_data(root / "data", images=images, states=None, cameras=("right",))
    fit(data, root / "run", tiny.recipe(), 0, show=False)
    return root / "run"


def test_single_camera_images_may_lie_in_the_folder_itself(one_camera: Path, folder: Path) -> None:
    lines = list(predict_lines(one_camera, folder / "right"))
    assert len(lines) == 4
    assert [values(line) for line in predict_lines(one_camera, folder)] == [values(line) for line in lines]


def test_a_data_set_is_read_split_by_split(tiny_run: Path, tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=2, tests=3)
    lines = [json.loads(line) for line in predict_lines(tiny_run, data)]
    assert [line["images"] for line in lines] == [
        *({"split": "train", "index": k} for k in range(10)),
        *({"split": "test-id", "index": k} for k in range(10, 13)),
    ]


def test_calibrated_run_predicts_radians(own_run: Path, tiny_data: Path, folder: Path) -> None:
    line = calibrate(own_run, data=tiny_data, samples=20)
    assert line.samples == 20
    found = list(predict_lines(own_run, folder))
    assert {json.loads(line)["unit"] for line in found} == {"rad"}
    raw = Estimator.load(own_run).coordinates(open_dataset(tiny_data).read_images(range(4)))
    np.testing.assert_allclose([values(line) for line in found], raw * line.slope + line.intercept, atol=1e-5)


def test_calibration_draw_depends_only_on_its_seed(own_run: Path, tiny_data: Path) -> None:
    slopes = [calibrate(own_run, data=tiny_data, samples=10, seed=seed).slope for seed in (0, 0, 1)]
    np.testing.assert_array_equal(slopes[0], slopes[1])
    assert (slopes[0] != slopes[2]).all()


def labels(path: Path, rows: list[str], header: str = "left,wrist,right,elbow") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_labels_are_read_from_a_table_beside_the_images(own_run: Path, folder: Path, images: Images) -> None:
    rows = [f"left/{k}.png,{k},right/{k}.png,{-2 * k}" for k in range(4)]
    line = calibrate(own_run, labels=labels(folder / "labels.csv", rows))
    coordinates = Estimator.load(own_run).coordinates(images)
    for joint, angles in ((0, [0, -2, -4, -6]), (1, [0, 1, 2, 3])):
        slope, intercept = np.polyfit(coordinates[:, joint], angles, 1)
        assert (line.slope[joint], line.intercept[joint]) == pytest.approx((slope, intercept), rel=1e-3)


GOOD = "left/0.png,1,right/0.png,2"


@pytest.mark.parametrize(
    ("rows", "header", "line"),
    [
        ([], "left,wrist,right,elbow", "holds no labelled samples"),
        ([GOOD], "left,wrist,right,knee", "has no column elbow; it needs right, left, elbow, wrist"),
        ([GOOD], "links,wrist,right,elbow", "has no column left"),
        ([GOOD, "left/0.png,one,right/0.png,2"], "left,wrist,right,elbow", "line 3: an angle is not a number"),
        ([GOOD, "left/0.png,1"], "left,wrist,right,elbow", "line 3: an angle is not a number"),
        ([GOOD, "left/0.png,nan,right/0.png,2"], "left,wrist,right,elbow", "line 3: an angle is not finite"),
        ([GOOD, ",1,right/0.png,2"], "left,wrist,right,elbow", "line 3: no image for camera left"),
        (["1,2,left/0.png"], "wrist,elbow,left,right", "line 2: no image for camera right"),
        ([GOOD, "left/9.png,1,right/0.png,2"], "left,wrist,right,elbow", "cannot read .*9.png: No such file"),
        (
            [GOOD, "left/0.png,1,right/0.png,90"],
            "left,wrist,right,elbow",
            "elbow spans 88, above a full turn; give",
        ),
        (["left/0.png,1,right/0.png,45"] * 2, "left,wrist,right,elbow", "elbow has a median of 45, above a full turn"),
        ([GOOD], "left,wrist,right,elbow", "two distinct angles of each joint; elbow has one"),
    ],
)
def test_invalid_labels_are_reported(own_run: Path, folder: Path, rows: list[str], header: str, line: str) -> None:
    before = tiny.tree(own_run)
    with pytest.raises(UserError, match=line):
        calibrate(own_run, labels=labels(folder / "labels.csv", rows, header))
    assert tiny.tree(own_run) == before


@pytest.mark.parametrize("content", [b"\xff\xfe\x00left", None])
def test_unreadable_label_table_is_reported(own_run: Path, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "labels.csv").write_bytes(content)
    with pytest.raises(UserError, match=r"labels\.csv"):
        calibrate(own_run, labels=tmp_path / "labels.csv")


def test_data_set_unsuitable_for_calibration_is_refused(own_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    # 4 of the 16 anchors were held out, with 5 poses each.
    with pytest.raises(UserError, match="has 20 training poses that the run has not learnt from, fewer than the 21"):
        calibrate(own_run, data=tiny_data, samples=21)
    other = tiny.write_data(tmp_path / "other", anchors=17)
    with pytest.raises(UserError, match="has 85 training poses, fewer than the 86 requested samples"):
        calibrate(own_run, data=other, samples=86)
    copy_without_labels(tiny_data, tmp_path / "stripped")
    with pytest.raises(UserError, match="has no joint angles"):
        calibrate(own_run, data=tmp_path / "stripped", samples=10)
    with pytest.raises(UserError, match="give labelled samples"):
        calibrate(own_run)


def spoil(folder: Path, what: str) -> None:
    path = folder / "left" / "0.png"
    with Image.open(path) as image:
        grey = image.convert("L")
    match what:
        case "size":
            grey.resize((8, 8)).save(path)
        case "colour":
            grey.convert("RGB").save(path)
        case "depth":
            Image.fromarray(np.asarray(grey).astype(np.uint16)).save(path)
        case "text":
            path.write_text("no image")
        case "cut":
            path.write_bytes(path.read_bytes()[:60])
        case "flipped":
            data = bytearray(path.read_bytes())
            data[60] ^= 1
            path.write_bytes(data)


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("size", "8x8 8-bit grey image where 16x16 8-bit grey is expected; convert it to 8-bit grey"),
        ("colour", "16x16 8-bit RGB image where 16x16 8-bit grey is expected; convert it to 8-bit grey"),
        ("depth", "16x16 16-bit grey image where 16x16 8-bit grey is expected; convert it to 8-bit grey"),
        ("text", "neither PNG nor JPEG; give an image"),
        ("cut", "truncated PNG; write it again"),
        ("flipped", r"damaged PNG \(.*\); write it again"),
    ],
)
@pytest.mark.parametrize("way", ["files", "folder"])
def test_image_of_another_size_or_type_is_reported(
    tiny_run: Path, folder: Path, what: str, line: str, way: str
) -> None:
    spoil(folder, what)
    with pytest.raises(UserError, match=rf"left/0\.png: {line}"):
        list(predict_lines(tiny_run, folder if way == "folder" else files_of(folder)))


def test_cameras_are_checked_by_name(tiny_run: Path, folder: Path) -> None:
    given = files_of(folder)
    with pytest.raises(UserError, match="no image for camera left; this run needs right, left"):
        list(predict_lines(tiny_run, {"right": given["right"]}))
    with pytest.raises(UserError, match="unknown camera top; this run knows right, left"):
        list(predict_lines(tiny_run, {**given, "top": given["left"]}))
    with pytest.raises(UserError, match=r"cannot read .*9\.png: No such file"):
        list(predict_lines(tiny_run, files_of(folder, "9.png")))


def test_invalid_image_folders_are_reported(tiny_run: Path, one_camera: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "left" / "3.png").unlink()
    with pytest.raises(UserError, match=r"left/3\.png is missing; another camera has an image of that name"):
        list(predict_lines(tiny_run, folder))
    with pytest.raises(UserError, match="has no folder right; it needs one of images for each camera"):
        list(predict_lines(tiny_run, folder / "left"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="holds no PNG or JPEG images"):
        list(predict_lines(one_camera, tmp_path / "empty"))
    with pytest.raises(UserError, match="is neither a folder nor a data set"):
        list(predict_lines(tiny_run, tmp_path / "nowhere"))
    (tmp_path / "empty" / "photo.TIF").touch()
    with pytest.raises(UserError, match=r"photo\.TIF is no PNG or JPEG; convert it"):
        list(predict_lines(one_camera, tmp_path / "empty"))


def test_a_run_with_one_camera_takes_one_file(
    one_camera: Path, tiny_run: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    camera, file = Run.read(one_camera).cameras[0], folder / "left" / "0.png"
    assert cli.main(["predict", str(one_camera), "--images", str(file)]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["images"] == {camera: str(file)}
    assert values(line) == values(next(predict_lines(one_camera, {camera: file})))
    with pytest.raises(UserError, match=r"0\.png is one image, and the run reads 2 cameras: give right=FILE left=FILE"):
        list(predict_lines(tiny_run, file))


@pytest.mark.slow
def test_camera_order_does_not_change_the_results(own_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    dataset, rng = open_dataset(tiny_data), np.random.default_rng(1)
    states = {"train": tiny.model().sample(rng, 16), "test-id": tiny.model().sample_observational(rng, 1500)[:, None]}
    images = {split: tiny.draw(angles) for split, angles in states.items()}
    plain = tiny.write_data(tmp_path / "plain", images=images, states=states)
    swapped = {split: pixels[..., ::-1, :, :] for split, pixels in images.items()}
    turned = tiny.write_data(tmp_path / "turned", images=swapped, states=states, cameras=dataset.cameras[::-1])
    assert open_dataset(turned).cameras == ("left", "right")
    lines = [calibrate(own_run, data=data, samples=20) for data in (plain, turned)]
    np.testing.assert_array_equal(lines[0].slope, lines[1].slope)
    assert [values(line) for line in predict_lines(own_run, plain)] == [
        values(line) for line in predict_lines(own_run, turned)
    ]
    rows = [
        evaluate(own_run, data, tmp_path / f"{data.name}-e", occlusions=(0,), show=False).rows
        for data in (plain, turned)
    ]
    assert rows[0] == rows[1]


def test_cameras_and_joints_of_a_data_set_are_matched_by_name(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    run, dataset = Estimator.load(tiny_run).run, open_dataset(tiny_data)
    turned = tiny.write_data(tmp_path / "turned", anchors=3, tests=2, cameras=("left", "right"))
    other = open_dataset(turned)
    assert views_of(run, other) == [1, 0]
    rows = other.frames("train").index[:3]
    np.testing.assert_array_equal(images_of(run, other, rows), other.read_images(rows)[:, ::-1])
    assert states_of(run, dataset, "train").shape == (80, 2)
    missing = tiny.write_data(tmp_path / "missing", anchors=3, tests=2, cameras=("left", "top"))
    with pytest.raises(UserError, match=r"has no camera right \(it has left, top\)"):
        list(predict_lines(tiny_run, missing))
    small = {"train": np.zeros((2, 5, 2, 8, 8), np.uint8)}
    sized = tiny.write_data(tmp_path / "small", images=small, states=None)
    with pytest.raises(UserError, match="has 8x8 grey images; the run reads 16x16"):
        list(predict_lines(tiny_run, sized))
