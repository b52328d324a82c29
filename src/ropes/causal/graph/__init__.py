"""Numpy in, numpy out: which joint causes which, from coordinates of unknown sign and scale and from interventions."""

from ropes.causal.graph.effects import direct_effects, total_effects
from ropes.causal.graph.estimate import CausalGraph, estimate_graph

__all__ = ["CausalGraph", "direct_effects", "estimate_graph", "total_effects"]
