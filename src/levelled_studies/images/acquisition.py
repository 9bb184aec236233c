"""The proposals of the image experiments, by name: a temperature, or "proportional"."""

import numpy as np

from levelled._check import FloatArray
from levelled.proposals import boltzmann, mixture, proportional
from levelled_studies.study import StudyError

__all__ = ["propose"]


def propose(scores: FloatArray, proposal: str, *, floor: float = 0.0) -> FloatArray:
    """Probabilities of the points left, in proportion to exp(T s) or to the scores themselves.

    Scores are divided by their sum first. A share `floor` of the result is uniform.

    >>> propose(np.array([1.0, 3.0]), "proportional")
    array([0.25, 0.75])
    >>> propose(np.array([1.0, 3.0]), "2").round(3)
    array([0.269, 0.731])
    """
    if proposal == "proportional":
        p = proportional(scores + np.finfo(float).tiny)
    elif proposal.isdigit():
        p = boltzmann(scores, float(proposal), normalise="sum", allow_zero=True)
    else:
        raise StudyError(f"A proposal is a temperature or 'proportional'; it is {proposal!r}.")
    return mixture(p, floor) if floor else p
