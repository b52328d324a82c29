"""`ropes watch` from the command line: what it refuses, and JSON lines from a data set."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.cli import entry as cli
from ropes.data.recordings.views import View
from ropes.inference.calibration import Calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.live import session
from ropes.inference.live.frames import Fit
from tests import planar, tiny
from tests.bridge import Bridge
from tests.command_line import refusal
from tests.estimators import run_of


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("R --camera a --rate 0", "--rate is 0; it must be above 0"),
        ("R --camera a --seconds inf", "--seconds is inf"),
        ("R --camera a --port 70000", "--port is 70000; it must be 0 to 65535"),
        ("R --camera", "--camera needs a source for each camera"),
        ("R --camera a --no-page", "--no-page leaves nothing to do; add --publish -"),
        ("R --camera a --no-page --publish - --port 9000", "--host and --port are of the page; leave them out"),
        ("R --camera a --crop 1,2,3", "is not LEFT,TOP,WIDTH,HEIGHT"),
        ("R --camera a --filter particle", "particle"),
        ("R --camera a --acceleration 3", "--acceleration goes with --filter kalman; add it, or leave --acc"),
        ("R --camera a --topic /arm --publish a.mcap", "--topic goes with --publish ws://HOST:PORT; add it, or"),
        ("R --camera a --publish b.mcap b.mcap", "--publish has b.mcap twice; give each name once"),
        (
            "panda-2c --camera a b --truth ws://h --publish ws://h --topic /joint_states",
            "--truth would read the estimates, which --publish sends on /joint_states; give another topic",
        ),
        (
            "panda-2c --camera a b --truth ws://h --publish ws://h --topic joint_states",  # ROS adds the slash
            "--truth would read the estimates, which --publish sends on /joint_states; give another topic",
        ),
        ("panda-2c --camera a b --truth ws://h:no", "--truth ws://h:no is not ws://HOST:PORT[/TOPIC] (Port could not"),
        (
            "panda-2c --camera 0 --no-page --publish -",
            "--camera: this run reads cam45",
        ),
        ("panda-2c --camera a.mp4 b.mp4 --no-page --publish -", "a.mp4 is missing"),
        ("panda-2c --camera a b --crop c=0,0,9,9 --no-page --publish -", "is missing"),
    ],
)
def test_invalid_watch_options_are_refused(words: str, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fault in refusal(capsys, "watch", *words.split())


def test_crop_none_keeps_the_whole_image(own_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the training images were cropped, see `ropes.inference.live.frames.Fit`."""
    given: list[session.WatchOptions] = []
    monkeypatch.setattr(session, "watch", lambda run, options: given.append(options))
    words = ["watch", str(own_run), "--camera", "a", "b", "--crop"]
    assert cli.main([*words, "none"]) == cli.main([*words, "1,2,30,40", "left=none"]) == 0
    assert [each.crop for each in given] == [{None: None}, {None: (1, 2, 30, 40), "left": None}]
    run = run_of(views={"left": View(crop=(4, 8, 16, 16)).to_dict()})
    image = np.zeros((tiny.SIDE * 2, tiny.SIDE * 2), np.uint8)
    image[:16] = 200
    whole = Fit(run, crop=given[0].crop)("left", image)
    assert (whole.shape, whole.mean()) == ((tiny.SIDE, tiny.SIDE), 200 * 16 / (tiny.SIDE * 2))


@pytest.mark.slow
def test_watch_prints_json_lines_until_the_data_set_ends(
    own_run: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["watch", str(own_run), "--camera", str(tiny_data), "--rate", "40", "--no-page", "--publish", "-"]
    words += ["--urdf", str(planar.write_urdf(tmp_path)), "--seconds", "0.5"]
    assert "is not calibrated: run `ropes calibrate` first" in refusal(capsys, *words)
    write_calibration(own_run, Estimator.load(own_run).run, Calibration(np.ones(2), np.zeros(2), 9))
    assert cli.main(words) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    assert all(list(line["joints"]) == list(line["truth"]) == list(tiny.JOINTS) for line in lines)
    assert all(line["latency_ms"] > 0 for line in lines)
    assert cli.main([*words[:-2], "--rate", "1000"]) == 0
    assert capsys.readouterr().err.endswith("poses; --loop plays it again\n")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_watch_compares_estimates_with_the_encoders_of_a_live_arm(
    own_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("roslibpy")
    write_calibration(own_run, Estimator.load(own_run).run, Calibration(np.ones(2), np.zeros(2), 9))
    angles = np.array([0.25, -0.5])
    for camera, image in zip(tiny.CAMERAS, tiny.draw(angles), strict=True):
        (tmp_path / camera).mkdir()
        Image.fromarray(image).save(tmp_path / camera / "0.png")
    bridge = Bridge()
    bridge.names, bridge.at = list(tiny.JOINTS), dict(zip(tiny.JOINTS, angles.tolist(), strict=True))
    address = f"ws://127.0.0.1:{bridge.port}"
    words = ["watch", str(own_run), "--camera", str(tmp_path), "--no-page", "--seconds", "1", "--truth", address]
    try:
        assert cli.main([*words, "--publish", "-", address]) == 0
    finally:
        bridge.close()
    [estimate] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert estimate["truth"] == bridge.at
    sent = [
        each["msg"]["name"] for each in bridge.received if each.get("topic") == "/ropes/joint_states" and "msg" in each
    ]
    assert sent in ([], [list(tiny.JOINTS)])  # none of a pose out of distribution
