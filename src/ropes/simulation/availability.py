"""Locates URDF files, and says how to install PyBullet where it is missing."""

import platform
import sys
from pathlib import Path

from ropes.errors import UserError

#: URDF files and meshes that are part of ropes: the Panda, as in pybullet_data 3.2.7 (Apache License 2.0).
_ROBOTS = Path(__file__).parent / "robots"


def pybullet_missing() -> UserError:
    """The error for a missing PyBullet or pybullet_data (one wheel), with the command that installs it."""
    return UserError(f"this needs PyBullet, which is not installed: {_install()}")


def _install() -> str:
    """The command that installs PyBullet, and what it takes on this machine."""
    how = "pip install pybullet"
    if (machine := platform.machine()) not in ("x86_64", "AMD64"):
        how += f" (for {machine} it is built from source, which takes a C++ compiler)"
    elif sys.version_info >= (3, 12):
        how += " (after Python 3.11 it is built from source, which takes a C++ compiler)"
    return how


def locate(urdf: str) -> Path:
    """Resolve a URDF file: an absolute path, or one relative to the robots of ropes or to the data of pybullet_data.

    Raises:
        UserError: no such file, or pybullet_data is not installed.
    """
    path = Path(urdf)
    if not path.is_absolute() and (_ROBOTS / path).is_file():
        return _ROBOTS / path
    if not path.is_absolute():
        try:
            import pybullet_data
        except ModuleNotFoundError as error:
            missing = f"no URDF file at {path}, nor among the robots of ropes; those of pybullet_data need PyBullet"
            raise UserError(f"{missing}: {_install()}") from error
        path = Path(pybullet_data.getDataPath()) / path
    if not path.is_file():
        raise UserError(f"no URDF file at {path}; give the path of an existing one")
    return path


def find_urdf(urdf: str | Path) -> Path:
    """Resolve a URDF file in the working folder, or else as `locate` does.

    Raises:
        UserError: see `locate`.
    """
    return Path(urdf).resolve() if Path(urdf).is_file() else locate(str(urdf))
