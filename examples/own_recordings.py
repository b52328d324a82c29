"""Make a data set from your own recordings: colour frames in one folder per regime and camera.

python examples/own_recordings.py recordings data/mine

recordings/observational/left/0001.png is a pose without intervention.  recordings/elbow-1/left/0001.png is the same
pose after the elbow alone was moved by its first policy, and so on: frames of one name are of one anchor.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from ropes.causal.scm import Regime
from ropes.data.validate import validate
from ropes.data.writer import write_arrays
from ropes.evaluation.inspection import inspect_data


def square(path: Path, side: int, *, colour: bool) -> NDArray[np.uint8]:
    """The middle of a frame, square, in 8-bit grey (BT.601) or RGB; 16-bit, float and CMYK frames are refused."""
    with Image.open(path) as frame:
        if frame.mode not in ("L", "P", "RGB"):
            raise SystemExit(f"{path} has mode {frame.mode}; convert it to 8-bit grey or RGB")
        return np.asarray(ImageOps.fit(frame.convert("RGB" if colour else "L"), (side, side), Image.Resampling.BOX))


def size(path: Path) -> tuple[int, int]:
    """Width and height of a frame."""
    with Image.open(path) as frame:
        return frame.size


def regime(folder: str) -> Regime:
    """The regime of a folder named observational or JOINT-POLICY, as elbow-1."""
    if folder == "observational":
        return Regime()
    joint, _, policy = folder.rpartition("-")
    return Regime(joint, int(policy))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--side", type=int, default=128, help="side of the images in pixels")
    parser.add_argument("--colour", action="store_true", help="keep RGB")
    options = parser.parse_args()

    kinds = sorted(options.recordings.iterdir(), key=lambda path: (path.name != "observational", path.name))
    cameras = sorted(path.name for path in kinds[0].iterdir())
    found = [{path.name for path in (kind / camera).glob("*.png")} for kind in kinds for camera in cameras]
    anchors = sorted(set.intersection(*found))
    print(f"{len(anchors)} of {len(set.union(*found))} frames exist under every regime and from every camera")
    for camera in cameras:
        sizes = {size(kind / camera / name) for kind in kinds for name in anchors}
        if len(sizes) > 1:
            raise SystemExit(f"frames of {camera} have sizes {sorted(sizes)}; a camera keeps its size")
    picture = partial(square, side=options.side, colour=options.colour)
    images = np.array([[[picture(kind / camera / name) for camera in cameras] for kind in kinds] for name in anchors])
    # The angles are unknown: no states, and no names for their columns.
    write_arrays(
        options.out,
        images={"train": images},
        states=None,
        cameras=cameras,
        joints=(),
        regimes=[regime(kind.name) for kind in kinds],
    )
    print(validate(options.out))
    print(f"{options.out} {inspect_data(options.out).verdict}")


if __name__ == "__main__":
    main()
