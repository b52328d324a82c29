"""Networks. Training is in `ropes.methods`."""
