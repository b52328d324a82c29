"""Which files of a recording are whole: all their images can be read, not only their metadata."""

from collections.abc import Sequence
from pathlib import Path

from ropes.common.progress import progress as show_progress
from ropes.data import parquet
from ropes.errors import UserError


def whole_files(paths: Sequence[Path], rows: int, noun: str, *, progress: bool) -> set[Path]:
    """The files that are there and undamaged; all of each file is read, and the checksums of its pages are verified.

    Args:
        paths: of the files.
        rows: number of rows of each.
        noun: what a file holds, for messages.
        progress: show progress.

    Raises:
        UserError: the operating system cannot read a file, which may be intact.
    """
    whole = set[Path]()
    with show_progress("checking recorded files", len(paths), show=progress) as update:
        for done, path in enumerate(paths, 1):
            if _is_whole(path, rows, noun):
                whole.add(path)
            update(done)
    return whole


def _is_whole(path: Path, rows: int, noun: str) -> bool:
    try:
        return len(parquet.read_table(path)) == rows
    except UserError as error:
        cause = error.__cause__
        # Errors of the operating system have a number, and those of damaged files have none.
        if isinstance(cause, OSError) and cause.errno is not None and not isinstance(cause, FileNotFoundError):
            raise UserError(
                f"{path} cannot be read ({cause.strerror}): mend that and run the same command again, or delete the "
                f"file to record its {noun} again"
            ) from error
        return False
