"""Predicts where the arm moves in images: its surface as points, projected and blurred."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from ropes.common.arrays import Floats
from ropes.inference.hand_eye.candidate import Candidate
from ropes.simulation.silhouette import Mesh

#: Nearest depth of a point that is seen, metres.
_NEAR = 0.02
#: A pixel counts less where the share of the frames with the arm is within this distance of a half.
_UNSURE = 0.15
#: Coverage below which a pixel counts as free.
_FAINT = 0.02

Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class PosedPoints:
    """Points on the arm's surface at several poses, each for the same area.

    Attributes:
        points: (n, k, 3) in the base frame, metres.
        normals: (n, k, 3) unit normals; their sign does not matter.
        area: of the surface at each point, square metres.
    """

    points: Singles
    normals: Singles
    area: float

    def __len__(self) -> int:
        return len(self.points)

    def of(self, poses: slice | NDArray[np.int64], every: int = 1) -> "PosedPoints":
        """Some of the poses, with each `every`-th point."""
        return PosedPoints(self.points[poses, ::every], self.normals[poses, ::every], self.area * every)


def posed_points(
    meshes: Mapping[str, Mesh], poses: Mapping[str, Floats], count: int, rng: np.random.Generator
) -> PosedPoints:
    """Draw points evenly from the surface of an arm.

    Args:
        meshes: triangles of each link, see `ropes.simulation.silhouette.link_meshes`.
        poses: link → its poses (n, 4, 4) in the base frame.
        count: number of points.
        rng: for the draw.
    """
    links, corners = [], []
    for number, mesh in enumerate(meshes.values()):
        corners.append(mesh.points[mesh.faces])
        links.append(np.full(len(mesh.faces), number))
    triangles, link = np.concatenate(corners), np.concatenate(links)
    crossed = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    areas = np.linalg.norm(crossed, axis=1) / 2
    # Stratified: evenly spaced along the cumulative area.
    order = rng.permutation(len(areas))
    ends = np.cumsum(areas[order])
    chosen = order[np.searchsorted(ends, (np.arange(count) + rng.random(count)) / count * ends[-1])]
    weights = rng.dirichlet([1.0, 1.0, 1.0], size=count)
    points = np.einsum("kc,kcx->kx", weights, triangles[chosen])
    normals = crossed[chosen] / (2 * areas[chosen, None])
    shuffled = rng.permutation(count)
    points, normals, link = points[shuffled], normals[shuffled], link[chosen][shuffled]
    matrices = np.stack([poses[name] for name in meshes], axis=1)[:, link]
    placed = np.einsum("nkij,kj->nki", matrices[..., :3, :3], points) + matrices[..., :3, 3]
    turned = np.einsum("nkij,kj->nki", matrices[..., :3, :3], normals)
    return PosedPoints(placed.astype(np.float32), turned.astype(np.float32), float(ends[-1]) / count)


def coverage(posed: PosedPoints, view: Candidate, side: int, blur: float) -> Floats:
    """Blurred silhouettes, (n, height, width) in [0, 1].

    A point with normal n at p stands for the area a f² |n · (p − eye)| / z³ of the image.  A closed surface covers each
    pixel inside its silhouette at least twice, so half the sum of these areas over a pixel's, at most 1, is the
    silhouette.  Half of the blur comes before this limit: it evens out the points' random density.  Were all of it
    before, the silhouettes of overlapping links would be too wide.

    Args:
        posed: the surface's points.
        view: the camera.
        side: longer side of the images, pixels.
        blur: standard deviation of the blur, pixels.
    """
    height, width = (max(1, round(side * share)) for share in view.size)
    n = len(posed)
    rotation, translation = view.rotation.astype(np.float32), view.translation.astype(np.float32)
    seen = posed.points @ rotation.T + translation
    depth = np.maximum(seen[..., 2], _NEAR)
    facing = np.abs(np.einsum("nkx,nkx->nk", posed.normals @ rotation.T, seen))
    focal = (side * view.focal).astype(np.float32)
    weight = (posed.area / 2 * focal[0] * focal[1]) * facing / depth**3
    x = seen[..., 0] / depth * focal[0] + side * view.principal[0] - 0.5
    y = seen[..., 1] / depth * focal[1] + side * view.principal[1] - 0.5
    inside = (seen[..., 2] > _NEAR) & (x > -1) & (x < width) & (y > -1) & (y < height)
    frame = np.broadcast_to(np.arange(n)[:, None], inside.shape)[inside]
    x, y, weight = x[inside], y[inside], weight[inside]
    left, top = np.floor(x), np.floor(y)
    right, down = x - left, y - top
    wide = width + 2
    index = ((frame * (height + 2) + top.astype(np.int64) + 1) * wide) + left.astype(np.int64) + 1
    layers = np.zeros(n * (height + 2) * wide)
    parts = (
        (0, (1 - right) * (1 - down)),
        (1, right * (1 - down)),
        (wide, (1 - right) * down),
        (wide + 1, right * down),
    )
    for offset, share in parts:
        layers += np.bincount(index + offset, weights=weight * share, minlength=len(layers))
    images = layers.reshape(n, height + 2, wide)[:, 1:-1, 1:-1]
    half = blur / math.sqrt(2)
    return blurred(np.minimum(blurred(images, half), 1.0), half)


def blurred(images: Floats, blur: float) -> Floats:
    """Images (n, height, width) after a Gaussian blur."""
    return np.asarray(ndimage.gaussian_filter(images, (0.0, blur, blur), mode="nearest", truncate=3.0))


def changes(silhouettes: Floats) -> tuple[Floats, Floats]:
    """Differences of silhouettes (n, height, width) from their median, and how far each pixel counts in each frame.

    Where the arm is in most frames, the median image shows the arm.  A frame then differs where the arm is not.  Where
    it is the arm again, it may look another way, so the pixel does not count.  Nor does a pixel count in any frame
    where the arm is in about half of them.
    """
    reached = silhouettes.max(axis=0) > _FAINT
    usual = np.zeros(silhouettes.shape[1:])
    usual[reached] = np.median(silhouettes[:, reached], axis=0)
    sure = np.minimum(np.abs(silhouettes.mean(axis=0) - 0.5) / _UNSURE, 1)
    return np.abs(silhouettes - usual), sure * (1 - usual * silhouettes)
