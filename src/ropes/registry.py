"""Estimators that come with the package: folders of `ropes/pretrained`, used by their names as runs are by theirs."""

import difflib
from pathlib import Path

from ropes.errors import UserError

#: A folder that holds it is a packaged estimator.
CARD_FILE = "MODEL_CARD.md"


def packaged_folder() -> Path:
    """Where the packaged estimators are."""
    return Path(__file__).parent / "pretrained"


def packaged_names(folder: Path | None = None) -> tuple[str, ...]:
    """Names of the packaged estimators, in order.

    Args:
        folder: where they are; the package's own where left out.
    """
    return tuple(sorted(card.parent.name for card in (folder or packaged_folder()).glob(f"*/{CARD_FILE}")))


def find_run(run: Path, folder: Path | None = None) -> Path:
    """The folder of a run, or of the packaged estimator of that name; a folder of that name wins.

    Args:
        run: a folder, or the name of a packaged estimator.
        folder: where those are; the package's own where left out.

    Raises:
        UserError: it is neither; the message lists the names.
    """
    if run.is_dir():
        return run
    folder = folder or packaged_folder()
    names = packaged_names(folder)
    if str(run) in names:
        return folder / run
    close = difflib.get_close_matches(str(run), names, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    known = f"packaged are {', '.join(names)}" if names else "none comes with this installation"
    raise UserError(f"{run} is neither a run's folder nor a packaged estimator: {hint}{known}")


def own_run(run: Path, folder: Path | None = None) -> Path:
    """The folder of a run that may be changed: not one of the package's own.

    Raises:
        UserError: it is a packaged estimator, or as `find_run`.
    """
    found = find_run(run, folder)
    if found.resolve().parent == (folder or packaged_folder()).resolve():
        raise UserError(f"{run} is a packaged estimator and stays as it is; copy {found} and calibrate the copy")
    return found


def read_card(folder: Path) -> str:
    """The model card in a run's folder.

    Raises:
        UserError: the run has none.
    """
    path = folder / CARD_FILE
    if not path.is_file():
        raise UserError(f"{folder} has no {CARD_FILE}; ropes package writes one")
    return path.read_text(encoding="utf-8")
