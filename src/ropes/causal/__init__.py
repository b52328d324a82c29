"""Structural causal models, and the causal graph estimated from interventions."""
