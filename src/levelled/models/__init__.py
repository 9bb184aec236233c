"""Other people's models: how they are fitted, asked and judged, whatever library they are of."""

from levelled.models.asking import asked, called, complaint
from levelled.models.model import (
    Model,
    aligned_proba,
    check_model,
    fit,
    fresh,
    gives_proba,
    kind_of,
    last_step,
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
    "asked",
    "called",
    "check_model",
    "complaint",
    "complaint_of_weights",
    "fit",
    "fitted",
    "fresh",
    "gives_proba",
    "kind_of",
    "last_step",
    "n_rows",
    "posed",
    "seeded",
    "take",
    "takes_weights",
]
