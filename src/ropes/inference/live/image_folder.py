"""A folder that fills with images: names are listed anew, and only new names are looked at."""

import os
from pathlib import Path

from ropes.data.recordings.frame_folders import FRAME_SUFFIXES


class ImageFolder:
    """The images of a folder, as of the last look; files whose names begin with a dot are left out.

    Args:
        path: of the folder.

    Attributes:
        files: name of an image without suffix → name of its file.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._listed, self.files = path, set[str](), dict[str, str]()

    def look(self) -> None:
        """List the folder.

        Raises:
            FileNotFoundError: the folder is gone.
        """
        listed = set(os.listdir(self._path))
        added = listed - self._listed
        if self._listed - listed:  # a file is gone; another one may have its name with another suffix
            self.files, added = {}, listed
        self._listed = listed
        for file in sorted(added):
            name, suffix = os.path.splitext(file)
            if suffix.lower() in FRAME_SUFFIXES and file[0] != ".":
                self.files[name] = file

    def path(self, name: str) -> Path:
        """Path of an image by its name without suffix."""
        return self._path / self.files[name]
