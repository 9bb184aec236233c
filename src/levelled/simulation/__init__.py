"""Comparisons of ways of choosing labels, simulated on data whose labels are known."""

from levelled.simulation.campaigns import KnownCampaign, Truth
from levelled.simulation.known import KnownLosses, known_losses
from levelled.simulation.methods import METHODS, Method, Reading
from levelled.simulation.running import applicable_methods, plot_factors, repeat_methods, simulate

__all__ = [
    "METHODS",
    "KnownCampaign",
    "KnownLosses",
    "Method",
    "Reading",
    "Truth",
    "applicable_methods",
    "known_losses",
    "plot_factors",
    "repeat_methods",
    "simulate",
]
