"""An operator's file of commanded distributions: what it may say, and the line for everything else."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.causal.scm import TruncatedNormal
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.policy_distributions import Uniform, described_by, read_commanded
from tests import tiny

Change = Callable[[dict[str, Any]], object]


def content() -> dict[str, Any]:
    """A normal and a uniform joint."""
    normal = {"std": 0.5, "low": -1.5, "high": 1.5}
    uniform = [{"low": 0, "high": 2}, {"low": -1, "high": 1}]
    return {
        "elbow": {
            "policies": [{"mean": 0.7, **normal}, {"mean": -0.7, **normal}],
            "observational": {"mean": 0.2, **normal},
        },
        "wrist": {"policies": uniform},
    }


def write(path: Path, told: object) -> Path:
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def test_normal_and_uniform_distributions_are_read(tmp_path: Path) -> None:
    elbow, wrist = read_commanded(write(tmp_path / "c.json", content()), ("elbow", "wrist"))
    assert elbow.policies[0] == TruncatedNormal(mean=0.7, variance=0.25, low=-1.5, high=1.5)
    assert elbow.observational_mean == TruncatedNormal(mean=0.2, variance=0.25, low=-1.5, high=1.5).moments()[0]
    assert wrist.policies == (Uniform(low=0, high=2), Uniform(low=-1, high=1))
    assert (wrist.observational_mean, wrist.means) == (None, (1, 0))
    assert wrist.width == pytest.approx(2 / 12**0.5)
    assert wrist.range == pytest.approx((-1, 2), abs=0.01)


def test_example_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    (block,) = [part for part in page.split("```") if '"policies"' in part]
    (tmp_path / "c.json").write_text(block, encoding="utf-8")
    first, second = read_commanded(tmp_path / "c.json", ("panda_joint1", "panda_joint2"))
    assert (first.observational_mean is None, second.observational_mean is None) == (False, True)
    assert second.means == (0.6, -0.6)


def test_uniform_moments_match_its_quantiles() -> None:
    drawn = Uniform(low=-1, high=3)
    values = drawn.quantile((np.arange(10_000) + 0.5) / 10_000)
    assert (values.min() >= -1, values.max() <= 3) == (True, True)
    assert drawn.moments() == pytest.approx((values.mean(), values.var()))


def test_data_set_gives_the_same_distributions_as_a_file(tmp_path: Path) -> None:
    dataset = open_dataset(tiny.write_data(tmp_path / "data", anchors=2, tests=0))
    (wrist,) = described_by(dataset, ("wrist",))
    assert wrist.policies == tiny.model().interventions["wrist"]
    assert wrist.observational_mean == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda c: c.pop("wrist"), "has no entry for joint wrist; it needs one for each of elbow, wrist"),
        (lambda c: c.update(hand={}), ": the run has no joint hand; it has elbow, wrist"),
        (lambda c: c.update(wrist=3), ": joint wrist: expected an object in braces"),
        (lambda c: c["wrist"].update(polices=[]), ": joint wrist: unknown key 'polices'; known are policies, observ"),
        (lambda c: c["wrist"].pop("policies"), ": joint wrist: no 'policies'; it needs policies"),
        (lambda c: c["wrist"]["policies"].pop(), ": joint wrist: 'policies' is no list of two distributions"),
        (lambda c: c["wrist"].update(policies={}), ": joint wrist: 'policies' is no list of two distributions"),
        (lambda c: c["wrist"]["policies"][1].update(top=1), ", policy 2: unknown key 'top'; known are mean, std, low"),
        (lambda c: c["wrist"]["policies"][1].pop("low"), ": joint wrist, policy 2: no 'low'; it needs low, high"),
        (lambda c: c["elbow"]["policies"][0].pop("std"), ", policy 1: no 'std'; it needs mean, std, low, high"),
        (lambda c: c["elbow"]["policies"][0].update(std=0), ": joint elbow, policy 1: std is 0; it must be above 0"),
        (lambda c: c["elbow"]["policies"][0].update(mean="a"), 'policy 1: mean is "a", which is no number'),
        (lambda c: c["elbow"]["policies"][0].update(mean=10**399), "policy 1: mean has too many digits"),
        (lambda c: c["elbow"]["policies"][0].update(mean=True), "policy 1: mean is true, which is no number"),
        (lambda c: c["elbow"]["policies"][0].update(mean=math.nan), "policy 1: mean is NaN, which is no number"),
        (lambda c: c["elbow"]["observational"].update(low=2), ", observational: low 2 is not below high 1.5"),
        (lambda c: c["wrist"]["policies"][0].update(low=2), ": joint wrist, policy 1: low 2 is not below high 2"),
        (
            lambda c: c["elbow"]["policies"][0].update(mean=900),
            ": mean 900 is more than 5 std outside of low",
        ),
        (lambda c: c["wrist"]["policies"][0].update(low=-2), ": joint wrist: both policies have mean 0.0° (0.00 rad)"),
        (
            lambda c: c["wrist"]["policies"][0].update(high=90),
            ": joint wrist: the policies span 5208.6° (90.91 rad); images",
        ),
    ],
)
def test_error_names_the_joint(change: Change, line: str, tmp_path: Path) -> None:
    told = content()
    change(told)
    path = write(tmp_path / "c.json", told)
    with pytest.raises(UserError) as refused:
        read_commanded(path, ("elbow", "wrist"))
    assert line in str(refused.value)
    assert str(refused.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "is not valid JSON"),
        ("[]", ": expected an object in braces"),
        ('{"elbow": {}, "elbow": {}}', "is not valid JSON ('elbow' is there twice)"),
        ("\xff", "is not valid JSON"),
        (None, "cannot read"),
    ],
)
def test_invalid_distribution_files_are_refused(text: str | None, line: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "c.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError) as refused:
        read_commanded(tmp_path / "c.json", ("elbow",))
    assert line in str(refused.value)
