"""Imports recordings of real arms: LeRobot data sets, ROS bags, videos and folders of frames."""
