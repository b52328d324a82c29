"""What to trust, learnt without a label: how far off an estimate may be, which images are unlike those of the fit."""
