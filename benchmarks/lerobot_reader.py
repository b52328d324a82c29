"""Opens data sets of ropes with LeRobot's own loader, and compares every frame with what ropes reads.

    python -m benchmarks.lerobot_reader [--out results/lerobot.json] [--page]

LeRobot is no dependency: `make oracles` installs it into an environment of its own and runs this. With --page, the
table is written to docs/data.md. Other episodes, tasks, shapes or values end it with an error.
"""

import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import keep, options, table
from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.writer import write_arrays

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
_PANDA = "simulate --setting panda-2c-independent --test-anchors 5 --seed 3"
#: Data sets: what is made, and the words of the command or the function that makes it.
MADE: dict[str, str | Callable[[Path], None]] = {
    "`ropes simulate`": f"{_PANDA} --anchors 3",
    "`ropes simulate --colour`": f"{_PANDA} --anchors 3 --renderer mujoco --colour",
    "`ropes simulate --chains`": f"{_PANDA} --chains 2 --frames-per-move 1",
    "`ropes simulate --setting action-pairs`": "simulate --setting action-pairs --samples 12 --test-anchors 4",
    "`ropes record`": "record --robot simulated --anchors 2",
    "`write_arrays`, cameras of two sizes, in colour": lambda path: _write(path),
}


def _write(path: Path) -> None:
    rng = np.random.default_rng(0)
    regimes = (Regime(), Regime("elbow", 1), Regime("elbow", 2))
    counts = {"train": (4, len(regimes)), "test-id": (5, 1)}
    shapes = {"front": (24, 40, 3), "side": (16, 16, 3)}
    write_arrays(
        path,
        images={
            split: {name: rng.integers(0, 256, (*count, *shape), dtype=np.uint8) for name, shape in shapes.items()}
            for split, count in counts.items()
        },
        states={split: rng.normal(size=(*count, 1)) for split, count in counts.items()},
        cameras=tuple(shapes),
        joints=("elbow",),
        regimes=regimes,
    )


def make(made: str | Callable[[Path], None], path: Path) -> None:
    """Make a data set.

    Raises:
        RuntimeError: the command failed.
    """
    if not isinstance(made, str):
        made(path)
        return
    from ropes.cli import entry as cli

    if code := cli.main([*made.split(), "--out", str(path)]):
        raise RuntimeError(f"ropes {made}: code {code}")


def differences(theirs: Any, ours: Dataset, split: str) -> Iterator[tuple[list[Floats], float]]:
    """Each frame of a split as LeRobot's loader has it, beside what ropes reads.

    Args:
        theirs: LeRobot's data set.
        ours: the same frames, row by row.
        split: of ours.

    Yields:
        Differences of the grey levels, (H, W, C) for each camera, and the greatest difference of an angle, radians; 0
        without angles.

    Raises:
        AssertionError: LeRobot has another episode, task or shape.
    """
    chosen = ours.frames(split)
    images = dict(zip(ours.cameras, ours.read_cameras(chosen.index), strict=True))
    states = ours.states(split) if ours.state_names else None
    for k, row in enumerate(chosen.index):
        item = theirs[int(row)]
        assert int(item["episode_index"]) == chosen.anchor[k]
        assert item["task"] == ours.tasks[chosen.regime[k]]
        levels = []
        for camera, own in images.items():
            read = item[schema.IMAGES + camera].numpy().transpose(1, 2, 0) * 255
            known = own[k] if own[k].ndim == 3 else own[k][..., None]
            assert read.shape == known.shape
            levels.append(np.abs(read - known))
        angle = 0.0
        if states is not None:
            state = np.atleast_1d(item[schema.STATE].numpy())
            angle = float(np.abs(state - states[k].astype(np.float32)).max())
        yield levels, angle


def compared(path: Path) -> dict[str, Any]:
    """A data set as LeRobot reads it, beside what ropes reads.

    Returns:
        Numbers of frames and episodes, and the greatest difference of a grey level and of an angle in radians.

    Raises:
        AssertionError: LeRobot has other episodes, tasks or shapes.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    theirs, ours = LeRobotDataset(repo_id=f"local/{path.name}", root=path), open_dataset(path)
    level = angle = 0.0
    frames = 0
    for split, episodes in ours.splits.items():
        anchors = ours.frames(split).anchor
        assert np.isin(anchors, list(episodes)).all()
        for levels, apart in differences(theirs, ours, split):
            level = max(level, *(float(each.max()) for each in levels))
            angle = max(angle, apart)
        frames += len(anchors)
    assert theirs.num_frames == frames
    assert theirs.num_episodes == sum(map(len, ours.splits.values()))
    return {"frames": frames, "episodes": theirs.num_episodes, "level": level, "angle": angle}


def written(found: dict[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    lines = [
        [row["made"], str(row["frames"]), str(row["episodes"]), f"{row['level']:.1g}", f"{row['angle']:.1g}"]
        for row in found["rows"]
    ]
    heads = ["written by", "frames", "episodes", "greatest difference, grey levels", "radians"]
    libraries = ", ".join(f"{name} {number}" for name, number in found["libraries"].items())
    return f"{table(heads, lines)}\n{libraries}.\n"


def main() -> None:
    """Make the data sets, open them, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/data.md")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, made) in enumerate(MADE.items()):
            path = Path(folder, f"data-{number}")
            make(made, path)
            assert read_json(path / schema.INFO)["codebase_version"] == schema.CODEBASE_VERSION
            rows.append({"made": name, **compared(path)})
    libraries = {name: version(name) for name in ("lerobot", "datasets", "torch", "ropes")}
    found = {"libraries": libraries, "rows": rows}
    keep(found, "lerobot", written(found), arguments.out, PAGE if arguments.page else None)
    if differing := [row["made"] for row in rows if row["level"] or row["angle"]]:
        raise SystemExit(f"benchmarks.lerobot_reader: other values in LeRobot: {', '.join(differing)}")


if __name__ == "__main__":
    main()
