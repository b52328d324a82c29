"""Inference: joint angles from images, calibration with and without labels, link poses."""
