"""Predictors of the loss that learn from the labels of a campaign, and the proposals they make."""

from levelled.surrogates.covariates import Covariates, Reduction, Scaling, ScoreColumns
from levelled.surrogates.driver import Driver, LossRun, next_round_size
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.proposal import (
    AverageAim,
    ClassShare,
    LearntClass,
    RatioAim,
    floor_after,
    water_filled,
)

__all__ = [
    "AverageAim",
    "ClassShare",
    "Covariates",
    "Driver",
    "LearntClass",
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
