"""The VAEs of the disentanglement study: `beta-vae` and `ada-gvae`."""
