"""Finger and cube in PyBullet: renders colour images from factors, and checks collisions.

The scene is `finger_with_stage` of the TriFinger platform, from the package robot-properties-fingers.
"""

import colorsys
import importlib.util
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from ropes.common import files
from ropes.common.arrays import Images
from ropes.common.cached_files import mark_used
from ropes.common.files import write_arrays
from ropes.common.seeds import generator
from ropes.errors import UserError, install_command
from ropes.simulation.bullet import SUPERSAMPLING, BulletScene, downsample
from ropes.simulation.cameras import projection_matrix, view_matrix
from ropes.simulation.finger_setting import FACTORS, HUE, NAMES, Domain, FingerSetting, factor_values

JOINTS = ("finger_base_to_upper_joint", "finger_upper_to_middle_joint", "finger_middle_to_lower_joint")
#: The link of the stage.
STAGE = "stage_link"
#: Half the side of the cube, metres; the cube lies on the floor of the stage.
HALF_CUBE = 0.0325
_PACKAGE = "robot_properties_fingers"
#: The joint that mounts the finger, and its height on the platform with three fingers, metres.
_MOUNT, _HEIGHT = "base_to_finger", 0.29
#: Links of the finger that can collide; the lower one has the padded tip.
_MOVING_LINKS = ("finger_upper_link", "finger_middle_link", "finger_lower_link")
UPPER, MIDDLE, LOWER = (NAMES.index(f"{part}_joint") for part in ("upper", "middle", "lower"))


def finger_urdf() -> Path:
    """Write the finger's URDF for PyBullet: absolute mesh paths and a hollow stage.

    PyBullet collides with the convex hull of a mesh unless the URDF marks it as concave; the hull would fill the bowl.

    Deviation: the finger is mounted at .29 m, as in the package's `trifinger_with_stage`.  Why: at the .34 m of
    `finger_with_stage` its tip never reaches the floor, which it does in the paper (Figs. 9 and 10).  Effect: 53% of
    the grid's states are possible; the paper has 1.52 of 2.92 billion, 52%.

    Raises:
        UserError: the package with the meshes is not installed.
    """
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"finger-cube needs the TriFinger's meshes: {install_command('finger')}")
    package = Path(spec.submodule_search_locations[0])
    tree = ET.parse(package / "urdf" / "finger_with_stage.urdf")
    for mesh in tree.iter("mesh"):
        mesh.set("filename", mesh.attrib["filename"].replace(f"package://{_PACKAGE}", str(package)))
    for collision in tree.findall(f"link[@name='{STAGE}']/collision"):
        collision.set("concave", "yes")
    mount = tree.find(f"joint[@name='{_MOUNT}']/origin")
    assert mount is not None
    mount.set("xyz", f"0 0 {_HEIGHT}")
    text = ET.tostring(tree.getroot(), encoding="unicode")
    path = files.cache_folder() / "finger" / f"{sha256(text.encode()).hexdigest()[:24]}.urdf"
    mark_used(path)
    if not path.exists() or path.read_bytes() != text.encode():  # a damaged file
        files.write_text(path, text)
    return path


def finger_digest() -> str:
    """SHA-256 of the URDF and its meshes, independent of their folders.

    Raises:
        UserError: the package with the meshes is not installed.
    """
    root = ET.parse(finger_urdf()).getroot()
    meshes = sorted({mesh.attrib["filename"] for mesh in root.iter("mesh")})
    for mesh in root.iter("mesh"):
        mesh.set("filename", Path(mesh.attrib["filename"]).name)
    digest = sha256(ET.tostring(root))
    for path in meshes:
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


