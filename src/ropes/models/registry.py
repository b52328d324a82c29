"""Packaged estimators: folders in `ropes/models/pretrained`, found by name."""

import difflib
from pathlib import Path

from ropes.errors import UserError

#: A folder that holds the one is a run, the other a packaged estimator.
RUN_FILE, CARD_FILE = "run.json", "MODEL_CARD.md"
#: Before a name: the packaged estimator, whatever folders there are.
PACKAGED = "packaged:"
#: The estimator of the arm that experiments begin from, and are compared with.
ARM_ESTIMATOR = "panda-2c"


def packaged_folder() -> Path:
    """Where the packaged estimators are."""
    return Path(__file__).parent / "pretrained"


def packaged_names(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the packaged estimators, in order.

    Args:
        folder: where they are; the package's own where left out.
    """
    return tuple(sorted(card.parent.name for card in (folder or packaged_folder()).glob(f"*/{CARD_FILE}")))


def find_run(run: str | Path, folder: Path | None = None) -> Path:
    """The folder of a run, or of a packaged estimator.

    `packaged:NAME` is always the packaged estimator, and a path with a separator always a folder.  A plain name is the
    folder of that name where that holds a run, and else the packaged estimator.

    Args:
        run: a folder, or the name of a packaged estimator; a `Path` forgets a leading `./`, a string does not.
        folder: where those are; the package's own where left out.

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
    """The folder of a run that may be changed: not one of the package's own.

    Raises:
        UserError: it is a packaged estimator, or as `find_run`.
    """
    found = find_run(run, folder)
    if found.resolve().parent == (folder or packaged_folder()).resolve():
        raise UserError(f"{run} is a packaged estimator and stays as it is; copy {found} and calibrate the copy")
    return found


def _known(name: str, names: tuple[str, ...]) -> str:
    """What is packaged, and which of it may have been meant."""
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
