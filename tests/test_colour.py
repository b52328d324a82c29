"""Images in colour, of any aspect ratio, of other sizes for each camera: from the data set to the report."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ropes.cli import entry as cli
from ropes.common import png
from ropes.common.files import read_json, write_json
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.data.views import by_camera, from_planes, planes, squares
from ropes.errors import UserError
from ropes.evaluation.inspection import inspect_data
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of, predict
from ropes.methods.context import Context
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.run import Run
from ropes.report.artefacts import load
from ropes.report.html import write_report
from ropes.report.inspection import picture
from ropes.report.stills import write_figures
from tests import tiny, tiny_colour
from tests.command_line import refusal

#: Sizes of two cameras that differ, one higher than wide.
APART = ((16, 20), (24, 18))


@pytest.fixture(scope="module")
def colour(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """A data set in colour of images that are not square; never to be changed."""
    return tiny_colour.write_data(tmp_path_factory.mktemp("colour") / "data", anchors=60)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The same with cameras of different sizes."""
    return tiny_colour.write_data(tmp_path_factory.mktemp("apart") / "data", sizes=APART)


#: With a student, whose detector also reads colour.
ANCHORED = tiny.encoder_recipe(foreign=0.5, student=Optimisation(epochs=2, batch=20, learning_rate=1e-2))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, colour: Path, apart: Path) -> dict[str, Path]:
    """Method → its run on `colour`, long enough to learn for two; "apart" → a run of anchored on `apart`."""
    folder = tmp_path_factory.mktemp("runs")
    fit(colour, folder / "anchored", ANCHORED, 0, method="anchored", show=False)
    fit(colour, folder / "cnn", tiny.cnn_recipe(), 0, method="cnn", show=False)
    for method in ("ldr", "ropes", "jointnet"):
        fit(colour, folder / method, tiny.short(tiny.recipe_of(method)), 0, method=method, show=False)
    fit(apart, folder / "apart", tiny.short(ANCHORED), 0, method="anchored", show=False)
    return {path.name: path for path in folder.iterdir()}


def test_letterbox_keeps_the_aspect_ratio_and_position(tmp_path: Path) -> None:
    pixels = np.arange(4 * 8 * 3, dtype=np.uint8).reshape(4, 8, 3)
    boxed = png.letterbox(Image.fromarray(pixels), 4)
    mean = pixels.reshape(2, 2, 4, 2, 3).mean(axis=(1, 3))
    assert boxed.shape == (4, 4, 3)
    assert np.abs(boxed[1:3] - mean).max() <= 0.5
    assert not boxed[[0, 3]].any()
    assert png.bars(4, 8) == (2, 0)
    assert png.bars(9, 4) == (0, 2)


def test_training_and_prediction_use_the_same_letterbox(apart: Path, tmp_path: Path) -> None:
    dataset = open_dataset(apart)
    cached = ImageCache(dataset, "train", 16, tmp_path, progress=False).read(np.arange(80))
    native = dataset.read_cameras(dataset.frames("train").index)
    assert [camera.shape for camera in native] == [(80, 16, 20, 3), (80, 24, 18, 3)]
    np.testing.assert_array_equal(squares(native, 16), cached)
    np.testing.assert_array_equal(from_planes(planes(cached), 3), cached)
    assert planes(cached).shape == (80, 6, 16, 16)
    np.testing.assert_array_equal(planes(cached)[:, 4], cached[:, 1, :, :, 1])


def test_fit_prints_that_images_are_letterboxed(apart: Path, tmp_path: Path, capsys: Any) -> None:
    run = Run.of(open_dataset(apart), method="cnn", recipe=tiny.cnn_recipe(), seed=0)
    Context.begin(run, tmp_path / "run", show=True)
    assert capsys.readouterr().err == "ropes: images of 16x20 and 24x18 are letterboxed to 16x16, with black bars\n"


@pytest.mark.parametrize("sizes", [(tiny_colour.OBLONG,) * 2, APART])
@pytest.mark.parametrize("in_colour", [True, False])
def test_written_data_set_is_read_back(sizes: Any, in_colour: bool, tmp_path: Path) -> None:
    path = tiny_colour.write_data(tmp_path / "data", sizes=sizes, colour=in_colour, anchors=3, tests=2)
    assert "valid" in validate(path, progress=False)
    dataset = open_dataset(path)
    assert dataset.image_shapes == tuple((*size, 3) if in_colour else size for size in sizes)
    for view, camera in enumerate(dataset.read_cameras(dataset.frames("train").index)):
        expected = tiny_colour.draw(dataset.states("train"), sizes[view], view)
        # Angles are stored in float32, which may round a level.
        assert np.abs(camera.astype(int) - (expected if in_colour else expected[..., 0])).max() <= 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["anchored", "cnn", "ldr", "ropes", "jointnet", "apart"])
