"""Advice on corrective weights: do they help to train this model on these labels?

Weights remove the bias of training on chosen labels and add variance. R_LURE, the levelled
unbiased risk estimator, is a weighted mean of losses that estimates the mean loss over the whole
pool without bias; R_PURE, the plain unbiased risk estimator, is another.
"""

from levelled.advice.rule import advise
from levelled.advice.verdict import Measured, Thumb, Verdict

__all__ = ["Measured", "Thumb", "Verdict", "advise"]
