"""MPI3D's photographs: the grid, data sets of anchors and of pairs, and files that are no grid."""

import io
import math
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from numpy.lib.format import write_array

from ropes.common.arrays import Images
from ropes.data.dataset import Dataset
from ropes.data.import_mpi3d import SHARED, import_anchors, import_factors
from ropes.data.mpi3d import (
    AXES,
    CAMERAS,
    NAMES,
    POSITIONS,
    SHAPE,
    STEP,
    angles_of,
    holds_grid,
    open_grid,
    positions_of,
)
from ropes.data.mpi3d_points import import_points
from ropes.data.validate import faults, validate
from ropes.errors import UserError
from ropes.methods.policies import bayes_floors, described_model
from ropes.methods.training.registration import has_one_background
from tests import tiny, tiny_mpi3d

IMAGES = np.zeros((2, *SHAPE), np.uint8)


@pytest.fixture(scope="module")
def images() -> Images:
    return tiny_mpi3d.photographs()


@pytest.fixture(scope="module")
def source(images: Images, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mpi3d") / "mpi3d_real.npz"
    np.savez(path, images=images)
    return path


@pytest.fixture(scope="module")
def anchored(source: Path) -> Dataset:
    return import_anchors(source, out=source.parent / "anchors", anchors=12, test_anchors=20, seed=3, progress=False)


def position(angles: object) -> object:
    """Positions of angles that a data set stores in float32."""
    return positions_of(np.asarray(angles, np.float64))


def test_an_axis_has_40_positions_in_the_middles_of_equal_parts_of_180_degrees() -> None:
    angles = angles_of(np.arange(POSITIONS))
    np.testing.assert_allclose(np.degrees(angles[[0, 1, -1]]), (-87.75, -83.25, 87.75))
    np.testing.assert_array_equal(positions_of(angles), np.arange(POSITIONS))
    np.testing.assert_array_equal(positions_of(angles + 0.49 * STEP), np.arange(POSITIONS))
    np.testing.assert_array_equal(positions_of(np.array([-math.pi / 2, math.pi / 2])), (0, POSITIONS - 1))


@pytest.mark.parametrize(("count", "kinds"), [(1_036_800, 6), (460_800, 4), (28_800, 1)])
def test_sizes_follow_from_the_number_of_photographs(count: int, kinds: int, tmp_path: Path) -> None:
    header = io.BytesIO()
    write_array(header, IMAGES)
    start = header.getvalue()[: -IMAGES.size].replace(
        b"(2, 64, 64, 3), }      ", f"({count}, 64, 64, 3), }}".encode().ljust(23)
    )
    with ZipFile(tmp_path / "grid.npz", "w") as archive:
        archive.writestr("images.npy", start)
    grid = open_grid(tmp_path / "grid.npz")
    assert grid.sizes == (kinds, kinds, 2, 3, 3, 40, 40)
    last = np.array(grid.sizes)[None] - 1
    np.testing.assert_array_equal(grid.rows(np.concatenate([0 * last, last])), (0, count - 1))
    next_to_last = last - np.eye(len(NAMES), dtype=np.int64)[[5]]
    assert grid.rows(next_to_last).tolist() == [count - 1 - 40]  # the last factor changes fastest
    with pytest.raises(UserError, match="cannot be read as an npz file of plain arrays"):  # it ends after the header
        grid.photographs(np.array([0])).take(np.array([0]))


def test_an_anchor_keeps_what_no_intervention_changes(anchored: Dataset, images: Images) -> None:
    assert (anchored.cameras, anchored.joints, anchored.state_names) == (CAMERAS, AXES, AXES)
    frames, at = anchored.frames("train"), position(anchored.states("train"))
    assert isinstance(at, np.ndarray)
    grid = images.reshape(*tiny_mpi3d.SIZES, *SHAPE)
    pictures = anchored.read_images(frames.index)
    assert len(np.unique(frames.anchor)) == 12
    for anchor in np.unique(frames.anchor):
        own = np.flatnonzero(frames.anchor == anchor)
        assert [anchored.regimes[number].joint for number in frames.regime[own]] == [None, *np.repeat(AXES, 2)]
        first, *others = at[own]
        for row, joint in zip(others, np.repeat(AXES, 2), strict=True):
            kept = AXES.index(str(joint)) ^ 1
            assert row[kept] == first[kept]
        drawn = [
            all(
                np.array_equal(pictures[frame, view], grid[0, 0, size, view, background, *at[frame]])
                for frame in own
                for view in range(3)
            )
            for size in range(2)
            for background in range(3)
        ]
        assert any(drawn)


def test_the_data_set_is_one_that_ropes_simulate_makes(anchored: Dataset) -> None:
    assert list(anchored.splits) == ["train", "test-id", "test-ood"]
    assert "every checksum agrees" in validate(anchored.path, progress=False)
    model = described_model(anchored)
    assert model is not None
    assert model.joints == AXES
    assert not model.weights
    floors = bayes_floors(anchored)
    assert all(floor is not None and 0.1 < floor < math.log(2) for floor in floors.values())
    shifted = anchored.states("test-ood").mean(axis=0) - anchored.states("test-id").mean(axis=0)
    assert shifted[0] > 0.2
    assert shifted[1] < -0.2  # the means of Table 8 of ROPES, stretched to 180 degrees
    assert not has_one_background(anchored)


def test_no_test_photograph_is_in_training(anchored: Dataset) -> None:
    assert anchored.provenance is not None
    assert anchored.provenance[SHARED] == 0
    trained, tested = (
        {image.tobytes() for image in anchored.read_images(anchored.frames(split).index)[:, 0]}
        for split in ("train", "test-id")
    )
    assert not trained & tested


def test_fixed_factors_have_one_value_and_leave_no_others_for_tests(source: Path, tmp_path: Path) -> None:
    fixed = {"object_size": 1, "background_color": 2}
    options = {"anchors": 300, "test_anchors": 300, "fixed": fixed, "cameras": ("center",), "progress": False}
    dataset = import_anchors(source, out=tmp_path / "data", grey=True, **options)  # type: ignore[arg-type]
    assert dataset.image_shapes == (SHAPE[:2],)
    assert has_one_background(dataset)
    assert dataset.provenance is not None
    shared = dataset.provenance[SHARED]
    poses = {split: {tuple(row) for row in dataset.states(split).tolist()} for split in dataset.splits}
    tested = [tuple(row) for split in ("test-id", "test-ood") for row in dataset.states(split).tolist()]
    assert shared == sum(pose in poses["train"] for pose in tested) > 0


def test_equal_calls_and_compressed_files_give_equal_data_sets(
    anchored: Dataset, images: Images, tmp_path: Path
) -> None:
    options = {"anchors": 12, "test_anchors": 20, "seed": 3, "progress": False}
    before = tiny.tree(anchored.path)
    import_anchors(anchored.path.parent / "mpi3d_real.npz", out=anchored.path, **options)  # type: ignore[arg-type]
    assert tiny.tree(anchored.path) == before
    np.savez_compressed(tmp_path / "mpi3d_real.npz", images=images)
    again = import_anchors(tmp_path / "mpi3d_real.npz", out=tmp_path / "data", **options)  # type: ignore[arg-type]
    assert tiny.tree(again.path) == before
    with pytest.raises(UserError, match="holds something else, a data set with seed 3, not 4"):
        import_anchors(tmp_path / "mpi3d_real.npz", out=again.path, **options | {"seed": 4})  # type: ignore[arg-type]


def test_a_damaged_compressed_file_leaves_nothing_behind(images: Images, tmp_path: Path) -> None:
    path = tmp_path / "mpi3d_real.npz"
    np.savez_compressed(path, images=images)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(UserError, match="cannot be read as an npz file of plain arrays"):
        import_anchors(path, out=tmp_path / "data", anchors=2, test_anchors=0, progress=False)
    assert not (tmp_path / "data").exists()


def test_pairs_differ_in_one_factor(source: Path, images: Images, tmp_path: Path) -> None:
    dataset = import_factors(source, out=tmp_path / "data", samples=60, test_samples=10, labelled=8, progress=False)
    varying = ("object_size", "camera_height", "background_color", *AXES)  # the file has one colour and one shape
    assert dataset.state_names == varying
    assert {split: len(dataset.frames(split)) for split in dataset.splits} == {
        "train": 60,
        "test-id": 10,
        "labelled": 8,
    }
    factors = dataset.factors("train").reshape(-1, 2, len(varying))
    changed = (factors[:, 0] != factors[:, 1]).sum(axis=0)
    assert changed.sum() == 30
    assert (changed > 0).all()
    assert not list(faults(dataset, progress=False))
    grid = images.reshape(*tiny_mpi3d.SIZES, *SHAPE)
    values, pictures = dataset.factors("labelled"), dataset.read_images(dataset.frames("labelled").index)
    for (size, height, background, *angles), picture in zip(values, pictures[:, 0], strict=True):
        at = position(angles)
        assert isinstance(at, np.ndarray)
        np.testing.assert_array_equal(picture, grid[0, 0, int(size), int(height), int(background), *at])


def test_order_of_the_camera_heights_changes_nothing(source: Path, tmp_path: Path) -> None:
    trees = []
    for cameras in (("bottom", "top"), ("top", "bottom")):
        out = tmp_path / cameras[0]
        dataset = import_factors(source, out=out, samples=100, test_samples=0, cameras=cameras, progress=False)
        assert not list(faults(dataset, progress=False))  # with heights in no order, some pairs were of one image
        trees.append(tiny.tree(out))
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("fixed", "cameras", "line"),
    [
        ({"object_colour": 0}, (), r"unknown factor to fix 'object_colour': did you mean object_color\?"),
        ({"vertical_axis": 0}, (), "unknown factor to fix 'vertical_axis'"),
        ({"camera_height": 0}, (), "unknown factor to fix 'camera_height'"),
        ({"object_size": 2}, (), "object_size has values 0 to 1, not 2"),
        ({}, ("middle",), "unknown camera 'middle': choose one of top, center, bottom"),
        ({}, ("top", "top"), "cameras top, top: name each once"),
    ],
)
def test_unknown_factors_and_cameras_are_refused(
    source: Path, fixed: dict[str, int], cameras: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=line):
        import_anchors(source, out=tmp_path / "data", anchors=1, fixed=fixed, cameras=cameras, progress=False)
    assert not (tmp_path / "data").exists()


