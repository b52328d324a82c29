"""Training methods: objectives, training stages and fits, and the inference wrappers of finished runs."""
