"""From a pool to draws: the proposal of a campaign, and its draws made ahead in one race.

Scores are frozen, and a longer race begins with the shorter one, so drawing further ahead
continues the same sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from levelled import proposals, scores
from levelled._check import FloatArray, IntArray, choice
from levelled.campaigns.records import CampaignSettings, Label
from levelled.draws import Draws
from levelled.errors import CampaignError
from levelled.estimators.moments import uniform_probability
from levelled.labels import class_text
from levelled.metrics.named import Metric, parse_metric
from levelled.proposals import named
from levelled.samplers import race, with_design
from levelled.sources import Pool

__all__ = [
    "PROPOSALS",
    "SCORES",
    "as_label",
    "draw_further",
    "frozen_proposal",
    "place_of",
    "sampled_draws",
]

SCORES = ("auto", "entropy", "margin", "least_confidence", "uniform")
PROPOSALS = ("proportional", "boltzmann", "power", "rank", "uniform")


@dataclass(frozen=True, slots=True, eq=False)
class Frozen:
    """Weights of the whole pool, and where there is one a predictor of the loss with its bound."""

    weights: FloatArray
    control: FloatArray | None
    bound: float | None

    def only(self, rows: IntArray) -> "Frozen":
        """The same for some rows of the pool."""
        control = None if self.control is None else self.control[rows]
        return Frozen(self.weights[rows], control, self.bound)


def frozen_proposal(pool: Pool, settings: CampaignSettings) -> Frozen:
    """Half uniform, half in proportion to what the first metric's loss is expected to be.

    `settings` may ask for another score, another proposal and another floor.
    """
    metric = parse_metric(settings.metrics[0])
    score = _score(pool, metric, settings.score)
    probability = named.parse(settings.proposal, PROPOSALS)(score)
    control = metric.control(pool.predictions(settings.models[0]))
    bound = metric.bounds[1] if metric.bounds is not None else None
    return Frozen(
        proposals.mixture(probability, share=settings.floor),
        control,
        bound if control is not None and bound is not None and np.isfinite(bound) else None,
    )


def _score(pool: Pool, metric: Metric, name: str) -> FloatArray:
    choice("score", name, SCORES)
    if name == "auto":
        return metric.score(pool.predictions())
    if name == "uniform":
        return np.ones(len(pool))
    proba = pool.predictions().proba
    if proba is None:
        raise CampaignError(
            f"The score {name!r} needs the model's probabilities (columns proba_<class>), which "
            f"this pool does not have."
        )
    return np.asarray(getattr(scores, name)(proba), dtype=np.float64)


def draw_further(
    pool: Pool, settings: CampaignSettings, drawn: Sequence[int], last: int
) -> list[dict[str, Any]]:
    """The draws after those of `drawn` (their rows) up to number `last`, ready for an event."""
    N, n_sampled = len(pool), settings.n_sampled
    left = np.delete(np.arange(N), np.array(drawn[:n_sampled], dtype=np.int64))
    frozen = frozen_proposal(pool, settings).only(left)
    k = min(last, N) - n_sampled
    draws = race(frozen.weights, k, seed=settings.seed)
    draws = with_design(draws, frozen.weights, control=frozen.control, bound=frozen.bound)
    rows = left[draws.index]
    if rows[: len(drawn) - n_sampled].tolist() != list(drawn[n_sampled:]):
        raise CampaignError(
            "The pool gives other draws than the ones on record: it is not the pool this campaign "
            "was created with."
        )
    first = len(drawn) + 1
    return _items(pool, settings, rows, draws, n_sampled, first)


def place_of(pool: Pool) -> str | list[str] | None:
    """Where a pool is, from wherever the campaign is taken up again."""
    if pool.source is None:
        return None
    if isinstance(pool.source, str):
        return str(Path(pool.source).absolute())
    return [str(Path(path).absolute()) for path in pool.source]


def sampled_draws(
    pool: Pool, settings: CampaignSettings, rows: IntArray, frozen: Frozen
) -> list[dict[str, Any]]:
    """A random sample that has labels already, as uniform draws 1..n."""
    N, n = len(pool), len(rows)
    uniform = np.full(N, 1 / N)
    draws = Draws(rows, uniform_probability(N, n), N)
    draws = with_design(draws, uniform, control=frozen.control, bound=frozen.bound)
    return _items(pool, settings, rows, draws, 0, 1)


def _items(
    pool: Pool, settings: CampaignSettings, rows: IntArray, draws: Draws, before: int, first: int
) -> list[dict[str, Any]]:
    """What is kept of draws `first`.. on; draw 1 of `draws` has number before + 1."""
    skip = first - 1 - before
    rows = rows[skip:]
    # Columns with weights 1/(N q) were made for the pool without its sample.
    scale = draws.pool_size / len(pool)
    design = {
        name: column[skip:] * (scale if name.startswith("max_weight") else 1)
        for name, column in (draws.design or {}).items()
    }
    ids, shown = pool.ids(rows), pool.shown(rows)
    predicted = {model: pool.predictions(model) for model in settings.models}
    pred = {
        model: [as_label(value, settings) for value in values]
        for model, of in predicted.items()
        if (values := of.of(rows)) is not None
    }
    slices = {name: pool.slice_values(name).of(rows) for name in settings.slices}
    return [
        {
            "draw": first + at,
            "row": int(row),
            "id": ids[at],
            "probability": float(draws.probability[skip + at]),
            "design": {name: float(column[at]) for name, column in design.items()},
            "pred": {model: values[at] for model, values in pred.items()},
            "proba": {
                model: [float(p) for p in of.proba[row]]
                for model, of in predicted.items()
                if of.proba is not None
            },
            "slices": {name: values[at] for name, values in slices.items()},
            "data": shown[at],
        }
        for at, row in enumerate(rows.tolist())
    ]


def as_label(predicted: str | int | float, settings: CampaignSettings) -> Label:
    """A prediction as labels are kept, so that the two can be compared."""
    if settings.numeric and not isinstance(predicted, str):
        return float(predicted)
    return class_text(predicted)
