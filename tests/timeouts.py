"""How long tests wait for other processes."""

#: Seconds within which even a machine ten times slower ends what takes a moment here; a whole test may take 600.
PATIENCE = 300
