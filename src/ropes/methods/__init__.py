"""Training methods, a folder for each family: recipe, objectives, training stages, fit, and inference of finished runs."""
