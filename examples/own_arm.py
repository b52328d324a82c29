"""Render a data set of your own arm: any URDF, the joints to learn and their ranges.

python examples/own_arm.py data/kuka --anchors 1000
"""

import argparse
from pathlib import Path

from ropes.data.generate import simulate
from ropes.data.validate import validate
from ropes.simulation.arm import arm_setting


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--anchors", type=int, default=1000)
    parser.add_argument("--test-anchors", type=int, default=2000)
    options = parser.parse_args()

    # Cameras are placed such that the arm stays in view for every pose within the ranges.
    setting = arm_setting(
        "kuka_iiwa/model.urdf",
        joints=("lbr_iiwa_joint_2", "lbr_iiwa_joint_4"),
        ranges=((-1.5, 1.5), (-1.5, 1.5)),
        name="kuka",
    )
    simulate(setting, out=options.out, anchors=options.anchors, test_anchors=options.test_anchors)
    print(validate(options.out))


if __name__ == "__main__":
    main()
