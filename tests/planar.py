"""An arm whose poses are solved by hand: two links in a plane with the tiny data set's joints, and a free wheel."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common import files
from ropes.data import schema
from ropes.simulation.settings import Robot
from tests import tiny

UPPER, LOWER, HEIGHT = 0.4, 0.3, 0.1
_BOX = '<visual><geometry><box size=".02 .02 .02"/></geometry></visual>'
URDF = f"""<robot name="planar">
  <link name="foot">{_BOX}</link> <link name="upper">{_BOX}</link> <link name="lower">{_BOX}</link>
  <link name="wheel">{_BOX}</link> <link name="tool">{_BOX}</link>
  <joint name="elbow" type="continuous"><parent link="foot"/><child link="upper"/><origin xyz="0 0 {HEIGHT}"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="wrist" type="continuous"><parent link="upper"/><child link="lower"/><origin xyz="{UPPER} 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="spin" type="revolute"><parent link="lower"/><child link="wheel"/><origin xyz="{LOWER} 0 0"/>
    <axis xyz="0 0 1"/><limit lower=".2" upper="1" effort="1" velocity="1"/></joint>
  <joint name="flange" type="fixed"><parent link="wheel"/><child link="tool"/></joint>
</robot>"""
JOINTS = ("elbow", "wrist", "spin")


def write_urdf(folder: Path, text: str = URDF) -> Path:
    path = folder / "planar.urdf"
    path.write_text(text, encoding="utf-8")
    return path


def tip(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where the tool is, (n, 3) metres, for angles (n, 2): l₁ (cos a, sin a) + l₂ (cos (a + b), sin (a + b))."""
    total = angles.sum(axis=1)
    x = UPPER * np.cos(angles[:, 0]) + LOWER * np.cos(total)
    y = UPPER * np.sin(angles[:, 0]) + LOWER * np.sin(total)
    return np.stack([x, y, np.full(len(angles), HEIGHT)], axis=1)


def name_robot(data: Path, urdf: Path, **neutral: float) -> Path:
    """Record in a tiny data set that it shows this arm, as ropes simulate does."""
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["robot"] = asdict(Robot(urdf=str(urdf), joints=(*tiny.JOINTS, "spin"), neutral=neutral))
    files.write_json(data / schema.PROVENANCE, note)
    return data
