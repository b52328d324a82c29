"""A rosbridge for tests: a small server on this machine speaks the bridge's protocol."""

import json
import threading
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve


class Bridge:
    """A rosbridge with an arm that follows its trajectories, and publishes joint states."""

    def __init__(self) -> None:
        self.names = ["gripper", "elbow", "shoulder"]
        self.at = {"gripper": 0.5, "elbow": 0.0, "shoulder": 0.1}
        self.topic = "/joint_states"
        self.silent = False
        #: A joint state of another publisher, in place of the arm's.
        self.others: dict[str, Any] | None = None
        self.received: list[dict[str, Any]] = []
        self.server: Server = serve(self._serve, "127.0.0.1", 0)
        self.port = int(self.server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def _serve(self, connection: ServerConnection) -> None:
        ended = threading.Event()
        publisher = threading.Thread(target=self._publish, args=(connection, ended))
        try:
            for text in connection:
                message = json.loads(text)
                self.received.append(message)
                if message["op"] == "subscribe" and message["topic"] == self.topic:
                    publisher.start()
                if message["op"] == "publish":
                    self._follow(message["msg"])
        except ConnectionClosed:
            pass
        finally:
            ended.set()
            if publisher.ident:
                publisher.join()

    def _follow(self, trajectory: dict[str, Any]) -> None:
        self.at |= dict(zip(trajectory["joint_names"], trajectory["points"][-1]["positions"], strict=True))

    def _publish(self, connection: ServerConnection, ended: threading.Event) -> None:
        while not ended.wait(0.02):
            if self.silent:
                continue
            states = [{"name": self.names, "position": [self.at[name] for name in self.names]}]
            if self.others is not None:
                states = [self.others, {"name": ["wheel"], "position": [], "velocity": [1.0]}]
            try:
                for state in states:
                    connection.send(json.dumps({"op": "publish", "topic": self.topic, "msg": state}))
            except ConnectionClosed:
                return

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()

    @property
    def trajectories(self) -> list[dict[str, Any]]:
        return [each["msg"] for each in self.received if each["op"] == "publish"]