def test_pairs_need_a_free_factor(source: Path, tmp_path: Path) -> None:
    fixed = {name: 0 for name in NAMES if name != "camera_height"}
    with pytest.raises(UserError, match="every factor is fixed; leave one free"):
        import_factors(source, out=tmp_path, samples=2, fixed=fixed, cameras=("top",), progress=False)
    with pytest.raises(UserError, match="3 samples, 2000 test samples and 2000 labelled ones: give an even number"):
        import_factors(source, out=tmp_path, samples=3, progress=False)


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        ({"labels": IMAGES}, "has no array 'images'; it has labels"),
        ({"images": IMAGES}, "has 2 images, which is no full grid of MPI3D: 28,800 of each colour and shape"),
        ({"images": IMAGES[:0]}, "has 0 images, which is no full grid"),
        ({"images": IMAGES[:, :32]}, r"images must be uint8 \(n, 64, 64, 3\), got uint8 \(2, 32, 64, 3\)"),
        ({"images": IMAGES[..., 0]}, r"images must be uint8 \(n, 64, 64, 3\), got uint8 \(2, 64, 64\)"),
        ({"images": IMAGES.astype(np.float32)}, r"images must be uint8 \(n, 64, 64, 3\), got float32"),
        ({"images": np.asfortranarray(IMAGES)}, r"got uint8 \(2, 64, 64, 3\) in columns"),
        ({"images": np.array([{"pickled": 1}, None])}, r"images must be uint8 \(n, 64, 64, 3\), got object \(2,\)"),
    ],
)
def test_another_npz_file_is_refused(arrays: dict[str, np.ndarray], line: str, tmp_path: Path) -> None:  # type: ignore[type-arg]
    np.savez(tmp_path / "other.npz", **arrays)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=line):
        open_grid(tmp_path / "other.npz")


