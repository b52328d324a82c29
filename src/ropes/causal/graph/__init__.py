"""Estimates the causal graph of joints from interventions. Coordinates may have any sign and scale."""

from ropes.causal.graph.effects import direct_effects, total_effects
from ropes.causal.graph.estimate import CausalGraph, estimate_graph

__all__ = ["CausalGraph", "direct_effects", "estimate_graph", "total_effects"]
