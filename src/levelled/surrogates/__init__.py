"""Predictors of the loss that learn from the labels of a campaign, and the proposals they make."""

from levelled.surrogates.covariates import Covariates
from levelled.surrogates.predictor import LossPredictor, fit_predictor, prior_predictor
from levelled.surrogates.proposal import floor_after, water_filled

__all__ = [
    "Covariates",
    "LossPredictor",
    "fit_predictor",
    "floor_after",
    "prior_predictor",
    "water_filled",
]
