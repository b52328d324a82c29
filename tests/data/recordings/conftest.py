"""Recordings for the tests of the importers."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropes.data.dataset import Dataset
from ropes.data.recordings.importer import Imported, import_recording
from ropes.data.recordings.plan import ImportOptions
from ropes.methods.anchored.anchors import by_anchor
from ropes.methods.policies import require_both_policies
from ropes.methods.recipes import encoder_recipe
from ropes.methods.training.image_size import require_size

FIXTURES = Path(__file__).parents[2] / "fixtures"
#: Regimes of the fixtures, in the order of a data set.
PANDA = ("observational", *(f"panda_joint{joint}/{policy}" for joint in range(1, 7) for policy in (1, 2)))

ImportOne = Callable[..., Imported]


@pytest.fixture
def import_one(tmp_path: Path) -> ImportOne:
    """Import a recording into a new folder."""

    def run(path: Path, out: str = "data", **options: Any) -> Imported:
        given = {"crop_to_motion": False} | options
        return import_recording(path, out=tmp_path / out, options=ImportOptions(**given), progress=False)

    return run


def require_fit_accepts(dataset: Dataset, *, small: bool = False) -> None:
    """Run the data checks of `ropes fit --method anchored`; images may be `small` for its recipe."""
    require_both_policies(dataset)
    if not small:
        require_size(dataset, encoder_recipe("compact"))
    by_anchor(dataset, dataset.frames("train"))


def damaged(path: Path, share: float) -> None:
    """Keep the first part of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
