"""Exports images as plain files in the layout that `ropes predict` reads."""

from pathlib import Path

from ropes.common import files, png
from ropes.data.layout import open_dataset
from ropes.errors import UserError

#: Says what the folder holds, so that no two exports are mixed.
EXPORT_FILE = "export.json"


def export_images(data: Path | str, split: str, count: int, out: Path | str) -> None:
    """Write the first images of a split as `out`/CAMERA/INDEX.png, 8-bit; INDEX is the row in the data set.

    Args:
        data: folder of the data set.
        split: to take them from.
        count: poses, each with one image for every camera.
        out: a new or empty folder, or one that the same export left.

    Raises:
        UserError: no such data set or split, fewer poses than `count`, or `out` holds something else.
    """
    dataset, out = open_dataset(data), Path(out)
    frames = dataset.frames(split)
    if len(frames) < count:
        raise UserError(f"{dataset.path}: split {split!r} has {len(frames)} poses, fewer than --count {count}")
    if outside := [camera for camera in dataset.cameras if Path(camera).name != camera]:
        raise UserError(f"{dataset.path}: camera {outside[0]!r} cannot name a folder; rename it in the data set")
    about = {"data": dataset.checksum, "split": split, "count": count}
    files.claim_folder(out, EXPORT_FILE)
    files.claim_record(out / EXPORT_FILE, about, "holds another export; choose an empty or new folder")
    for row in frames.index[:count]:
        for camera, pixels in zip(dataset.cameras, dataset.read_images([row])[0], strict=True):
            with files.atomic_path(out / camera / f"{row:06d}.png") as temporary:
                temporary.write_bytes(png.encode(pixels))
