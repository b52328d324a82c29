"""Whether a folder holds the recording that is to go on, and what differs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropes.data.recorder.protocols import RecordingProtocol
from ropes.errors import UserError


def require_same_protocol(root: Path, stored: Mapping[str, Any], protocol: RecordingProtocol) -> None:
    """Check that a folder holds episodes of this protocol, whatever their number.

    Args:
        root: the folder.
        stored: content of its `meta/ropes.json`.
        protocol: what an episode is.

    Raises:
        UserError: it holds others.
    """
    noun = "chain" if "chains" in stored else "anchor"
    if noun != protocol.noun:
        raise UserError(
            f"{root} holds {noun}s, not {protocol.noun}s; give --{noun}s to go on, or choose an empty or new folder"
        )
    for key, value in protocol.provenance(0).items():
        known = stored[key]
        if not isinstance(known, dict) or {**known, key: 0} != value:
            raise UserError(f"{root} holds {noun}s of another kind ({known}); choose an empty or new folder")


def shown(part: object) -> str:
    """Part of a camera's view as its option has it."""
    if isinstance(part, list):
        return ",".join(map(str, part))
    return "none" if part is None else str(part)


def difference(key: str, stored: object, value: object) -> str:
    """What an entry of `meta/ropes.json` had before, in words: the first part that differs.

    Args:
        key: name of the entry.
        stored: its value in the folder.
        value: its value now.
    """
    if isinstance(stored, dict) and isinstance(value, dict):
        for part in value:
            if stored.get(part) != value[part]:
                known = stored.get(part)
                if part == "splits" and (ranges := _ranges(known)) != _ranges(value[part]):
                    return f"ranges of {ranges}"
                return f"another {part}" if isinstance(value[part], dict | list) or known is None else f"{part} {known}"
    return f"another {key}" if isinstance(value, dict | list) else f"{key} {stored}"


def _ranges(splits: Any) -> str:
    """The ranges of the joints, as --ranges takes them; empty where a description has none."""
    try:
        laws = splits["train"]["observational"]
        return " ".join(f"{joint} {laws[joint]['low']:g}:{laws[joint]['high']:g}" for joint in sorted(laws))
    except (KeyError, TypeError):
        return ""
