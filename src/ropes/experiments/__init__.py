"""The papers' experiments: plans, data sets, fits and runs."""
