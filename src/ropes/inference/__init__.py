"""Reading joint angles: the estimator, calibration with and without labels, link poses."""
