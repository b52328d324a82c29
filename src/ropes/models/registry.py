"""Packaged estimators: folders in `ropes/models/pretrained`, found by name."""

import difflib
from pathlib import Path

from ropes.errors import UserError

#: Files that mark a folder as a run, or as a packaged estimator.
RUN_FILE, CARD_FILE, README_FILE = "run.json", "MODEL_CARD.md", "README.md"
#: Prefix of a packaged estimator's name.
PACKAGED = "packaged:"
#: The packaged estimator that experiments start from and compare with.
ARM_ESTIMATOR = "panda-2c"


def packaged_folder() -> Path:
    """Folder of the packaged estimators."""
    return Path(__file__).parent / "pretrained"


def packaged_names(folder: Path | None = None) -> tuple[str, ...]:
    """Sorted names of the packaged estimators.

    Args:
        folder: of the estimators; default that of the package.
    """
    return tuple(sorted(card.parent.name for card in (folder or packaged_folder()).glob(f"*/{CARD_FILE}")))


def find_run(run: str | Path, folder: Path | None = None) -> Path:
    """The folder of a run, or of a packaged estimator.

    `packaged:NAME` is always a packaged estimator, and a path with a separator always a folder. A plain name is a
    packaged estimator, or a folder if there is no such estimator.

    Args:
        run: a folder, or the name of a packaged estimator; a string, as a `Path` drops a leading `./`.
        folder: of the packaged estimators; default that of the package.

    Raises:
        UserError: it is neither, or both; the message lists the names.
    """
    folder, text, path = folder or packaged_folder(), str(run), Path(run)
    names = packaged_names(folder)
    if text.startswith(PACKAGED):
        if (name := text.removeprefix(PACKAGED)) not in names:
            raise UserError(f"{name} is no packaged estimator: {_known(name, names)}")
        return folder / name
    if text in names:
        if not (path / RUN_FILE).is_file():
            return folder / text
        raise UserError(f"{text} is a run's folder and a packaged estimator: give ./{text} or {PACKAGED}{text}")
    if not path.is_dir():
        raise UserError(f"{text} is neither a run's folder nor a packaged estimator: {_known(text, names)}")
    return path


def own_run(run: str | Path, folder: Path | None = None) -> Path:
    """The folder of a run that is not a packaged estimator, and may be changed.

    Raises:
        UserError: it is a packaged estimator; or see `find_run`.
    """
    path = find_run(run, folder)
    if path.resolve().parent == (folder or packaged_folder()).resolve():
        raise UserError(f"{run} is a packaged estimator and stays as it is; copy {path} and calibrate the copy")
    return path


def _known(name: str, names: tuple[str, ...]) -> str:
    """The closest name, and all names."""
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return hint + (f"packaged are {', '.join(names)}" if names else "none comes with this installation")


def read_card(folder: Path) -> str:
    """The model card in a run's folder.

    Raises:
        UserError: the run has none.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        raise UserError(f"{folder} has no {CARD_FILE}; ropes package writes one")
    return path.read_text(encoding="utf-8")
