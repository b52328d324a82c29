"""Checks on a recording with logged angles whether the arm is still calibrated and the cameras stand where they did."""

from ropes.evaluation.drift.check import check
from ropes.evaluation.drift.result import Check

__all__ = ["Check", "check"]
