"""A data set of an arm of boxes before a picture, drawn in software through known cameras."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.causal.scm import Regime
from ropes.common import files
from ropes.data import schema, writer
from ropes.simulation.kinematics import link_poses
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera
from ropes.simulation.silhouette import link_meshes, shaded, silhouette
from ropes.simulation.urdf import read_urdf

JOINTS = ("pan", "lift", "elbow")
#: Anchors of the data set; each has a frame for every regime.
ANCHORS = 16
SIDE = 128
#: Two cameras at different sides of the arm, the second one turned about its line of sight.
CAMERAS = {
    camera.name: Pinhole.of(camera, SIDE)
    for camera in (
        Camera(name="front", target=(0.0, 0.0, 0.3), distance=1.3, yaw=70.0, pitch=-25.0, roll=0.0, fov=50.0),
        Camera(name="side", target=(0.05, 0.0, 0.25), distance=1.2, yaw=-20.0, pitch=-40.0, roll=12.0, fov=60.0),
    )
}


def _box(size: str, at: str) -> str:
    return f'<visual><origin xyz="{at}"/><geometry><box size="{size}"/></geometry></visual>'


URDF = f"""<robot name="boxes">
  <link name="foot">{_box(".14 .1 .1", "0 0 .05")}</link>
  <link name="turret">{_box(".1 .08 .1", "0 0 .05")}</link>
  <link name="upper">{_box(".06 .06 .3", "0 0 .15")}</link>
  <link name="lower">{_box(".25 .05 .05", ".12 0 0")}{_box(".04 .16 .04", ".25 .03 0")}</link>
  <joint name="pan" type="revolute"><parent link="foot"/><child link="turret"/><origin xyz="0 0 .1"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="lift" type="revolute"><parent link="turret"/><child link="upper"/><origin xyz="0 0 .1"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 .3"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
</robot>"""


def write_urdf(folder: Path) -> Path:
    path = folder / "boxes.urdf"
    path.write_text(URDF, encoding="utf-8")
    return path


def draw(urdf: Path, angles: NDArray[np.float64], camera: Pinhole, *, recorded: bool) -> NDArray[np.uint8]:
    """Images of the arm, (n, H, W, 3): before a picture; `recorded` adds noise and changing light."""
    arm = read_urdf(urdf)
    meshes, poses = link_meshes(arm), link_poses(arm, JOINTS, angles, {})
    rng = np.random.default_rng(5)
    picture = ndimage.gaussian_filter(rng.normal(size=(camera.height, camera.width, 3)), (6, 6, 0))
    picture = 130 + 40 * picture / picture.std()
    images = np.empty((len(angles), *picture.shape), np.uint8)
    for k in range(len(angles)):
        placed = {link: pose[k] for link, pose in poses.items()}
        there = silhouette(meshes, placed, camera)
        image = np.where(there[..., None], 0.5 * shaded(meshes, placed, camera)[..., None] - 20, picture)
        if recorded:
            image = image * (1 + 0.05 * np.sin(k / 9)) + rng.normal(scale=2.0, size=image.shape)
        images[k] = np.round(image.clip(0, 255)).astype(np.uint8)
    return images


def write_data(
    path: Path, urdf: Path, cameras: Mapping[str, Pinhole] = CAMERAS, *, recorded: bool = False, intrinsics: bool = True
) -> Path:
    """Write the data set; without `intrinsics` it does not say what the cameras are."""
    regimes = (Regime(), *(Regime(joint, policy) for joint in JOINTS for policy in (1, 2)))
    rng = np.random.default_rng(2)
    angles = rng.uniform(-1, 1, size=(ANCHORS, len(regimes), len(JOINTS))) * np.array([1.4, 0.7, 1.2])
    flat = angles.reshape(-1, len(JOINTS))
    shots = {name: draw(urdf, flat, camera, recorded=recorded) for name, camera in cameras.items()}
    images = {name: shot.reshape(*angles.shape[:2], *shot.shape[1:]) for name, shot in shots.items()}
    writer.write_arrays(
        path,
        images={"train": images},
        states={"train": angles},
        cameras=tuple(cameras),
        joints=JOINTS,
        regimes=regimes,
    )
    note = files.read_json(path / schema.PROVENANCE)
    note["cameras"] = [
        {
            key: value
            for key, value in camera.to_record().items()
            if key == "name" or (intrinsics and key != "extrinsics")
        }
        for camera in cameras.values()
    ]
    files.write_json(path / schema.PROVENANCE, note)
    return path


def link_errors(urdf: Path, found: Pinhole, true: Pinhole) -> NDArray[np.float64]:
    """Distances between the projected origins of the moving links by two cameras, over many poses, pixels."""
    angles = np.random.default_rng(9).uniform(-1, 1, size=(50, len(JOINTS)))
    poses = link_poses(read_urdf(urdf), JOINTS, angles, {})
    origins = np.concatenate([pose[:, :3, 3] for pose in poses.values()])
    return np.linalg.norm(found.project(origins)[0] - true.project(origins)[0], axis=1)
