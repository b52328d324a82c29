"""Networks, checkpoints, and the packaged estimators. Training is in `ropes.methods`."""
