"""Other people's models: how they are fitted, asked and judged, whatever library they are of."""

from levelled.models.model import (
    Model,
    aligned_proba,
    fit,
    fresh,
    gives_proba,
    seeded,
    takes_weights,
)
from levelled.models.problem import (
    CAP,
    LOSSES,
    Answers,
    Loss,
    OwnLoss,
    Problem,
    complaint_of_weights,
    fitted,
    posed,
)
from levelled.models.rows import Rows, n_rows, take

__all__ = [
    "CAP",
    "LOSSES",
    "Answers",
    "Loss",
    "Model",
    "OwnLoss",
    "Problem",
    "Rows",
    "aligned_proba",
    "complaint_of_weights",
    "fit",
    "fitted",
    "fresh",
    "gives_proba",
    "n_rows",
    "posed",
    "seeded",
    "take",
    "takes_weights",
]
