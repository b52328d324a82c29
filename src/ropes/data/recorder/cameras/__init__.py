"""The kinds of cameras."""
