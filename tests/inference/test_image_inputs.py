"""Every form of images gives the same arrays; every other one is refused in one line."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import ropes
from ropes.common import png
from ropes.common.arrays import Images
from ropes.data.views import by_camera
from ropes.errors import UserError
from ropes.inference.image_inputs import as_views
from tests import estimators, tiny

GREY, RIGHT, LEFT = estimators.run_of(), *tiny.CAMERAS
ONE = estimators.run_of(cameras=(RIGHT,))
COLOUR = estimators.run_of(image_shapes=((16, 16, 3), (16, 16, 3)))
#: Cameras of different sizes.
MIXED = estimators.run_of(image_shapes=((16, 16), (8, 12)))


@pytest.fixture(scope="module")
def images() -> Images:
    """Three poses, (3, 2, 16, 16)."""
    return tiny.draw(tiny.model().sample_observational(np.random.default_rng(0), 3))


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory, images: Images) -> Path:
    """A folder with a folder of images for each camera."""
    folder = tmp_path_factory.mktemp("photos")
    for k, camera in enumerate(tiny.CAMERAS):
        (folder / camera).mkdir()
        for n, pose in enumerate(images):
            (folder / camera / f"{n}.png").write_bytes(png.encode(pose[k]))
    return folder


def pictures(images: Images) -> list[list[Image.Image]]:
    return [[Image.fromarray(image) for image in pose] for pose in images]


def forms(images: Images, folder: Path) -> dict[str, Any]:
    """The three poses in every form."""
    files = {camera: [folder / camera / f"{n}.png" for n in range(3)] for camera in tiny.CAMERAS}
    pillow = pictures(images)
    return {
        "array": images,
        "tensor": torch.from_numpy(images),
        "list of arrays": list(images),
        "tuple of tensors": tuple(map(torch.from_numpy, images)),
        "nested list of arrays": [[*pose] for pose in images],
        "nested list of Pillow images": pillow,
        "nested list of paths": [[str(right), left] for right, left in zip(files[RIGHT], files[LEFT], strict=True)],
        "nested list of each": [
            [images[0, 0], pillow[0][1]],
            [files[RIGHT][1], torch.from_numpy(images[1, 1])],
            images[2],
        ],
        "an array per camera": [images[:, 0], images[:, 1]],
        "dictionary of arrays": {LEFT: images[:, 1], RIGHT: images[:, 0]},
        "dictionary of tensors": {LEFT: torch.from_numpy(images[:, 1]), RIGHT: images[:, 0]},
        "dictionary of Pillow images": {RIGHT: [pose[0] for pose in pillow], LEFT: [pose[1] for pose in pillow]},
        "dictionary of paths": files,
        "dictionaries": [{LEFT: left, RIGHT: right} for right, left in pillow],
        "folder": str(folder),
    }


def test_all_input_forms_give_the_same_arrays(images: Images, photos: Path) -> None:
    for name, given in forms(images, photos).items():
        np.testing.assert_array_equal(as_views(GREY, given), images, err_msg=name)


def test_one_pose_is_a_batch_of_one(images: Images, photos: Path) -> None:
    right, left = images[0]
    single: list[Any] = [
        images[0],
        torch.from_numpy(images[0]),
        [right, left],
        [Image.fromarray(right), left],
        [photos / RIGHT / "0.png", str(photos / LEFT / "0.png")],
        [images[0]],
        {RIGHT: right, LEFT: Image.fromarray(left)},
        {RIGHT: str(photos / RIGHT / "0.png"), LEFT: left[None]},
    ]
    for given in single:
        np.testing.assert_array_equal(as_views(GREY, given), images[:1])
    estimator = estimators.blobs()
    # A batch of another size may be summed in another order.
    np.testing.assert_allclose(estimator.coordinates(images[0]), estimator.coordinates(images)[:1], rtol=1e-12)
    assert estimator.read([right, left]).coordinates.shape == (1, 2)


def test_no_pose_is_an_empty_batch(images: Images) -> None:
    empty: list[Any] = [images[:0], [], {RIGHT: [], LEFT: []}, {RIGHT: images[:0, 0], LEFT: images[:0, 1]}]
    for given in empty:
        assert np.shape(as_views(GREY, given)) == (0, 2, 16, 16)


def test_camera_axis_is_optional_with_one_camera(images: Images, photos: Path) -> None:
    alone = images[:, :1]
    files = [photos / RIGHT / f"{n}.png" for n in range(3)]
    right = images[:, 0]
    several: list[Any] = [alone, right, [*right], [right], files, photos / RIGHT, {RIGHT: right}]
    for given in several:
        np.testing.assert_array_equal(as_views(ONE, given), alone)
    single: list[Any] = [alone[0], right[0], Image.fromarray(right[0]), str(files[0]), [files[0]]]
    for given in single:
        np.testing.assert_array_equal(as_views(ONE, given), alone[:1])


def test_colour_images_have_a_last_axis(images: Images) -> None:
    colour = np.stack([images, 255 - images, images // 2], axis=-1)
    by_name = {RIGHT: colour[:, 0], LEFT: torch.from_numpy(colour[:, 1])}
    several: list[Any] = [colour, [*colour], pictures(colour), by_name]
    for given in several:
        np.testing.assert_array_equal(as_views(COLOUR, given), colour)
    np.testing.assert_array_equal(as_views(COLOUR, colour[0]), colour[:1])
    with pytest.raises(UserError, match="mode L; this run reads 16x16 in mode RGB"):
        as_views(COLOUR, pictures(images))


def test_cameras_may_differ_in_size(images: Images) -> None:
    right, left = images[:, 0], np.ascontiguousarray(images[:, 1, :8, :12])
    poses = list(zip(right, left, strict=True))
    several: list[Any] = [(right, left), poses, {RIGHT: right, LEFT: left}, [torch.from_numpy(right), left]]
    for given in several:
        for found, camera in zip(by_camera(as_views(MIXED, given)), (right, left), strict=True):
            np.testing.assert_array_equal(found, camera)
    two = by_camera(as_views(MIXED, (right[:2], left[:2])))  # which cannot be two poses
    assert [camera.shape for camera in two] == [(2, 16, 16), (2, 8, 12)]
    with pytest.raises(
        UserError, match=re.escape("one uint8 array a camera, (n, 16, 16) of right, (n, 8, 12) of left")
    ):
        as_views(MIXED, images)


def refused(images: Images) -> list[tuple[Any, str]]:
    """Images that are not accepted, each with a part of the line that says so."""
    pillow = pictures(images)
    return [
        (images / 255, "bring floats in [0, 1] to levels from 0 to 255: (255 * images).round(), as uint8"),
        (
            torch.from_numpy(images).bfloat16(),
            "type torch.bfloat16: this run reads uint8 (n, 2, 16, 16), or (2, 16, 16)",
        ),
        (images.astype(np.int64), "type int64: this run reads uint8 (n, 2, 16, 16)"),
        ([*(images / 255)], "images of shape (2, 16, 16) and type float64"),
        ({RIGHT: images[:, 0] / 255, LEFT: images[:, 1]}, "this run reads uint8 (n, 16, 16) of right, or (16, 16)"),
        (images[:, :, :8], "images of shape (3, 2, 8, 16)"),
        ([images[:2, 0], images[:2, 1]], "2 arrays of shape (2, 16, 16) can be poses or cameras"),
        ([images[:, 0], images[:2, 1]], "images of shape (3, 16, 16) and (2, 16, 16)"),
        (pillow[0][0], "pose 0 is not one image of each camera (right, left)"),
        ([pillow[0], [pillow[1][0]]], "pose 1 is not one image of each camera (right, left)"),
        ([[pillow[0][0].convert("RGB"), pillow[0][1]]], "camera right: a Pillow image of 16x16 in mode RGB; this run"),
        (
            [[pillow[0][0], pillow[0][1].resize((8, 8))]],
            "camera left: a Pillow image of 8x8 in mode L; this run reads 16x16",
        ),
        ({RIGHT: images[:, 0]}, "no image for camera left; this run needs right, left"),
        ({RIGHT: images[:, 0], LEFT: images[:, 1], "top": images[:, 1]}, "unknown camera top"),
        ({RIGHT: images[:, 0], LEFT: images[:2, 1]}, "different numbers of images: 3 of right, 2 of left"),
        (
            {RIGHT: images[:1, 0], LEFT: None},
            "images of type NoneType: give PNG or JPEG files, Pillow images, or uint8 arrays",
        ),
        ([0, 1], "images of type int: give PNG or JPEG files"),
        (None, "images of type NoneType: give PNG or JPEG files"),
        ("nowhere", "nowhere is neither a folder nor a data set"),
        ([["nowhere.png", pillow[0][1]]], "cannot read nowhere.png: No such file"),
    ]


def test_unsupported_images_are_refused_in_one_line(images: Images) -> None:
    estimator = estimators.blobs()
    for given, line in refused(images):
        for call in (estimator.coordinates, estimator.read, estimator.shown):
            with pytest.raises(UserError, match=re.escape(line)) as found:
                call(given)
            assert "\n" not in str(found.value)


def test_data_set_in_place_of_images_is_refused_with_a_hint(tiny_data: Path) -> None:
    estimator = estimators.blobs()
    others: list[Any] = [tiny_data, str(tiny_data), ropes.open_dataset(tiny_data)]
    for given in others:
        with pytest.raises(UserError, match=r"Estimator\.images"):
            estimator.coordinates(given)
    np.testing.assert_array_equal(
        estimator.images(str(tiny_data), "train", 2), estimator.images(ropes.open_dataset(tiny_data), "train", 2)
    )
