"""Is correcting worth it? Weights remove one bias of training, not always the one that hurts."""

from levelled.advice.advising import advise
from levelled.advice.verdict import Measured, Thumb, Verdict

__all__ = ["Measured", "Thumb", "Verdict", "advise"]
