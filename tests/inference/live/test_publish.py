"""What publishers write: JSON lines, JointState, MCAP files that a reader opens."""

import base64
import io
import json
import os
import sys
import types
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from mcap.reader import make_reader
from PIL import Image

from ropes.errors import UserError
from ropes.inference.live.kalman import Filtered
from ropes.inference.live.mcap_log import SCHEMAS, McapLog
from ropes.inference.live.publish import JsonLines, Rosbridge, joint_state, publisher
from ropes.inference.live.watch import Estimate
from ropes.inference.poses import chosen_arm
from tests import planar, tiny
from tests.estimators import run_of

ANGLES = np.array([0.25, -1.5])


def estimate(**changes: Any) -> Estimate:
    fields: dict[str, Any] = {
        "time": 1234567890.25,
        "images": dict(zip(tiny.CAMERAS, tiny.draw(ANGLES), strict=True)),
        "prediction": {
            "unit": "rad",
            "joints": dict(zip(tiny.JOINTS, ANGLES.tolist(), strict=True)),
            "out_of_distribution": False,
        },
        "angles": ANGLES,
        "filtered": None,
        "truth": None,
        "latency": 0.0123,
        "latency_95": 0.02,
        "rate": 29.97,
        "dropped": 3,
    }
    return Estimate(**(fields | changes))


FILTERED = Filtered(np.array([0.2, -1.4]), np.array([1.0, 2.0]), np.array([0.1, 0.1]))


def test_json_lines_contain_angles_filter_and_truth() -> None:
    stream = io.StringIO()
    lines = JsonLines(stream)
    lines.send(estimate())
    lines.send(estimate(filtered=FILTERED, truth=ANGLES))
    lines.close()
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert first == {
        "time": 1234567890.25,
        "unit": "rad",
        "joints": {"elbow": 0.25, "wrist": -1.5},
        "out_of_distribution": False,
        "latency_ms": 12.3,
        "latency_95_ms": 20.0,
        "rate_hz": 29.97,
        "dropped": 3,
    }
    assert second["filtered"]["velocities"] == {"elbow": 1.0, "wrist": 2.0}
    assert second["truth"] == first["joints"]