def test_files_that_are_no_npz_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.npz is missing"):
        open_grid(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(UserError, match="cannot be read as an npz file of plain arrays"):
        open_grid(tmp_path / "text.npz")
    with ZipFile(tmp_path / "text.npz", "w", ZIP_DEFLATED) as archive:
        archive.writestr("images.npy", b"no array")
    with pytest.raises(UserError, match="cannot be read as an npz file of plain arrays"):
        open_grid(tmp_path / "text.npz")
    assert holds_grid(tmp_path / "text.npz")
    assert not holds_grid(tmp_path)


def test_common_points_show_each_photograph_from_its_own_height_and_from_all(source: Path, images: Images) -> None:
    points = import_points(source, out=source.parent / "points", samples=60, seed=2, progress=False)
    assert (points.cameras, tuple(points.splits), points.labelled_joints) == (("front", *CAMERAS), ("test-id",), AXES)
    assert not list(faults(points, progress=False))
    shown = points.read_images(points.frames("test-id").index)
    own = (shown[:, :1] == shown[:, 1:]).all(axis=(2, 3, 4))
    np.testing.assert_array_equal(own.sum(axis=1) >= 1, True)
    assert own.any(axis=0).all()  # every height is the own one of some points
    at = position(points.states("test-id"))
    grid = images.reshape(*tiny_mpi3d.SIZES[2:], *SHAPE)
    for (horizontal, vertical), views in zip(np.asarray(at), shown[:, 1:], strict=True):
        same = [
            np.array_equal(views, grid[size, :, background, horizontal, vertical])
            for size in range(2)
            for background in range(3)
        ]
        assert sum(same) == 1  # object and background are those of all heights
