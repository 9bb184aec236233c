"""Advice on corrective weights: how far should training on these labels be corrected?

Weights remove the bias of training on chosen labels and add variance. How much of each, the labels
themselves say: as a share, with which the predictions of a corrected and a plain model are
averaged.
"""

from levelled.advice.correcting import advise
from levelled.advice.evidence import Measured, Thumb, Verdict

__all__ = ["Measured", "Thumb", "Verdict", "advise"]
