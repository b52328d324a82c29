from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ropes.evaluation.inspection.contrast import Contrast, Overlap
from ropes.evaluation.inspection.motion import Motion
from ropes.evaluation.inspection.verdict import JointReport, advice, faults, ranked, verdict, weaknesses


def report(joint: str = "a", *, moved: float = 0.05, nats: float = 0.4, **changes: Any) -> JointReport:
    plain = JointReport(
        joint=joint,
        images=(5000, 5000),
        anchors=(5000, 5000),
        motion=Motion(np.array([moved, moved / 2]), tuple(np.zeros((2, 4, 4))), paired=True),
        contrast=Contrast(nats, 0.2, 0.02),
        overlap=Overlap(0.4, 0.8, 0.34, "angles"),
    )
    made = replace(plain, **changes)
    return replace(made, faults=faults(made), weaknesses=weaknesses(made))


def advised(*reports: JointReport, cameras: int = 2, complete: float = 1.0) -> tuple[str, ...]:
    return advice(reports, cameras=cameras, size=(128, 128), complete=complete)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"images": (49, 5000)}, ("49 images under policy 1",)),
        ({"images": (5000, 1)}, ("1 image under policy 2",)),
        ({"anchors": (1, 2)}, ("all images under policy 1 are of one anchor (episode)",)),
        ({"images": (1, 5000), "anchors": (1, 5000)}, ("1 image under policy 1",)),
        ({"images": (0, 0)}, ("no images under policy 1", "no images under policy 2")),
        ({"moved": 0.0}, ("its interventions move no pixel",)),
        ({"overlap": Overlap(0.99, 0.9, 0.69, "angles")}, ("its two policies draw the same angles",)),
        ({"motion": None, "contrast": None, "overlap": None}, ()),
    ],
)
def test_faults_list_the_reasons_a_joint_cannot_work(changes: dict[str, Any], said: tuple[str, ...]) -> None:
    assert faults(report(**changes)) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ()),
        ({"moved": 0.019}, ("few pixels moved",)),
        ({"overlap": Overlap(0.9, 0.8, 0.6, "angles")}, ("policies overlap too much",)),
        ({"overlap": Overlap(0.01, 0.8, 0.0, "angles")}, ("policies have nothing in common",)),
        ({"overlap": Overlap(0.4, 0.2, 0.34, "angles")}, ("observational poses lie outside both policies",)),
        ({"overlap": Overlap(0.4, None, 0.34, "angles")}, ()),
        ({"images": (49, 49), "overlap": Overlap(0.0, 0.0, 0.34, "angles")}, ("too few images",)),  # empty bins
        (
            {"images": (49, 49), "overlap": Overlap(0.0, 0.8, 0.34, "distributions")},
            ("policies have nothing in common", "too few images"),
        ),
        ({"images": (999, 5000)}, ("too few images",)),
        ({"nats": 0.6}, ("policies hard to tell apart in small images",)),
        ({"nats": 0.56, "overlap": Overlap(0.4, 0.8, None, "images")}, ()),
        ({"nats": 0.6, "overlap": None}, ("policies hard to tell apart in small images",)),
        ({"motion": None, "contrast": None, "overlap": None}, ()),
    ],
)
def test_weaknesses_list_the_reasons_a_joint_is_weak(changes: dict[str, Any], said: tuple[str, ...]) -> None:
    assert weaknesses(report(**changes)) == said


def test_joints_are_ranked_hopeless_first_then_weakest_first() -> None:
    joints = [report("good"), report("hard", nats=0.65), report("lost", moved=0.0), report("fair", nats=0.5)]
    assert [joint.joint for joint in ranked(joints)] == ["lost", "hard", "fair", "good"]
    unknown = [report("seen", contrast=None), report("small", contrast=None, moved=0.01)]
    assert [joint.joint for joint in ranked(unknown)] == ["small", "seen"]


def test_found_share_is_relative_to_the_overlap_floor() -> None:
    assert report(nats=float(np.log(2))).found == pytest.approx(0)
    assert report(nats=0.34).found == pytest.approx(1)
    assert report(nats=0.34, overlap=None).found == pytest.approx(1 - 0.34 / np.log(2))
    assert report(contrast=None).found is None


@pytest.mark.parametrize(
    ("joints", "line"),
    [
        ([report("a"), report("b")], "can work, for every joint"),
        ([report("a"), report("b", moved=0.01)], "can work, but b will be weak"),
        ([report("a", moved=0.01), report("b", nats=0.65)], "can work, but every joint will be weak"),
        ([report("a", moved=0), report("b")], "cannot work: a: its interventions move no pixel"),
    ],
)
def test_verdict_is_one_line(joints: list[JointReport], line: str) -> None:
    assert verdict(joints) == line


def test_verdict_includes_the_required_fit_options() -> None:
    good, lost = [report("a")], [report("a", moved=0)]
    assert verdict(good, options="--size 64") == "can work, for every joint; fit with --size 64"
    assert verdict([report("a", moved=0.01)], options="-x") == "can work, but every joint will be weak; fit with -x"
    assert verdict(good, fault="not square") == "cannot work: not square"
    assert verdict(lost, fault="not square") == "cannot work: not square; a: its interventions move no pixel"
    assert verdict(lost, options="-x") == "cannot work: a: its interventions move no pixel"


def test_advice_is_given_only_for_weak_joints() -> None:
    assert advised(report()) == ()
    few = advised(report("a", moved=0.01), report("b"))
    assert few[0].startswith("a (few pixels moved): bring a camera closer")
    assert "a higher resolution than 128x128" in few[0]
    lines = advised(report("a", images=(200, 200)), report("b", images=(200, 200), moved=0.01))
    assert lines[0].startswith("every joint (too few images): record more anchors")
    assert lines[1].startswith("b (few pixels moved)")
    one = advised(report(moved=0.01), cameras=1)
    assert "add a second one" in one[-1]
    broken = advised(report(), complete=0.75)
    assert broken == (
        "25% of the anchors lack a regime, or have one twice: method anchored needs all of them complete; "
        "ldr and ropes do not",
    )
    assert "record the data that the first line reports as missing" in " ".join(advised(report(moved=0.0)))
    split = advised(report(anchors=(1, 1)))
    assert len(split) == 1
    assert split[0].startswith("split each policy's recording into several episodes")
    both = " ".join(advised(report(anchors=(1, 1)), report(moved=0.0)))
    assert "split each policy's recording" in both
    assert "record the data that the first line reports as missing" in both


def test_no_share_is_found_where_there_is_nothing_to_find() -> None:
    assert report(overlap=Overlap(1.0, 0.9, np.log(2), "angles")).found is None
    assert report().found == pytest.approx((np.log(2) - 0.4) / (np.log(2) - 0.34))
