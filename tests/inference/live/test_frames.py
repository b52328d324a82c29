"""The board gives the newest frames that fit together, and the fit the shape that the run reads."""

import threading
import time

import numpy as np
import pytest

from ropes.data.recordings.views import Box, View, for_image
from ropes.errors import UserError
from ropes.inference.live.frames import Board, Fit, Frame
from tests.estimators import run_of

CAMERAS = ("right", "left")


def frame(stamp: float) -> Frame:
    return Frame(stamp, np.zeros((2, 2), np.uint8))


def board(tolerance: float = 0.02, **stamps: list[float]) -> Board:
    made = Board(CAMERAS, tolerance)
    for camera, times in stamps.items():
        for stamp in times:
            made.put({camera: frame(stamp)})
    return made


def taken(made: Board) -> list[float] | None:
    found = made.take(timeout=0.0)
    return None if found is None else [found[camera].stamp for camera in CAMERAS]


@pytest.mark.parametrize(
    ("right", "left", "pair"),
    [
        ([1.0, 1.1, 1.2], [1.01, 1.11, 1.21], [1.2, 1.21]),
        ([1.0, 1.1, 1.2], [1.01], [1.0, 1.01]),  # a late camera gets its partner
        ([1.0], [1.05], None),
        ([1.0], [], None),
        ([1.0, 1.1], [1.04, 1.115], [1.1, 1.115]),
    ],
)
def test_board_returns_the_newest_pair_within_the_tolerance(
    right: list[float], left: list[float], pair: list[float] | None
) -> None:
    assert taken(board(right=right, left=left)) == pair


def test_frames_are_used_once_and_older_frames_dropped() -> None:
    made = board(right=[1.0, 1.1, 1.2], left=[1.0, 1.1, 1.2])
    assert taken(made) == [1.2, 1.2]
    assert taken(made) is None
    assert made.dropped == 2
    made.put({"right": frame(1.3)}, skipped=4)
    assert taken(made) is None
    made.put({"left": frame(1.3)})
    assert taken(made) == [1.3, 1.3]
    assert made.dropped == 6
    made.drop()
    assert made.dropped == 7


def test_a_waiting_reader_is_woken() -> None:
    made, began = Board(("right",), 0.02), time.monotonic()
    threading.Timer(0.05, lambda: made.put({"right": frame(time.monotonic())})).start()
    assert made.take(timeout=20.0) is not None
    assert time.monotonic() - began < 10


def test_remaining_frames_come_before_the_error() -> None:
    made = board(right=[1.0], left=[1.0])
    made.fail(UserError("ended"))
    made.fail(UserError("ended later"))
    assert taken(made) == [1.0, 1.0]
    with pytest.raises(UserError, match=r"^ended$"):
        made.take(timeout=1.0)


def test_images_are_cropped_resized_and_converted_to_grey() -> None:
    fit = Fit(run_of(image_size=16), crop={None: (8, 0, 32, 32), "left": (0, 0, 16, 16)}, rotate={"left": 180})
    image = np.zeros((32, 48, 3), np.uint8)
    image[:, 8:40] = 200
    assert (fit("right", image) == 200).all()
    assert fit("right", image).shape == (16, 16)
    image[-16:, -16:] = np.arange(16, dtype=np.uint8)[:, None, None]
    np.testing.assert_array_equal(fit("left", image)[:, 0], np.arange(16)[::-1])


