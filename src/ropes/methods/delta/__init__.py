"""Methods that predict an action from two images: causal delta embeddings and their baselines."""
