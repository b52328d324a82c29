"""Renders images from joint angles: the Panda, any URDF arm, finger and cube, objects."""