def test_colour_data_works_from_fit_to_report(
    method: str, runs: dict[str, Path], colour: Path, apart: Path, tmp_path: Path
) -> None:
    data, run = apart if method == "apart" else colour, runs[method]
    found = evaluate(run, data, tmp_path / "e", occlusions=(0, 8), sizes=tiny.SIZES, hide="noise", show=False)
    assert {row.occlusion for row in found.rows} == {0, 8}
    (artefacts,) = load(tmp_path / "e")
    assert artefacts.evaluation is not None
    assert artefacts.evaluation.interventions is not None
    assert artefacts.evaluation.interventions["intervention_images"].shape == (5, 4, 2, 16, 16, 3)
    if method in ("anchored", "apart"):
        assert artefacts.evaluation.foreign is not None
    if method == "ropes":
        assert artefacts.evaluation.reconstructions is not None
        assert artefacts.evaluation.reconstructions["ae1"].shape == (4, 2, 16, 16, 3)
    if method in ("anchored", "apart", "ropes"):  # which have the most pictures
        write_report(tmp_path / "e", tmp_path / "e" / "index.html")
        assert write_figures(tmp_path / "e", tmp_path / "stills")
    predicted = list(predict(run, data))
    dataset, estimator = open_dataset(data), Estimator.load(run)
    images = images_of(estimator.run, dataset, dataset.frames("train").index)
    coordinates = estimator.coordinates(images)
    np.testing.assert_allclose(
        [list(line["joints"].values()) for line in predicted[: len(coordinates)]], coordinates, atol=1e-5
    )


@pytest.mark.slow
def test_anchored_learns_from_colour(runs: dict[str, Path], colour: Path) -> None:
    dataset = open_dataset(colour)
    images, truth = dataset.read_images(dataset.frames("test-id").index), dataset.states("test-id")
    for method in ("anchored", "cnn"):
        found = Estimator.load(runs[method]).coordinates(images)
        correlation = [abs(np.corrcoef(found[:, joint], truth[:, joint])[0, 1]) for joint in range(2)]
        assert min(correlation) > 0.9


@pytest.mark.slow
def test_native_camera_images_are_fitted_and_predicted(tmp_path: Path, cache_home: Path) -> None:
    """320×240 in colour, a camera's own size: at the side of the tiny network, and with a window from more pixels."""
    data = tiny_colour.write_data(tmp_path / "data", sizes=((240, 320),) * 2, anchors=8, tests=4)
    dataset = open_dataset(data)
    native = dataset.read_cameras(dataset.frames("test-id").index)
    assert [camera.shape for camera in native] == [(4, 240, 320, 3)] * 2
    once = Optimisation(epochs=1, batch=20, learning_rate=1e-2)
    recipe = tiny.encoder_recipe(val_fraction=0.5, training=once)
    larger = replace(recipe, encoder=replace(recipe.encoder, window_image_size=320))
    for name, chosen in (("whole", recipe), ("window", larger)):
        fit(data, tmp_path / name, chosen, 0, method="anchored", show=False)
        lines = list(predict(tmp_path / name, data, split="test-id"))
        found = np.array([list(line["joints"].values()) for line in lines])
        assert found.shape == (4, 2)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(Estimator.load(tmp_path / name).coordinates(native), found, atol=1e-5)


@pytest.mark.slow
def test_exported_colour_images_give_the_same_predictions(
    runs: dict[str, Path], apart: Path, tmp_path: Path, capsys: Any
) -> None:
    run = runs["apart"]
    assert cli.main(["export", str(apart), "--count", "2", "--out", str(tmp_path / "photos")]) == 0
    assert cli.main(["predict", str(run), "--images", str(tmp_path / "photos")]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    dataset, estimator = open_dataset(apart), Estimator.load(run)
    images = estimator.images(dataset, "test-id", 2)
    assert [camera.shape for camera in by_camera(images)] == [(2, 16, 20, 3), (2, 24, 18, 3)]
    expected = estimator.coordinates(images)
    np.testing.assert_allclose([list(line["joints"].values()) for line in lines], expected, atol=1e-5)

    right, left = (tmp_path / "photos" / camera / "000080.png" for camera in tiny.CAMERAS)
    words = ["predict", str(run), "--images", f"right={left}", f"left={left}"]
    line = f"{left}: 24x18 8-bit RGB image where 16x20 8-bit RGB is expected; camera left has such images, give one of"
    assert refusal(capsys, *words).startswith(line)
    with Image.open(right) as image:
        changed = {
            "16-bit": Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16)),
            "8-bit grey": image.convert("L"),
            "8-bit RGB with alpha": image.convert("RGBA"),
            "not a PNG": image.convert("CMYK"),
        }
    for what, wrong in changed.items():
        path = tmp_path / f"{what}.png"
        wrong.save(path, format="JPEG" if wrong.mode == "CMYK" else "PNG")
        line = refusal(capsys, "predict", str(run), "--images", f"right={path}", f"left={left}")
        assert what in line
        assert re.search(r"convert it to 8-bit RGB of \d+x\d+ pixels$", line)


