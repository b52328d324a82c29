"""The kinds of robots: one module each, with the function `open_robot`."""
