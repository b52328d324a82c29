"""Joint angles of a robot arm from camera images, learnt without a label."""

from importlib.metadata import version

__version__ = version("ropes")