@pytest.mark.slow
def test_estimator_error_names_the_expected_shapes(runs: dict[str, Path], apart: Path, colour: Path) -> None:
    estimator = Estimator.load(runs["apart"])
    images = open_dataset(apart).read_cameras([0, 1])
    assert estimator.coordinates(images).shape == (2, 2)
    line = r"this run reads one uint8 array a camera, \(n, 16, 20, 3\) of right, \(n, 24, 18, 3\) of left"
    for wrong in (
        images[::-1],
        images[:1],
        [camera[..., 0] for camera in images],
        np.zeros((2, 2, 16, 20, 3), np.uint8),
    ):
        with pytest.raises(UserError, match=line):
            estimator.coordinates(wrong)
    with pytest.raises(UserError, match=r"this run reads uint8 \(n, 2, 16, 20, 3\)"):
        Estimator.load(runs["cnn"]).coordinates(np.zeros((1, 2, 16, 20), np.uint8))
    with pytest.raises(UserError, match="has 16x20 colour images; the run reads 24x18 colour ones of camera left"):
        images_of(estimator.run, open_dataset(colour), np.arange(2))


@pytest.mark.slow
def test_inspect_handles_colour(apart: Path, tmp_path: Path) -> None:
    found = inspect_data(apart, show=False)
    assert found.sizes == APART
    assert found.to_dict()["image_sizes"] == {"right": [16, 20], "left": [24, 18]}
    elbow, _ = found.joints
    assert elbow.motion is not None
    assert [heat.shape for heat in elbow.motion.heat] == [*APART]
    assert elbow.motion.share.min() > 0.1
    picture(found).savefig(tmp_path / "picture.png")


BLACK = np.zeros((2, 5, 2, 8, 12, 3), np.uint8)


@pytest.mark.parametrize(
    ("images", "line"),
    [
        ({"train": BLACK.astype(np.uint16)}, "camera right, are uint16; give 8-bit levels, uint8"),
        ({"train": BLACK / 255}, "camera right, are float64; give 8-bit levels, uint8"),
        ({"train": np.zeros((2, 5, 2, 8, 12, 4), np.uint8)}, "have 4 channels; give grey images without that axis"),
        (
            {"train": BLACK, "test-id": BLACK[:, :1, :, :4]},
            "of one split have shape (8, 12, 3) and of another (4",
        ),
        ({"train": {"right": BLACK[:, :, 0], "left": BLACK[:, :, 0, ..., 0]}}, "right in colour, left grey; make all"),
        ({"train": {"right": BLACK[:, :, 0]}}, "images of split 'train' have cameras right, not right, left"),
        ({"train": {"right": BLACK[:, :, 0], "left": BLACK[:1, :, 0]}}, "not one frame a regime"),
    ],
)
def test_invalid_arrays_are_refused_before_writing(images: Any, line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        tiny.write_data(tmp_path / "data", described=False, images=images, states=None)
    assert line in str(refused.value)
    assert not (tmp_path / "data").exists()


def test_camera_that_changes_its_size_is_refused(tmp_path: Path, capsys: Any, cache_home: Path) -> None:
    data = tiny_colour.write_data(tmp_path / "data", anchors=4, tests=2)
    other = tiny_colour.write_data(tmp_path / "other", sizes=((16, 20), (20, 16)), anchors=4, tests=2)
    shard = Path("data/chunk-000/file-000.parquet")
    (data / shard).write_bytes((other / shard).read_bytes())
    (data / "meta" / "ropes.json").unlink()  # else its checksums find the shard
    line = f"{data / shard}, row 0, camera left: 20x16 8-bit RGB image where 16x20 8-bit RGB is expected"
    words = ["fit", "--data", str(data), "--out", str(tmp_path / "run"), "--encoder.image-size", "16"]
    assert refusal(capsys, *words, "--encoder.stem", "2", "--encoder.window", "16") == line
    assert tiny.tree(tmp_path / "run") == {}
    assert f"row 0: camera left: {line.partition('left: ')[2]}" in refusal(capsys, "validate", str(data))


def test_grey_and_colour_cameras_together_are_refused(colour: Path, tmp_path: Path, capsys: Any) -> None:
    data = tiny_colour.write_data(tmp_path / "data", anchors=2, tests=2)
    info = read_json(data / "meta" / "info.json")
    info["features"]["observation.images.left"]["shape"] = [16, 20, 1]
    write_json(data / "meta" / "info.json", info)
    line = f"{data}: cameras are right in colour, left grey; make all grey or all colour"
    assert refusal(capsys, "fit", "--data", str(data), "--out", str(tmp_path / "run")) == line
    assert tiny.tree(tmp_path / "run") == {}


def test_runs_of_earlier_versions_read_square_grey_images(tiny_run: Path) -> None:
    run = Estimator.load(tiny_run).run
    earlier = replace(run, image_shapes=None)
    assert (earlier.shapes, earlier.channels) == (run.shapes, run.channels) == (((16, 16),) * 2, 1)
