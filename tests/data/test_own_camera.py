"""Frames of another camera are found by what each camera sees."""

import numpy as np
import pytest

from ropes.data.own_camera import OwnCamera

Scene = dict[str, list[np.ndarray]]


def scene(*, frames: int = 12, textured: bool = True, colour: bool = False) -> Scene:
    """Frames of two cameras: an own background each, light that varies, noise, and a bar that moves."""
    found = {}
    for number, camera in enumerate(("front", "side")):
        rng = np.random.default_rng(number)
        coarse = rng.uniform(40, 200, (8, 10)) if textured else np.full((8, 10), 230.0)
        background, images = np.kron(coarse, np.ones((16, 16))), []
        for _ in range(frames):
            image = background * rng.uniform(0.8, 1.1) + rng.normal(0, 4, background.shape)
            left = int(rng.integers(20, 100))
            image[40:90, left : left + 16] = 20
            image = np.clip(image, 0, 255).astype(np.uint8)
            images.append(np.repeat(image[..., None], 3, axis=2) if colour else image)
        found[camera] = images
    return found


@pytest.mark.parametrize("colour", [False, True])
def test_frame_of_another_camera_is_named(colour: bool) -> None:
    seen = OwnCamera(scene(colour=colour))
    later = scene(frames=60, colour=colour)
    for camera, other in (("front", "side"), ("side", "front")):
        assert all(seen.other(camera, image) is None for image in later[camera])
        assert all(seen.other(camera, image) == other for image in later[other])


def test_most_frames_decide_what_a_camera_sees() -> None:
    frames = scene()
    exchanged = {"front": frames["front"][:9] + frames["side"][9:], "side": frames["side"]}
    seen = OwnCamera(exchanged)
    assert [seen.other("front", image) for image in exchanged["front"]] == [None] * 9 + ["side"] * 3


def test_cameras_that_look_alike_are_not_compared() -> None:
    white = scene(textured=False)
    assert OwnCamera(white).other("front", white["side"][0]) is None
    twice = scene()["front"]
    assert OwnCamera({"front": twice, "copy": twice}).other("front", twice[0]) is None


def test_cameras_and_frames_of_other_sizes_are_not_compared() -> None:
    frames = scene()
    smaller = [image[:, :100] for image in frames["side"]]
    seen = OwnCamera({"front": frames["front"], "side": smaller})
    assert seen.other("side", frames["side"][0]) is None
    assert seen.other("front", frames["side"][0]) is None
    mixed = OwnCamera({"front": frames["front"], "side": frames["side"][:9] + smaller})
    assert mixed.other("front", frames["side"][0]) == "side"


def test_blank_frames_have_no_other_camera() -> None:
    frames = scene()
    assert OwnCamera(frames).other("front", np.zeros_like(frames["front"][0])) is None
    assert OwnCamera({"front": frames["front"]}).other("front", frames["side"][0]) is None
