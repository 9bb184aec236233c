"""Draws and losses -> an estimate of the pool risk, the mean loss over the whole pool.

R_PURE is the plain unbiased risk estimator of Farquhar, Gal and Rainforth (2021), R_LURE the
levelled one, which has less variance and is the default.
"""

from levelled.estimators.estimate import estimate, running
from levelled.estimators.intervals.betting import (
    Betting,
    RatioBetting,
    betting_interval,
    running_betting,
)
from levelled.estimators.intervals.hedged import Hedged, hedged_interval
from levelled.estimators.lure import lure_weights, murthy_weights, naive_weights, pure_weights
from levelled.estimators.moments import Diagnosis, Moments, diagnose, moments
from levelled.estimators.record import Estimate

__all__ = [
    "Betting",
    "Diagnosis",
    "Estimate",
    "Hedged",
    "Moments",
    "RatioBetting",
    "betting_interval",
    "diagnose",
    "estimate",
    "hedged_interval",
    "lure_weights",
    "moments",
    "murthy_weights",
    "naive_weights",
    "pure_weights",
    "running",
    "running_betting",
]
