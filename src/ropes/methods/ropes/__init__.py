"""Method `ropes`: the three stages of the paper, and the student of its coordinates."""
