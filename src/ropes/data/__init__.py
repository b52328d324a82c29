"""Data sets: LeRobot v3.0 on disk, a memory-mapped cache of decoded images, batches without labels."""
