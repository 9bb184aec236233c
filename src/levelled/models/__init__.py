"""Other people's models: how they are fitted, asked and judged, whatever library they are of."""

from levelled.models.asking import asked, called, complaint
from levelled.models.model import (
    Model,
    aligned_proba,
    check_model,
    fit,
    fresh,
    kind_of,
    last_step,
    proba,
    seeded,
    takes_weights,
    wants_columns,
)
from levelled.models.problem import (
    CAP,
    LOSSES,
    Answers,
    Loss,
    OwnLoss,
    TrainingTask,
    complaint_of_weights,
    fitted,
    posed,
)
from levelled.models.rows import Rows, copied, n_rows, protected, take

__all__ = [
    "CAP",
    "LOSSES",
    "Answers",
    "Loss",
    "Model",
    "OwnLoss",
    "Rows",
    "TrainingTask",
    "aligned_proba",
    "asked",
    "called",
    "check_model",
    "complaint",
    "complaint_of_weights",
    "copied",
    "fit",
    "fitted",
    "fresh",
    "kind_of",
    "last_step",
    "n_rows",
    "posed",
    "proba",
    "protected",
    "seeded",
    "take",
    "takes_weights",
    "wants_columns",
]
