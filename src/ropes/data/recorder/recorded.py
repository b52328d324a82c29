"""Reads recordings as they are: unfinished ones, and what the recorder found wrong with their episodes."""

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path

from ropes.causal.scm import CausalModel, Regime
from ropes.common import files, stores
from ropes.common.stores import Location
from ropes.data import schema, writer
from ropes.data.chains import has_chains
from ropes.data.dataset import Dataset
from ropes.data.recorder.folder import LOG, RecordingFolder, read_log
from ropes.data.recorder.protocols import AnchorProtocol, ChainProtocol
from ropes.errors import UserError
from ropes.simulation.actions import Action


@dataclass(frozen=True, repr=False)
class UnfinishedRecording(Dataset):
    """The whole episodes of a recording without metadata; to look at, not to learn from.

    Attributes:
        path: as `Dataset`.
        info: as the finished data set would have it.
        provenance: as stored.
        regimes_by_task: regime of each task index.
    """

    regimes_by_task: tuple[Regime, ...]

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """Regime of each task index."""
        return self.regimes_by_task

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, by task index."""
        return tuple(regime.name for regime in self.regimes)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """None."""
        return ()

    @cached_property
    def data_files(self) -> tuple[Path, ...]:
        """Paths of the files of the whole episodes; there may be more."""
        return tuple(self.path / schema.data_file(number) for number in range(self.info["total_episodes"]))


def open_unfinished(path: Location, *, progress: bool = False) -> UnfinishedRecording | None:
    """The episodes of an unfinished recording, up to the first one whose file is damaged.

    Args:
        path: its folder.
        progress: show progress while the files are read.

    Returns:
        None where the folder holds something else, or a finished recording.

    Raises:
        UserError: it has no whole episode yet, or its metadata are damaged.
    """
    if not isinstance(path, Path) or not (path / schema.PROVENANCE).is_file():
        return None
    stored = files.read_json(path / schema.PROVENANCE)
    if not isinstance(stored, dict) or "recorder" not in stored or stored.get("complete") is True:
        return None
    try:
        model = CausalModel.from_dict(stored["setting"]["splits"]["train"])
        state = stored["recorder"]["state"] is True
        shapes = {str(camera["name"]): camera["shape"] for camera in stored["cameras"]}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path / schema.PROVENANCE} is damaged ({error!r}); record into a new folder") from error
    protocol = ChainProtocol(model) if "chains" in stored else AnchorProtocol(model)
    folder = RecordingFolder(path, {}, {}, protocol, progress=progress)
    whole = list(takewhile(lambda entry: entry is not None, folder.slots))
    if not whole:
        raise UserError(f"{path} has no whole {protocol.noun} yet; run the same ropes record command again")
    features = schema.features(tuple(shapes), shapes, model.joints if state else None)
    plans = [writer.SplitPlan(name="train", episodes=1, tasks=protocol.stored(entry.order)) for entry in whole if entry]
    info = schema.info(writer.plan_shards(plans, len(shapes), 1), features, len(model.regimes), None)
    return UnfinishedRecording(path, info, stored, model.regimes)


def unmended_faults(dataset: Dataset) -> tuple[str, ...]:
    """A line for each episode that was faulty again when it was recorded again; none for other data sets.

    Raises:
        UserError: the log is damaged.
    """
    log = dataset.path / LOG
    if "recorder" not in (dataset.provenance or {}) or not stores.is_file(log):
        return ()
    noun = "chain" if has_chains(dataset) else "anchor"
    entries, _ = read_log(log, noun)
    return tuple(
        f"{noun} {entry.number} ({schema.data_file(place)}): {'; '.join(entry.unmended)}"
        for place, entry in enumerate(entries)
        if entry.unmended
    )
