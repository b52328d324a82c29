"""Estimate joint angles of a data set with a fitted run, after calibration on a few labelled poses.

python examples/read_angles.py runs/two-cameras data/two-cameras
"""

import argparse
from pathlib import Path

import numpy as np

import ropes
from ropes.inference.prediction import states_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()

    ropes.calibrate(options.run, data=options.data, samples=50)
    estimator, dataset = ropes.Estimator.load(options.run), ropes.open_dataset(options.data)
    # Cameras and joints are matched by name: their order in the data set may differ from the run's.
    images = estimator.images(dataset, "test-id")
    error = estimator.angles(images) - states_of(estimator.run, dataset, "test-id")
    for joint, rms in zip(estimator.run.joints, np.sqrt((error**2).mean(0)), strict=True):
        print(f"{joint}: {np.degrees(rms):.1f} degrees off (root mean square over {len(images)} poses)")


if __name__ == "__main__":
    main()
