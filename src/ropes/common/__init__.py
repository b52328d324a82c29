"""Files, random seeds, processes, progress and hardware: what every part uses."""
