"""Training methods, a folder for each family: recipe, objectives, stages, fit, and the inference of finished runs."""
