"""Exports images of a data set as PNG files, in the folder layout of `ropes predict`."""

from pathlib import Path

from ropes.common import files, png
from ropes.data.layout import open_dataset
from ropes.errors import UserError

#: Records data set, split and count, so that two exports do not mix.
EXPORT_FILE = "export.json"


def export_images(data: Path | str, split: str, count: int, out: Path | str) -> None:
    """Write the first images of a split as `out`/CAMERA/INDEX.png, 8-bit; INDEX is the row in the data set.

    Args:
        data: folder of the data set.
        split: name of the split.
        count: number of poses, each with one image per camera.
        out: a new or empty folder, or that of the same export, interrupted.

    Raises:
        UserError: no such data set or split, fewer poses than `count`, or `out` holds something else.
    """
    dataset, out = open_dataset(data), Path(out)
    frames = dataset.frames(split)
    if len(frames) < count:
        raise UserError(f"{dataset.path}: split {split!r} has {len(frames)} poses, fewer than --count {count}")
    if invalid := [camera for camera in dataset.cameras if Path(camera).name != camera]:
        raise UserError(f"{dataset.path}: camera {invalid[0]!r} cannot name a folder; rename it in the data set")
    record = {"data": dataset.checksum, "split": split, "count": count}
    files.ensure_output_folder(out, EXPORT_FILE)
    files.check_manifest(out / EXPORT_FILE, record, "holds another export; choose an empty or new folder")
    for row in frames.index[:count]:
        for camera, pixels in zip(dataset.cameras, dataset.read_cameras([row]), strict=True):
            with files.atomic_path(out / camera / f"{row:06d}.png") as temporary:
                temporary.write_bytes(png.encode(pixels[0]))