class FingerScene(BulletScene):
    """A context manager that renders states of finger and cube and finds those without collisions.

    Args:
        setting: the scene; a state's last column is the number of its domain.
    """

    def __init__(self, setting: FingerSetting) -> None:
        self.setting = setting
        self._side = setting.image_size * SUPERSAMPLING
        path = finger_urdf()
        super().__init__()
        self._finger, self._infos = self._load(path)
        cube = {"halfExtents": [HALF_CUBE] * 3, "physicsClientId": self._client}
        shape = self._bullet.createCollisionShape(self._bullet.GEOM_BOX, **cube)
        visual = self._bullet.createVisualShape(self._bullet.GEOM_BOX, **cube)
        self._cube: int = self._bullet.createMultiBody(0, shape, visual, physicsClientId=self._client)
        joints, links = ({info[place].decode(): info[0] for info in self._infos} for place in (1, 12))
        self._joints = [joints[name] for name in JOINTS]
        self._links = [links[name] for name in _MOVING_LINKS]
        self._stage = links[STAGE]
        self._domain: int | None = None

    def feasible(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Whether no moving link intersects the cube or the stage: states (n, 7) → (n,)."""
        return np.array([self._is_feasible(state) for state in np.asarray(states, dtype=np.float64)], dtype=bool)

    def render_all(self, states: ArrayLike) -> Iterator[Images]:
        """Render states (n, 8), seven factors and the number of the domain, each as uint8 (1, S, S, 3)."""
        for state in np.asarray(states, dtype=np.float64):
            domain = int(state[len(NAMES)])
            self._place(state)
            self._set_colours(domain, float(state[HUE]))
            yield self._photograph(self.setting.domains[domain], state)[None]

    def _place(self, state: NDArray[np.float64]) -> None:
        for joint, angle in zip(self._joints, state, strict=False):
            self._bullet.resetJointState(self._finger, joint, float(angle), physicsClientId=self._client)
        x, y, turn = (float(value) for value in state[3:6])
        orientation = self._bullet.getQuaternionFromEuler([0.0, 0.0, turn])
        self._bullet.resetBasePositionAndOrientation(
            self._cube, [x, y, HALF_CUBE], orientation, physicsClientId=self._client
        )

    def _is_feasible(self, state: NDArray[np.float64]) -> bool:
        self._place(state)
        closest = self._bullet.getClosestPoints
        for link in self._links:
            client = {"linkIndexA": link, "physicsClientId": self._client}
            if closest(self._finger, self._cube, 0.0, **client):
                return False
            if closest(self._finger, self._finger, 0.0, linkIndexB=self._stage, **client):
                return False
        return True

    def _set_colours(self, domain: int, hue: float) -> None:
        """Set the colours of a domain and the hue of the cube."""
        paint = self._bullet.changeVisualShape
        if domain != self._domain:
            look = self.setting.domains[domain]
            for link in range(-1, len(self._infos)):
                colour = look.stage if link == self._stage else look.finger
                paint(self._finger, link, rgbaColor=[*colour, 1], physicsClientId=self._client)
            self._domain = domain
        colour = colorsys.hsv_to_rgb(hue / (2 * np.pi), 1.0, 1.0)
        paint(self._cube, -1, rgbaColor=[*colour, 1], physicsClientId=self._client)

    def _photograph(self, look: Domain, state: NDArray[np.float64]) -> Images:
        colours, _, bodies = self._render(
            view_matrix(look.camera),
            projection_matrix(look.camera),
            self._side,
            self._side,
            lightDirection=look.light,
            lightAmbientCoeff=look.ambient,
            lightDiffuseCoeff=look.diffuse,
            lightSpecularCoeff=look.specular,
        )
        empty = np.asarray(bodies, dtype=np.int32).reshape(self._side, self._side, 1) < 0
        background = np.round(255 * np.array(look.background)).astype(np.uint8)
        return degraded(downsample(np.where(empty, background, colours)), look, state)


def degraded(image: Images, look: Domain, state: NDArray[np.float64]) -> Images:
    """Add the camera's blur, and noise that depends on the state alone."""
    if not (look.blur or look.noise):
        return image
    levels = image.astype(np.float64)
    if look.blur:
        deviation = look.blur * image.shape[0]
        levels = gaussian_filter(levels, (deviation, deviation, 0))
    if look.noise:
        levels += 255 * look.noise * generator(0, state.tobytes().hex()).normal(size=levels.shape)
    return np.clip(np.round(levels), 0, 255).astype(np.uint8)


def write_feasibility(
    path: Path, setting: FingerSetting, seed: int = 0, *, drawn: int = 60_000, each: int = 20
) -> None:
    """Write the numbers of collision-free states, drawn uniformly over the grid and with the upper joint upright.

    Arrays: `drawn` and `possible` count states by middle and lower joint (30, 30), over all other factors (Fig. 10);
    `upright` holds the share of possible states with the upper joint at the value nearest 0 (Fig. 9), over
    positions of the cube.  An existing file stays.

    Args:
        path: the file.
        setting: the scene; its appearance does not matter.
        seed: seed of the draws.
        drawn: number of states drawn over the whole grid.
        each: number of states drawn for each pair of middle and lower angles with the upper joint upright.

    Raises:
        UserError: the meshes are not installed.
    """
    if path.exists():
        return
    rng = generator(seed, "feasibility")
    counts = np.array([factor.count for factor in FACTORS])
    uniform = rng.integers(counts, size=(drawn, len(counts)))
    upright = rng.integers(counts, size=(counts[MIDDLE] * counts[LOWER] * each, len(counts)))
    upright[:, UPPER] = np.abs(FACTORS[UPPER].values).argmin()
    upright[:, MIDDLE], upright[:, LOWER] = np.divmod(np.arange(len(upright)) // each, counts[LOWER])
    with FingerScene(setting) as scene:
        possible, upright_possible = (scene.feasible(factor_values(numbers)) for numbers in (uniform, upright))
    arrays = {
        "drawn": _counts(uniform),
        "possible": _counts(uniform[possible]),
        "upright": upright_possible.reshape(counts[MIDDLE], counts[LOWER], each).mean(axis=2),
    }
    write_arrays(path, arrays)


def _counts(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of states by the values of middle and lower joint, (30, 30)."""
    counts = np.zeros((FACTORS[MIDDLE].count, FACTORS[LOWER].count), dtype=np.int64)
    np.add.at(counts, (numbers[:, MIDDLE], numbers[:, LOWER]), 1)
    return counts
