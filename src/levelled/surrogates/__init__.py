"""Predictors of the loss that learn from the labels of a campaign, and the proposals they make."""

from levelled.surrogates.covariates import Covariates, Reduction, Scaling, ScoreColumns
from levelled.surrogates.driver import (
    AverageAim,
    ClassShare,
    Driver,
    LossRun,
    RatioAim,
    floor_after,
    next_round_size,
    water_filled,
)
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor

__all__ = [
    "AverageAim",
    "ClassShare",
    "Covariates",
    "Driver",
    "LossPredictor",
    "LossRun",
    "RatioAim",
    "Reduction",
    "Scaling",
    "ScoreColumns",
    "fit_predictor",
    "floor_after",
    "next_round_size",
    "prior_predictor",
    "water_filled",
]
