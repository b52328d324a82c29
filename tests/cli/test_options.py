from pathlib import Path

import pytest

from ropes.cli.options import at_least, image_sources, parse_cameras, parse_ranges
from ropes.errors import UserError
from ropes.simulation.settings import Camera


def test_ranges_follow_the_order_of_the_joints() -> None:
    assert parse_ranges(("a", "b"), ("-1.5:1.5", "0:3")) == ((-1.5, 1.5), (0.0, 3.0))


@pytest.mark.parametrize(
    ("joints", "ranges", "line"),
    [
        ((), (), "got 0 joints and 0 ranges"),
        (("a", "b"), ("0:1",), "got 2 joints and 1 ranges"),
        (("a",), ("1",), "--ranges for a: '1' is not LOW:HIGH"),
        (("a",), ("0:x",), "--ranges for a: 'x' is not a number"),
        (("a",), ("1:1",), "--ranges for a: 1 is not below 1"),
        (("a",), ("nan:1",), "--ranges for a: 'nan' is not a finite number"),
    ],
)
def test_invalid_ranges_raise(joints: tuple[str, ...], ranges: tuple[str, ...], line: str) -> None:
    with pytest.raises(UserError, match=line):
        parse_ranges(joints, ranges)


def test_camera_defaults_to_the_paper_pitch_roll_and_field_of_view() -> None:
    side, top = parse_cameras(
        (
            "side:target=0/0.1/-0.4,distance=1.4,yaw=45",
            "top:yaw=0,pitch=-90,target=0/0/0,distance=2,fov=50,roll=1",
        )
    )
    assert side == Camera(name="side", target=(0.0, 0.1, -0.4), distance=1.4, yaw=45.0, pitch=-30.0, roll=0.0, fov=60.0)
    assert (top.pitch, top.fov, top.roll) == (-90.0, 50.0, 1.0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("side", "--camera side: no distance, target, yaw; the form is NAME:target=X/Y/Z"),
        (":target=0/0/0,distance=1,yaw=0", "no name"),
        ("s:target=0/0/0,distance=1,yaw=0,zoom=2", "--camera s: unknown zoom"),
        ("s:target=0/0,distance=1,yaw=0", "--camera s: target has 2 numbers"),
        ("s:target=0/0/0,distance=far,yaw=0", "--camera s: distance: 'far' is not a number"),
        ("a/b:target=0/0/0,distance=1,yaw=0", "--camera a/b: the name 'a/b' is empty or has a slash"),
        ("s:target=0/0/0,distance=-1,yaw=0", "--camera s: distance is -1 m; it must be above 0"),
        ("s:target=0/0/0,distance=1,yaw=0,fov=180", "--camera s: fov is 180°; it must be above 0 and below 180"),
        ("s:target=0/0/0,distance=inf,yaw=0", "--camera s: distance: 'inf' is not a finite number"),
    ],
)
def test_invalid_cameras_raise(text: str, line: str) -> None:
    with pytest.raises(UserError, match=line):
        parse_cameras((text,))


def test_duplicate_camera_names_raise() -> None:
    with pytest.raises(UserError, match="two cameras are named 's'"):
        parse_cameras(("s:target=0/0/0,distance=1,yaw=0", "s:target=0/0/0,distance=1,yaw=9"))


def test_images_are_camera_pairs_or_one_folder(tmp_path: Path) -> None:
    assert image_sources(("cam45=a.png", "cam135=b=c.png")) == {
        "cam45": Path("a.png"),
        "cam135": Path("b=c.png"),
    }
    assert image_sources(("photos",)) == Path("photos")
    (tmp_path / "seed=1").mkdir()
    assert image_sources((str(tmp_path / "seed=1"),)) == tmp_path / "seed=1"


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        ((), "--images needs CAMERA=FILE"),
        (("cam45=a.png", "photos"), "'photos' is not CAMERA=FILE"),
        (("cam45=",), "'cam45=' is not CAMERA=FILE"),
        (("cam45=a.png", "cam45=b.png"), "camera cam45 is given twice"),
    ],
)
def test_invalid_image_sources_raise(texts: tuple[str, ...], line: str) -> None:
    with pytest.raises(UserError, match=line):
        image_sources(texts)


def test_at_least_error_names_the_option() -> None:
    at_least(1, test_anchors=1)
    with pytest.raises(UserError, match="--test-anchors is 0; it must be 1 or more"):
        at_least(1, test_anchors=0)


def test_images_may_be_one_file(tmp_path: Path) -> None:
    assert image_sources(("a.png",)) == Path("a.png")
    (tmp_path / "seed=1.png").touch()
    assert image_sources((str(tmp_path / "seed=1.png"),)) == tmp_path / "seed=1.png"
