"""Predictors of the loss that learn from the labels of a campaign, and the proposals they make."""

from levelled.surrogates.balance import AverageAim, ClassShare, LearntClass, RatioAim
from levelled.surrogates.covariates import Covariates, fill_gaps, reduce_columns
from levelled.surrogates.driver import Driver, next_round_size
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.proposal import floor_after, water_filled

__all__ = [
    "AverageAim",
    "ClassShare",
    "Covariates",
    "Driver",
    "LearntClass",
    "LossPredictor",
    "RatioAim",
    "fill_gaps",
    "fit_predictor",
    "floor_after",
    "next_round_size",
    "prior_predictor",
    "reduce_columns",
    "water_filled",
]
