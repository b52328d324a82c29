"""The baselines that read labels: `cnn` and `jointnet`."""