def test_slow_reader_does_not_block_and_gets_the_newest_lines(capfd: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        lines = JsonLines(stream, waiting=5)
        for number in range(2000):  # more than the pipe holds
            lines.send(estimate(dropped=number))
        received = os.read(reader, 1 << 20)
        lines.send(estimate(dropped=2000))
        lines.close()
    with os.fdopen(reader, encoding="utf-8") as stream:
        text = received.decode() + stream.read()
    numbers = [json.loads(line)["dropped"] for line in text.splitlines()]
    assert numbers == sorted(set(numbers))
    assert numbers[-5:] == list(range(1996, 2001))
    lost = 2001 - len(numbers)
    assert lost > 1000
    assert capfd.readouterr().err == f"ropes: the reader of --publish - is too slow: {lost} lines were dropped\n"


def test_reader_that_never_reads_does_not_block_closing(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.inference.live.publish.CLOSE_TIMEOUT", 0.05)
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        lines = JsonLines(stream, waiting=5)
        for _ in range(2000):
            lines.send(estimate())
        lines.close()
        assert "lines were dropped" in capfd.readouterr().err
        os.close(reader)


def test_closed_pipe_reports_no_dropped_lines(capfd: pytest.CaptureFixture[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        lines = JsonLines(stream)
        with pytest.raises(BrokenPipeError):  # `ropes watch … | head`
            lines.send(estimate())
        lines.close()
    assert capfd.readouterr().err == ""


def test_joint_state_holds_raw_or_filtered_angles() -> None:
    message = joint_state(estimate())
    assert message["header"]["stamp"] == {"sec": 1234567890, "nanosec": 250_000_000}
    assert (message["name"], message["position"], message["velocity"]) == (list(tiny.JOINTS), [0.25, -1.5], [])
    filtered = joint_state(estimate(filtered=FILTERED))
    assert (filtered["position"], filtered["velocity"]) == ([0.2, -1.4], [1.0, 2.0])


def test_mcap_file_uses_foxglove_schemas(tmp_path: Path) -> None:
    path, arm = tmp_path / "logs" / "live.mcap", chosen_arm(run_of(), planar.write_urdf(tmp_path))
    log = McapLog(path, arm)
    log.send(estimate())
    log.send(estimate(time=1234567890.5, filtered=FILTERED))
    assert not path.exists()
    log.close()
    assert [entry.name for entry in path.parent.iterdir()] == ["live.mcap"]
    with path.open("rb") as stream:
        found: dict[str, list[Any]] = {}
        for schema, channel, message in make_reader(stream).iter_messages():
            assert schema is not None
            assert json.loads(schema.data)["title"] == schema.name
            assert schema.name in SCHEMAS
            found.setdefault(channel.topic, []).append((message.log_time, json.loads(message.data)))
    assert set(found) == {"/joint_states", "/estimate", "/tf", "/camera/right", "/camera/left"}
    assert [at for at, _ in found["/joint_states"]] == [1234567890_250_000_000, 1234567890_500_000_000]
    killed = tmp_path / "b.mcap.partial"
    killed.write_bytes(b"what a kill left")
    with pytest.raises(UserError, match=r"b.mcap.partial is left of a watch that was killed; mcap recover it, then"):
        publisher(str(tmp_path / "b.mcap"), None)
    assert killed.read_bytes() == b"what a kill left"
    with pytest.raises(UserError, match=r"live.mcap exists; give another name, or remove it"):
        McapLog(path, arm)
    states = [content["joints"] for _, content in found["/joint_states"]]
    assert states[0] == [{"name": "elbow", "position": 0.25}, {"name": "wrist", "position": -1.5}]
    assert states[1][1] == {"name": "wrist", "position": -1.4, "velocity": 2.0}
    tool = next(one for one in found["/tf"][0][1]["transforms"] if one["child_frame_id"] == "tool")
    np.testing.assert_allclose(list(tool["translation"].values()), planar.tip(ANGLES[None])[0])
    picture = found["/camera/right"][0][1]
    decoded = np.asarray(Image.open(io.BytesIO(base64.b64decode(picture["data"]))))
    assert np.abs(decoded.astype(int) - tiny.draw(ANGLES)[0]).mean() < 10


def test_mcap_file_without_estimates_is_removed(tmp_path: Path) -> None:
    for _ in range(2):  # the first one does not prevent the second one
        McapLog(tmp_path / "live.mcap").close()
        assert not list(tmp_path.iterdir())


class FakeRos:
    """A rosbridge that answers at port 9090 only, and is gone later."""

    def __init__(self, host: str, port: int, is_secure: bool) -> None:
        self.port, self.is_connected, self.ended = port, False, False

    def run(self, timeout: float) -> None:
        if self.port != 9090:
            raise TimeoutError
        self.is_connected = True

    def close(self) -> None:
        self.is_connected, self.ended = False, True


class FakeTopic:
    def __init__(self, ros: FakeRos, name: str, kind: str) -> None:
        self.ros, self.name, self.kind = ros, name, kind
        self.sent: list[Any] = []
        FakeTopic.made[name] = self

    made: ClassVar[dict[str, "FakeTopic"]] = {}

    def advertise(self) -> None:
        assert self.ros.is_connected

    def publish(self, message: Any) -> None:
        self.sent.append(message)


@pytest.fixture
def _roslibpy(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("roslibpy")
    fake.__dict__.update(Ros=FakeRos, Topic=FakeTopic, Message=dict)
    monkeypatch.setitem(sys.modules, "roslibpy", fake)


@pytest.mark.usefixtures("_roslibpy")
@pytest.mark.parametrize("flagged", [False, True])
def test_angles_out_of_distribution_are_published_on_request(flagged: bool) -> None:
    bridge = Rosbridge("ws://robot:9090", "/arm/states", flagged=flagged)
    inside = estimate()
    outside = replace(inside, prediction={**inside.prediction, "out_of_distribution": True})
    for each in (inside, outside):
        bridge.send(each)
    states, flags = FakeTopic.made["/arm/states"], FakeTopic.made["/arm/out_of_distribution"]
    assert flags.kind == "std_msgs/Bool"
    assert [message["data"] for message in flags.sent] == [False, True]
    assert len(states.sent) == 1 + flagged


@pytest.mark.usefixtures("_roslibpy")
def test_rosbridge_publisher_drops_messages_when_disconnected(capsys: pytest.CaptureFixture[str]) -> None:
    bridge = Rosbridge("ws://robot:9090", "/arm/states")
    topic = FakeTopic.made["/arm/states"]
    assert topic.kind == "sensor_msgs/JointState"
    bridge.send(estimate())
    assert topic.sent == [joint_state(estimate())]
    topic.ros.is_connected = False
    for _ in range(3):
        bridge.send(estimate())
    assert len(topic.sent) == 1
    assert capsys.readouterr().err == "ropes: the rosbridge is gone; messages are dropped until it returns\n"
    topic.ros.is_connected = True
    bridge.close()
    assert topic.ros.ended
    with pytest.raises(UserError, match="no rosbridge answers at robot:1; start rosbridge_server there"):
        Rosbridge("ws://robot:1")
    for address in ("ws://robot:bridge", "ws://robot:99999", "ws://:9090", "ws://robot:9090/arm"):
        with pytest.raises(UserError, match=f"--publish {address} is not ws://HOST:PORT"):
            Rosbridge(address)


def test_publish_targets_are_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(publisher("-", None), JsonLines)
    with pytest.raises(UserError, match=r"--publish out.txt: give - for JSON lines, ws://HOST:PORT"):
        publisher("out.txt", None)
    monkeypatch.setitem(sys.modules, "roslibpy", None)
    with pytest.raises(UserError, match=r"needs the package roslibpy: pip install -e '\.\[live\]'"):
        publisher("ws://localhost:9090", None)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot write"):
        publisher(str(tmp_path / "file" / "a.mcap"), None)
