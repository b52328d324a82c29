"""Finds the folder of a pretrained estimator: a local one, or with permission one from the Hugging Face Hub."""

from pathlib import Path

from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.models.registry import RUN_FILE, find_run

#: Describes an exported file, see `ropes.experiments.exporter`.
_CONFIG_FILE = "config.json"
#: The files that are downloaded; none of them can run code.
_FILES = ("*.json", "*.safetensors", "*.md")


def pretrained_folder(name: Path | str, *, download: bool = False) -> Path:
    """The folder of an estimator; see `ropes.inference.estimator.Estimator.from_pretrained`.

    Args:
        name: a folder, a packaged name, or with `download` a repository, "owner/name".
        download: allow the network.

    Raises:
        UserError: no such folder or name, an exported file that `Estimator` does not read, or a failed download.
    """
    text = str(name)
    is_repository = text.count("/") == 1 and all(text.split("/")) and not Path(text).exists()
    if not is_repository:
        folder = find_run(text)
    elif download:
        folder = _downloaded(text)
    else:
        raise UserError(f"{text} is no folder; download=True downloads the repository of that name from the Hub")
    if not (folder / RUN_FILE).is_file() and (held := _exported_file(folder)):
        raise UserError(f"{text} holds {held}, which runs without ropes; ropes reads folders of --format safetensors")
    return folder


def _exported_file(folder: Path) -> str | None:
    """Name of the file that `ropes package` exported for other runtimes; it is not downloaded, but described."""
    path = folder / _CONFIG_FILE
    content = read_json(path) if path.is_file() else None
    if isinstance(content, dict) and content.get("library_name") == "ropes" and isinstance(content.get("file"), str):
        return str(content["file"])
    return None


def _downloaded(repository: str) -> Path:
    """The folder with the files of a repository."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        return Path(snapshot_download(repository, allow_patterns=list(_FILES)))
    except (OSError, HFValidationError) as error:  # the Hub's errors, no network, a full disk
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"cannot download {repository} from the Hugging Face Hub: {reason}") from error
