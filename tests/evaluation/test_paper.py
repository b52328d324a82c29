"""The paper's numbers: lines of its text against our data, and its tables against one another."""

import math

import pytest

from ropes.evaluation.paper import CAUSAL, JOINTS, ONE_CAMERA, PUBLISHED, TABLE1, TWO_CAMERAS, all_labels_mse, published

# Lines as the paper prints them. "|" stands for the table's column breaks.
TABLE_1 = {
    (ONE_CAMERA, 0): "| 0.949 0.053 | | 0.975 0.029 | | 0.957 0.049",
    (TWO_CAMERAS, 0): "0.874 0.083 | 0.979 0.015 | 0.634 0.217 | 0.950 0.035 | 0.679 0.198 | 0.884 0.080",
    (CAUSAL, 0): "0.921 0.058 | 0.966 0.020 | 0.788 0.106 | 0.976 0.019 | 0.742 0.051 | 0.756 0.070",
    (TWO_CAMERAS, 32): "0.844 0.101 | 0.964 0.025 | 0.568 0.245 | 0.884 0.082 | 0.617 0.225 | 0.768 0.145",
}
TABLE_2_ROPES = {
    (TWO_CAMERAS, 0): "0.083 0.015 0.217 0.035 0.198 0.080",
    (TWO_CAMERAS, 32): "0.101 0.025 0.245 0.082 0.225 0.145",
    (CAUSAL, 0): "0.058 0.020 0.106 0.019 0.051 0.070",
}
TABLE_2_ROBOPEPP = """
1% 0.136 0.039 0.237 0.053 0.253 0.200 | 0.186 0.060 0.305 0.125 0.331 0.263
5% 0.075 0.017 0.134 0.024 0.153 0.081 | 0.140 0.050 0.304 0.198 0.299 0.232
10% 0.030 0.010 0.072 0.022 0.091 0.063 | 0.077 0.036 0.194 0.180 0.181 0.136
100% 0.003 0.001 0.007 0.003 0.010 0.011 | 0.066 0.036 0.097 0.053 0.090 0.045
"""
TABLE_11 = """
Independent ID 0 0.083 0.015 0.217 0.035 0.198 0.080
Causal ID 0 0.058 0.020 0.106 0.019 0.051 0.070
Occlusion ID 16 0.089 0.018 0.225 0.044 0.200 0.082
Occlusion ID 32 0.101 0.025 0.245 0.082 0.225 0.145
Occlusion ID 64 0.186 0.077 0.322 0.258 0.298 0.273
Independent OOD 0 0.084 0.017 0.239 0.048 0.199 0.120
Causal OOD 0 0.108 0.044 0.241 0.085 0.219 0.116
Occlusion OOD 16 0.092 0.019 0.249 0.054 0.205 0.109
Occlusion OOD 32 0.103 0.024 0.288 0.079 0.226 0.140
Occlusion OOD 64 0.201 0.087 0.356 0.227 0.331 0.216
"""
TABLE_12 = """
1 0.874 ± 0.004 0.083 ± 0.006 0.921 ± 0.003 0.058 ± 0.003
2 0.979 ± 0.001 0.015 ± 0.001 0.966 ± 0.002 0.020 ± 0.001
3 0.634 ± 0.010 0.217 ± 0.011 0.788 ± 0.003 0.106 ± 0.005
4 0.950 ± 0.002 0.035 ± 0.002 0.976 ± 0.001 0.019 ± 0.001
5 0.679 ± 0.010 0.198 ± 0.011 0.742 ± 0.006 0.051 ± 0.003
6 0.884 ± 0.005 0.080 ± 0.007 0.756 ± 0.010 0.070 ± 0.003
"""
TABLE_14_ROBOPEPP = """
2600 0.202 0.054 0.374 0.101 0.378 0.454 | 0.496 0.334 0.538 1.156 0.529 0.570
13000 0.083 0.023 0.202 0.063 0.275 0.225 | 0.489 0.412 0.489 1.926 1.348 1.255
26000 0.064 0.020 0.125 0.037 0.173 0.152 | 0.394 0.297 0.497 2.475 0.582 1.028
260000 0.007 0.003 0.013 0.004 0.018 0.019 | 0.262 0.447 0.649 1.437 0.465 0.616
"""


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


