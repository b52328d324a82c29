"""Imports data sets that LeRobot's own writer makes, and compares every frame with what LeRobot's loader reads.

    python -m benchmarks.lerobot_writer [--out results/lerobot-import.json] [--page]

LeRobot is no dependency: `make oracles` installs it into an environment of its own and runs this. With --page, the
table is written to docs/data.md. Other episodes, policies or angles, or frames that differ by more than the decoders
of videos do, end it with an error.
"""

import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import keep, options, table
from benchmarks.lerobot_reader import differences
from ropes.common.arrays import Floats, Images
from ropes.data import schema
from ropes.data.layout import open_dataset

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
JOINTS, CAMERAS = ("shoulder", "elbow"), ("front", "side")
#: Names of the tasks, as `ropes import` reads policies from them.
TASKS = ("observational", *(f"{joint}/{policy}" for joint in JOINTS for policy in (1, 2)))
ANCHORS, _HEIGHT, _WIDTH = 3, 240, 320
#: What LeRobot writes: arguments of `LeRobotDataset.create`; a name of a codec for "vcodec".
WRITTEN: Mapping[str, dict[str, Any]] = {
    "video, LeRobot's default codec": {},
    "video, H.264": {"vcodec": "h264"},
    "video, encoded while recording": {"streaming_encoding": True},
    "images": {"use_videos": False},
}
#: Largest mean difference, grey levels: decoders round colours differently.
_MEAN = 1.0


def picture(state: Floats, camera: int) -> Images:
    """A coloured picture with a disc where the state says."""
    rows, columns = np.mgrid[:_HEIGHT, :_WIDTH]
    middle = _HEIGHT * (0.5 + 0.2 * state[0]), _WIDTH * (0.5 + 0.2 * state[1])
    ground = np.stack([rows * 0.8, columns * 0.6, 120.0 + 60 * camera + 0 * rows], axis=2)
    ground[np.hypot(rows - middle[0], columns - middle[1]) < _HEIGHT / 6] = (230, 40, 60)
    return ground.astype(np.uint8)


def write(path: Path, settings: Mapping[str, Any]) -> None:
    """Write a data set with LeRobot: an episode for each anchor, a frame for each regime."""
    from lerobot.configs.video import RGBEncoderConfig
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    given = dict(settings)
    encoder = {"rgb_encoder": RGBEncoderConfig(vcodec=codec)} if (codec := given.pop("vcodec", None)) else {}
    kind = "video" if given.get("use_videos", True) else "image"
    shape = (_HEIGHT, _WIDTH, 3)
    axes = ["height", "width", "channels"]
    features: dict[str, Any] = {
        schema.IMAGES + camera: {"dtype": kind, "shape": shape, "names": axes} for camera in CAMERAS
    }
    features[schema.STATE] = {"dtype": "float32", "shape": (len(JOINTS),), "names": list(JOINTS)}
    made = LeRobotDataset.create(repo_id="local/made", fps=30, features=features, root=path, **given, **encoder)
    rng = np.random.default_rng(0)
    for _ in range(ANCHORS):
        usual = rng.uniform(-1, 1, len(JOINTS))
        for task in TASKS:
            state = usual.copy()
            if "/" in task:
                state[JOINTS.index(task.split("/")[0])] = rng.uniform(-1, 1)
            images = {schema.IMAGES + camera: picture(state, k) for k, camera in enumerate(CAMERAS)}
            made.add_frame({**images, schema.STATE: state.astype(np.float32), "task": task})
        made.save_episode()
    made.finalize()


def compared(source: Path, imported: Path) -> dict[str, Any]:
    """The imported frames beside those of LeRobot's loader.

    Returns:
        Number of frames, greatest and mean difference of a grey level, and greatest difference of an angle in radians.

    Raises:
        AssertionError: other episodes or policies, or another number of frames.
    """
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    theirs, ours = LeRobotDataset(repo_id="local/made", root=source), open_dataset(imported)
    [split] = ours.splits
    frames = list(differences(theirs, ours, split))
    assert theirs.num_frames == len(frames) == ANCHORS * len(TASKS)
    assert ours.state_names
    levels = [each for of_frame, _ in frames for each in of_frame]
    return {
        "frames": len(frames),
        "greatest": max(float(each.max()) for each in levels),
        "mean": float(np.mean([each.mean() for each in levels])),
        "angle": max(angle for _, angle in frames),
    }


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    lines = [
        [row["name"], str(row["frames"]), f"{row['greatest']:.1f}", f"{row['mean']:.2f}", f"{row['angle']:.1g}"]
        for row in found["rows"]
    ]
    heads = ["LeRobot writes", "frames", "greatest difference, grey levels", "mean", "radians"]
    libraries = ", ".join(f"{name} {number}" for name, number in sorted(found["libraries"].items()))
    return f"{table(heads, lines)}\n{libraries}.\n"


def main() -> None:
    """Write with LeRobot, import, compare, and print the table."""
    from ropes.cli import entry as cli

    parser = options(__doc__)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/data.md")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, settings) in enumerate(WRITTEN.items()):
            source, imported = Path(folder, f"source-{number}"), Path(folder, f"imported-{number}")
            write(source, settings)
            if code := cli.main(["import", str(source), "--out", str(imported), "--crop", "none"]):
                raise SystemExit(code)
            rows.append({"name": name, **compared(source, imported)})
    libraries = {name: version(name) for name in ("lerobot", "av", "ropes")}
    found = {"libraries": libraries, "rows": rows}
    keep(found, "lerobot-import", written(found), arguments.out, PAGE if arguments.page else None)
    if differing := [row["name"] for row in rows if row["mean"] > _MEAN or row["angle"]]:
        raise SystemExit(f"benchmarks.lerobot_writer: other values: {', '.join(differing)}")


if __name__ == "__main__":
    main()
