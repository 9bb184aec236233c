"""Draws and losses -> an estimate of the pool risk."""

from levelled.estimators import exact
from levelled.estimators.estimate import estimate
from levelled.estimators.lure import lure_weights
from levelled.estimators.moments import Moments, moments
from levelled.estimators.naive import naive_weights
from levelled.estimators.pure import pure_weights
from levelled.estimators.record import Estimate
from levelled.estimators.running import running

__all__ = [
    "Estimate",
    "Moments",
    "estimate",
    "exact",
    "lure_weights",
    "moments",
    "naive_weights",
    "pure_weights",
    "running",
]