@pytest.mark.parametrize(("line", "text"), TABLE_1.items())
def test_table_1_matches_the_paper(line: tuple[str, int], text: str) -> None:
    setup, occlusion = line
    for joint, cell in zip(JOINTS, text.split("|"), strict=True):
        ours = published(setup=setup, occlusion=occlusion, joint=joint)
        if cell.strip():
            assert ours is not None
            assert [ours.mcc, ours.mse] == numbers(cell)
        else:
            assert ours is None
    assert line in [(setup, occlusion) for setup, occlusion, _ in TABLE1]


def test_table_2_repeats_tables_1_and_10() -> None:
    for (setup, occlusion), text in TABLE_2_ROPES.items():
        cells = [published(setup=setup, occlusion=occlusion, joint=joint) for joint in JOINTS]
        assert [cell.mse for cell in cells if cell] == numbers(text)
    for line in TABLE_2_ROBOPEPP.strip().splitlines():
        share, _, rest = line.partition("% ")
        labels = int(share) * 2_600
        for occlusion, text in zip((0, 32), rest.split("|"), strict=True):
            cells = [
                published(setup=TWO_CAMERAS, method="robopepp", occlusion=occlusion, joint=joint, labels=labels)
                for joint in JOINTS
            ]
            assert [cell.mse for cell in cells if cell] == numbers(text)


@pytest.mark.parametrize("line", TABLE_11.strip().splitlines())
def test_table_11_matches_the_paper(line: str) -> None:
    experiment, split, occlusion, *values = line.split()
    for joint, value in zip(JOINTS, values, strict=True):
        cell = published(
            setup=CAUSAL if experiment == "Causal" else TWO_CAMERAS,
            split=split.lower(),
            occlusion=int(occlusion),
            joint=joint,
        )
        assert cell is not None
        assert cell.mse == float(value)


@pytest.mark.parametrize("line", TABLE_12.strip().splitlines())
def test_table_12_matches_the_paper(line: str) -> None:
    number, *values = line.replace("±", "").split()
    for setup, quarter in ((TWO_CAMERAS, values[:4]), (CAUSAL, values[4:])):
        cell = published(setup=setup, joint=JOINTS[int(number) - 1])
        assert cell is not None
        assert [cell.mcc, cell.mse] == [float(value) for value in quarter[::2]]


@pytest.mark.parametrize("line", TABLE_14_ROBOPEPP.strip().splitlines())
def test_table_14_matches_the_paper(line: str) -> None:
    labels, _, rest = line.partition(" ")
    for occlusion, text in zip((0, 64), rest.split("|"), strict=True):
        for joint, value in zip(JOINTS, numbers(text), strict=True):
            cell = published(
                setup=TWO_CAMERAS,
                method="robopepp",
                split="ood",
                occlusion=occlusion,
                joint=joint,
                labels=int(labels),
            )
            assert cell is not None
            assert cell.mse == value


@pytest.mark.parametrize(
    ("split", "occlusion", "text"),
    [
        ("id", 0, "0.003 0.001 0.007 0.003 0.010 0.011"),
        ("ood", 0, "0.007 0.003 0.013 0.004 0.018 0.019"),
        ("id", 32, "0.066 0.036 0.097 0.053 0.090 0.045"),
    ],
)
def test_the_reference_is_robopepp_with_all_labels(split: str, occlusion: int, text: str) -> None:
    found = [all_labels_mse(setup=TWO_CAMERAS, joint=joint, split=split, occlusion=occlusion) for joint in JOINTS]
    assert found == numbers(text)
    assert all_labels_mse(setup=CAUSAL, joint=JOINTS[0], split=split, occlusion=occlusion) is None


def test_paper_mcc_and_mse_imply_the_angle_variance() -> None:
    # MSE/(1 - MCC²) is the variance of the test angles for any linear read-out. TN[-1.5,1.5](0, .4) has .354.
    for joint in JOINTS:
        cell = published(setup=TWO_CAMERAS, joint=joint)
        assert cell is not None
        assert cell.mcc is not None
        slack = (0.0005 / cell.mse) + 2 * cell.mcc * 0.0005 / (1 - cell.mcc**2)
        assert math.isclose(cell.mse / (1 - cell.mcc**2), 0.36, rel_tol=0.05 + slack)


def test_results_that_the_paper_omits_are_none() -> None:
    assert published(setup=TWO_CAMERAS, joint="panda_joint7") is None
    assert published(setup=ONE_CAMERA, joint="panda_joint2", split="ood") is None
    ood = published(setup=TWO_CAMERAS, joint="panda_joint1", split="ood")
    assert ood is not None
    assert ood.mcc is None


def test_all_table_cells_are_there() -> None:
    assert len(PUBLISHED) == 3 + 10 * 6 + 8 * 4 * 6
