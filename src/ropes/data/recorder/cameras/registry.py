"""Which camera reads a source."""

from pathlib import Path

from ropes.data.recorder.cameras.files import SUFFIXES, VIDEOS, open_file
from ropes.data.recorder.cameras.opencv import open_opencv
from ropes.data.recorder.interfaces import Camera
from ropes.data.recorder.stillness import asked
from ropes.errors import UserError


def open_camera(name: str, source: str) -> Camera:
    """Open a camera.

    Args:
        name: of the camera, for messages.
        source: number or device file of a camera that OpenCV reads, or the address of a stream (scheme://…); an image
            that another program replaces, or a folder to which it adds images; or a video.

    Raises:
        UserError: nothing reads such a source, or it does not answer.
    """
    path = Path(source)
    try:
        if source.isdecimal() or source.startswith("/dev/") or "://" in source:
            return asked(f"camera {name}", lambda: open_opencv(source))
        if path.is_dir() or (path.is_file() and path.suffix.lower() in (*SUFFIXES, *VIDEOS)):
            return asked(f"camera {name}", lambda: open_file(path))
    except UserError as error:
        raise UserError(f"--cameras {name}={source}: {error}") from error
    raise UserError(
        f"--cameras {name}={source}: give the number of a camera, a device file, the address of a stream, or an "
        "existing image, folder of images or video"
    )
