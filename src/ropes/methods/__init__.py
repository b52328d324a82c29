"""Training methods: an objective, a stage and a fit for each."""
