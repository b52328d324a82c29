"""Options of a LeRobot robot become the values that its configuration declares."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ropes.data.recorder.kinds.lerobot_classes import of_fields
from ropes.errors import UserError


@dataclass
class Configuration:
    """Fields as in LeRobot's configurations."""

    port: str
    calibration_dir: Path | None = None
    num_read_retries: int = 0


def test_texts_and_paths_stay_and_numbers_are_read() -> None:
    given = {"port": "007", "calibration_dir": "my/arms", "num_read_retries": "3"}
    assert of_fields(Configuration, given) == {
        "port": "007",
        "calibration_dir": Path("my/arms"),
        "num_read_retries": 3,
    }
    with pytest.raises(UserError, match="num_read_retries is 'many', not int"):
        of_fields(Configuration, {"num_read_retries": "many"})
