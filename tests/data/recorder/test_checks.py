"""Anchors and chains with hidden, blurred or clipped frames are told; a camera that sees nothing ends the recording."""

from collections.abc import Mapping

import numpy as np
import pytest
from scipy import ndimage

from ropes.common.arrays import Images
from ropes.data.recorder.checks import EpisodeChecks
from ropes.data.recorder.protocols import AnchorProtocol, ChainProtocol
from ropes.data.recorder.stillness import Noise
from ropes.errors import UserError
from tests import tiny

NOISE = Noise([0.5], 2.0)
REGIMES = tiny.model().regimes
STILL, ORDER = [True] * 5, np.arange(5)


def poses(number: int = 0) -> np.ndarray:
    return tiny.model().sample(np.random.default_rng(0), 9)[number]


def frames(angles: np.ndarray, side: int = 64) -> dict[str, list[Images]]:
    drawn = np.clip(tiny.draw(angles, side), 20, 240)
    drawn[..., ::9, ::7] = 100  # a background with edges
    return {name: list(drawn[:, k]) for k, name in enumerate(tiny.CAMERAS)}


def told(
    checks: EpisodeChecks, images: Mapping[str, list[Images]], still: list[bool] = STILL
) -> list[tuple[str, bool]]:
    return [(fault.what, fault.again) for fault in checks.faults(images, poses(), ORDER, still)]


@pytest.fixture
def checks() -> EpisodeChecks:
    return EpisodeChecks(AnchorProtocol(tiny.model()), dict.fromkeys(tiny.CAMERAS, NOISE))


def test_valid_anchor_has_no_faults(checks: EpisodeChecks) -> None:
    for number in range(9):
        assert checks.faults(frames(poses(number)), poses(number), ORDER, STILL) == []


def test_intervention_that_no_camera_shows_is_reported(checks: EpisodeChecks) -> None:
    images, turned = frames(poses()), np.abs(poses() - poses()[0]).max(axis=1)
    far, near = int(turned.argmax()), int(turned[1:].argmin()) + 1
    assert turned[near] < 0.2 < turned[far]
    images["right"][far] = images["right"][0]
    assert told(checks, images) == []
    for number in (far, near):
        images["left"][number] = images["left"][0]
        images["right"][number] = images["right"][0]
    assert told(checks, images) == [(f"no camera shows what {REGIMES[far].name} moves", False)]


def test_a_frozen_camera_ends_the_recording(checks: EpisodeChecks) -> None:
    images = frames(poses())
    images["left"] = [images["left"][0]] * 5
    with pytest.raises(UserError, match="camera left shows the same picture in all poses"):
        told(checks, images)
    images["left"][2] = images["left"][0] + 1
    assert told(checks, images) == [("camera left shows no motion in any pose", False)]


def test_blurred_frame_is_detected_against_earlier_frames(checks: EpisodeChecks) -> None:
    assert told(checks, frames(poses())) == []
    images = frames(poses())
    images["right"][2] = ndimage.gaussian_filter(images["right"][2], 3)
    assert told(checks, images) == [("camera right: the frame of elbow/2 is blurred", True)]
    images["right"] = [ndimage.gaussian_filter(image, 3) for image in images["right"]]
    assert [again for _, again in told(checks, images)] == [True] * 5


def test_clipped_pixels_are_reported_only_for_cameras_with_noise(checks: EpisodeChecks) -> None:
    images = frames(poses())
    images["left"][1][:8] = 255
    [(line, again)] = told(checks, images)
    assert (line, again) == ("camera left: 12% of the pixels are black or white", False)
    drawn = EpisodeChecks(AnchorProtocol(tiny.model()), dict.fromkeys(tiny.CAMERAS, Noise([0.0], 0.0)))
    assert told(drawn, images) == []


def test_foreign_motion_is_reported(checks: EpisodeChecks) -> None:
    line = "something else moves while the frame of elbow/1 is taken"
    assert told(checks, frames(poses()), [True, False, True, False, True]) == [(line, True)]


def test_each_move_of_a_chain_is_compared_with_the_pose_before_it() -> None:
    protocol = ChainProtocol(tiny.model())
    checks = EpisodeChecks(protocol, dict.fromkeys(tiny.CAMERAS, NOISE))
    angles, regimes = protocol.draw(0, 0, 0)
    images, still = frames(angles), [True] * len(angles)
    assert checks.faults(images, angles, regimes, still) == []
    turned = np.abs(np.diff(angles, axis=0)).max(axis=1)
    hidden = int(turned.argmax()) + 1
    for camera in tiny.CAMERAS:  # far from the first pose, but as the pose before
        images[camera][hidden] = images[camera][hidden - 1]
    still[3] = False
    assert [(fault.what, fault.again) for fault in checks.faults(images, angles, regimes, still)][:2] == [
        (f"something else moves while the frame of {REGIMES[regimes[3]].name} in move 3 is taken", True),
        (f"no camera shows what {REGIMES[regimes[hidden]].name} in move {hidden} moves", False),
    ]