def test_frames_are_turned_and_cropped_as_the_training_images_were() -> None:
    views = {
        "right": View(rotate=180, crop=(0, 0, 24, 32), size=24).to_dict(),
        "left": View(crop=(4, 8, 20, 24)).to_dict(),
    }
    run = run_of(image_shapes=((24, 18), (24, 20)), views=views)
    image = np.zeros((32, 48), np.uint8)
    image[:, 24:] = 200
    fit = Fit(run)
    assert fit("right", image).shape == (24, 18)
    assert (fit("right", image) == 200).all()
    assert fit("left", image).shape == (24, 20)
    assert (fit("left", image) == 0).all()
    cropped = np.arange(24 * 20, dtype=np.uint16).astype(np.uint8).reshape(24, 20)
    assert np.array_equal(fit("left", cropped), cropped)  # already cropped, as exported images
    # Options come first, and images of a data set stay as they are.
    assert (Fit(run, rotate={"right": 0})("right", image) == 0).all()
    assert (Fit(run, crop={"left": (26, 0, 20, 24)})("left", image) == 200).all()
    stored = np.arange(24 * 18, dtype=np.uint16).astype(np.uint8).reshape(24, 18)
    assert np.array_equal(Fit(run, raw=False)("right", stored), stored)
    with pytest.raises(UserError, match=r"--crop left=4,8,20,24 is not inside the image of 16x16 pixels"):
        fit("left", np.zeros((16, 16), np.uint8))


def test_recorded_crop_is_scaled_to_another_resolution() -> None:
    view = View(rotate=90, crop=(0, 80, 480, 480), size=128).to_dict() | {"source_size": [480, 640]}
    run = run_of(image_shapes=((128, 128), (128, 128)), views=dict.fromkeys(CAMERAS, view))
    fit, image = Fit(run), np.zeros((960, 1280), np.uint8)
    image[:, 160:1120] = 200  # what the crop shows of 480 rows, in twice as many
    assert (fit("right", image[::2, ::2]) == 200).all()
    assert (fit("right", image) == 200).all()
    line = "camera left gives images of 1280x720 pixels; those of the recording had 640x480: set that resolution, or "
    with pytest.raises(UserError, match=line):
        fit("left", image[:720])
    assert (Fit(run, crop={"left": (0, 200, 720, 720)})("left", image[:720]) == 200).all()
    with pytest.raises(UserError, match="use a camera with more pixels"):
        fit("left", image[::10, ::10])


@pytest.mark.parametrize(("left", "across"), [(0, 3), (1, 5), (3, 3), (2, 4)])
def test_scaled_crop_is_inside_the_image(left: int, across: int) -> None:
    larger = np.zeros((9, 9), np.uint8)
    view = for_image(View(crop=(left, left, across, across)), "left", {"left": (6, 6)}, larger)
    assert view.crop is not None
    assert max(view.crop[0] + view.crop[2], view.crop[1] + view.crop[3]) <= 9


@pytest.mark.parametrize(
    ("crop", "side", "live"), [((0, 2, 406, 303), 128, (240, 320)), ((3, 1, 406, 303), 406, (720, 960))]
)
def test_image_of_a_scaled_crop_has_the_size_of_the_run(crop: Box, side: int, live: tuple[int, int]) -> None:
    view = View(crop=crop, size=side)
    shape = view.stored_size(crop[3], crop[2])
    record = view.to_dict() | {"source_size": [480, 640]}
    fit = Fit(run_of(image_shapes=(shape, shape), views=dict.fromkeys(CAMERAS, record)))
    assert fit("left", np.zeros(live, np.uint8)).shape == shape


def test_other_shapes_are_refused_with_a_suggested_crop() -> None:
    fit = Fit(run_of(image_size=16))
    with pytest.raises(UserError, match=r"64x48 pixels; the run reads 16x16: give --crop right=8,0,48,48"):
        fit("right", np.zeros((48, 64), np.uint8))
    with pytest.raises(UserError, match="8x8 pixels; the run reads 16x16: use a camera with more pixels"):
        fit("right", np.zeros((8, 8), np.uint8))
    with pytest.raises(UserError, match="is not inside the image"):
        Fit(run_of(), crop={None: (0, 0, 99, 99)})("left", np.zeros((32, 32), np.uint8))
    with pytest.raises(UserError, match="unknown camera lft; this run knows right, left"):
        Fit(run_of(), rotate={"lft": 90})
    in_colour = run_of(image_shapes=((16, 16, 3), (16, 16, 3)))
    with pytest.raises(UserError, match="gives grey images; the run reads colour"):
        Fit(in_colour)("left", np.zeros((16, 16), np.uint8))
