"""Pools and answers, read from frames and from Parquet, CSV and JSONL files.

    pool = sources.open_pool("preds.parquet", slices=["country"])
    pool.predictions().proba      # [N, C]
    pool.shown([17, 4])           # what a labeller sees of these rows

The names of the columns say what they hold:

    id                                      required, unique
    pred (prediction, y_pred)               the model's prediction; pred@NAME of another model
    proba_<class> (p_<class>), proba        its probabilities; proba@NAME_<class> of another model
    surrogate_<class>                       a second model's probabilities, to choose items by
    loss_hat, confidence                    a predicted loss, the chance of the predicted class
    embedding, numeric f_*                  features: neither used here nor shown
    all others                              what the labeller sees, but for what tells predictions

`proba` (or `prediction_proba`) is a list a row, or for two classes the probability of the second;
it needs `classes`. Columns with other names get their roles by arguments of `open_pool`. Outputs of
Inspect AI, lm-evaluation-harness, promptfoo, deepeval, MLflow, Hugging Face, Label Studio, Argilla,
doccano and Prodigy are recognised by their content. Columns of plain files without a use are never
loaded, so a pool of ten million items fits.

Parts are loaded at first use: who hands out items that are drawn already opens no pool.
"""

from typing import TYPE_CHECKING

from levelled._optional import lazy_names

if TYPE_CHECKING:
    from levelled.predictions import Categorical, PoolPredictions
    from levelled.sources.answers import AnswerRow, read_answers, read_result
    from levelled.sources.choices import ColumnChoices
    from levelled.sources.content import ShownField, find_image, shown_fields
    from levelled.sources.pool import Pool, Recognised, open_pool

__all__ = [
    "AnswerRow",
    "Categorical",
    "ColumnChoices",
    "Pool",
    "PoolPredictions",
    "Recognised",
    "ShownField",
    "find_image",
    "open_pool",
    "read_answers",
    "read_result",
    "shown_fields",
]

__getattr__ = lazy_names(
    __name__,
    {
        "levelled.predictions": "Categorical PoolPredictions",
        "levelled.sources.answers": "AnswerRow read_answers read_result",
        "levelled.sources.choices": "ColumnChoices",
        "levelled.sources.content": "ShownField find_image shown_fields",
        "levelled.sources.pool": "Pool Recognised open_pool",
    },
)
