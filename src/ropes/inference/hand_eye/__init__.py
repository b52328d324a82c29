"""Finds where cameras stand from images of the arm at known joint angles."""
