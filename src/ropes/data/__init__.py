"""Images on disk (LeRobot v3.0), in a memory-mapped cache, and as batches that have no field for angles.

Nothing is imported here: `ropes.data.batches` alone needs PyTorch, and pays for it only when it is used.
"""
