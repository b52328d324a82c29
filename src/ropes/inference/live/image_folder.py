"""A folder that fills with images: names are listed anew, and only new names are looked at."""

import os
from collections.abc import Iterable
from pathlib import Path

from ropes.common.arrays import Images
from ropes.data.recordings.source import IMAGE_SUFFIXES, DamagedPicture, read_picture


class ImageFolder:
    """The images of a folder, as of the last look; files whose names begin with a dot are left out.

    Args:
        path: of the folder.

    Attributes:
        files: name of an image without suffix → name of its file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._listed, self.files = path, set[str](), dict[str, str]()

    def look(self) -> tuple[set[str], set[str]]:
        """List the folder; the time grows with the images that are new, and hardly with all others.

        Returns:
            Names of images that were added and removed.

        Raises:
            FileNotFoundError: the folder is gone.
        """
        listed = set(os.listdir(self._path))
        added, before = listed - self._listed, self.files
        if gone := len(listed) - len(added) < len(self._listed):  # another file may have the name of one that is gone
            self.files, added = {}, listed
        self._listed, names = listed, set[str]()
        for file in sorted(added):
            name, suffix = os.path.splitext(file)
            if suffix.lower() in IMAGE_SUFFIXES and file[0] != ".":
                self.files[name] = file
                names.add(name)
        return (names - before.keys(), before.keys() - names) if gone else (names, set())

    def path(self, name: str) -> Path:
        """Path of an image by its name without suffix."""
        return self._path / self.files[name]


def changed(paths: Iterable[Path]) -> int:
    """When the last of some files was written, nanoseconds since 1970; 0 if one is gone."""
    try:
        return max(path.stat().st_mtime_ns for path in paths)
    except FileNotFoundError:
        return 0


def read(path: Path) -> Images | None:
    """A complete image, or None.

    Raises:
        UserError: the image is neither 8-bit grey nor RGB.
    """
    try:
        return read_picture(path, str(path), f"{path} is damaged", opaque=True)
    except DamagedPicture:
        return None
