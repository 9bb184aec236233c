"""From files to drawn items: the proposal of a campaign, and its draws.

A static campaign draws by weights that never change. A longer race begins with the shorter one,
so drawing further ahead continues the same sequence. An adaptive campaign draws in rounds; the
predictor of each is in the log.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from levelled import proposals, scores
from levelled._check import FloatArray, IntArray, choice
from levelled.campaigns.drawing.drivers import begin_round, driver_of
from levelled.campaigns.drawing.pools import as_labels, attach_event, open_attached
from levelled.campaigns.log.events import Drawn, Event, RoundBegun
from levelled.campaigns.log.records import DrawnItem, Round
from levelled.campaigns.log.state import CampaignState
from levelled.campaigns.settings import CampaignSettings
from levelled.draws import Draws
from levelled.errors import CampaignError
from levelled.predictions import PoolPredictions
from levelled.samplers import FrozenProposal, PoolSlices, RunProposal
from levelled.sources import Pool
from levelled.surrogates import LossPredictor, next_round_size

SCORES = ("auto", "entropy", "margin", "least_confidence", "uniform")
_MOST_PREDICTED = 20
"""The most slices whose predictions are kept with each draw."""
PROPOSALS = ("proportional", "boltzmann", "power", "rank", "uniform")


Runs = Callable[[], Iterable[PoolPredictions]]
"""The predictions of a pool, a run of rows at a time; each call begins a new pass."""


def frozen_proposal(runs: Runs, settings: CampaignSettings) -> RunProposal:
    """The weights that `settings` choose, and the losses that the first metric expects.

    By default half of the probability is uniform, and half in proportion to the root mean squared
    loss. A pass over the runs scores them, and draws take another one.
    """
    metric, size = settings.metrics[0], settings.pool_size
    bound = metric.bounds[1] if metric.bounds is not None else np.inf

    def expected() -> Iterator[FrozenProposal]:
        start = 0
        for run in runs():
            rows, control = np.arange(start, start + len(run)), metric.control(run)
            largest = bound if control is not None and np.isfinite(bound) else None
            yield FrozenProposal(rows, size, np.ones(len(run)), control, largest)
            start += len(run)

    return RunProposal(size, np.arange(0), _frozen_weights(runs, settings), expected)


def _frozen_weights(runs: Runs, settings: CampaignSettings) -> FloatArray:
    """The weight of every item of the pool."""
    choice("score", settings.score, SCORES)
    if settings.kind == "uniform":
        return proposals.mixture(proposals.uniform(settings.pool_size), share=1.0)
    propose = proposals.parse_proposal(settings.proposal, PROPOSALS)
    return proposals.mixture(propose(_scores(runs, settings)), share=settings.floor)


def _scores(runs: Runs, settings: CampaignSettings) -> FloatArray:
    """The interest of every item of the pool."""
    values, start = np.empty(settings.pool_size), 0
    for run in runs():
        own = settings.score == "auto"
        score = settings.metrics[0].score(run) if own else _score(run, settings.score)
        values[start : start + len(score)] = score
        start += len(score)
    return values


def _score(predictions: PoolPredictions, name: str) -> FloatArray:
    if name == "uniform":
        return np.ones(predictions.pool_size)
    if predictions.proba is None:
        raise CampaignError(
            f"The score {name!r} needs the model's probabilities (columns proba_<class>), which "
            f"this pool does not have."
        )
    return np.asarray(getattr(scores, name)(predictions.proba), dtype=np.float64)


def draw_next(
    pool: Pool, state: CampaignState, needed: int
) -> tuple[Round | None, list[DrawnItem]]:
    """Further draws up to number `needed` or beyond, and the round they begin, if it is one.

    A static campaign doubles its draws. An adaptive one draws until its next fit, so that as many
    as possible use the newest labels. `pool` has the predicted losses that count by now.
    """
    settings, rows = state.settings, [item.row for item in state.draws]
    if settings.kind != "adaptive" and not state.restarted:
        last = min(max(2 * len(rows), needed), settings.last_draw)
        return None, draw_further(pool, settings, rows, last)
    begun = begin_round(pool, state)
    last = min(max(len(rows) + next_round_size(len(rows)), needed), settings.last_draw)
    return begun, draw_round(pool, settings, rows, last, begun)


def draw_events(pool: Pool, state: CampaignState, needed: int, *, at: str) -> list[Event]:
    """The events of further draws up to number `needed`, with the predictions attached by then."""
    begun, items = draw_next(pool, state, needed)
    events: list[Event] = [] if begun is None else [RoundBegun.of(begun, at=at)]
    events.append(Drawn(at=at, by=None, draws=tuple(items)))
    for model, attached in state.attached.items():
        predictions = open_attached(state.settings, model, attached)
        events.append(attach_event(state.settings, items, predictions, model, at=at))
    return events


def draw_further(
    pool: Pool, settings: CampaignSettings, rows: Sequence[int], last: int
) -> list[DrawnItem]:
    """The draws of frozen weights after those that took `rows`, up to number `last`."""
    n_sampled = settings.n_sampled
    sample = np.array(rows[:n_sampled], dtype=np.int64)
    frozen = frozen_proposal(partial(pool.runs, settings.models[0]), settings).without(sample)
    draws = frozen.draw(min(last, settings.pool_size) - n_sampled, seed=settings.seed)
    before = len(rows) - n_sampled
    if draws.index[:before].tolist() != list(rows[n_sampled:]):
        raise CampaignError(
            "The pool gives other draws than the ones on record: it is not the pool this campaign "
            "was created with."
        )
    return _make_items(pool, settings, draws, n_sampled + 1, skip=before)


def draw_round(
    pool: Pool, settings: CampaignSettings, rows: Sequence[int], last: int, begun: Round
) -> list[DrawnItem]:
    """The draws of one round after those that took `rows`, up to number `last`."""
    drawn = np.array(rows, dtype=np.int64)
    if begun.predictor is None:
        static = replace(settings, kind="static", floor=begun.floor)
        frozen = frozen_proposal(partial(pool.runs, settings.models[0]), static).without(drawn)
    else:
        predictor = LossPredictor.from_json(begun.predictor)
        driver = driver_of(pool, settings)
        frozen = driver.proposal(predictor, drawn, begun.floor, begun.shares)
        frozen = replace(frozen, slices=_slices_left(pool, settings, drawn))
    seed = np.random.SeedSequence((settings.seed, begun.first)).generate_state(2)
    draws = frozen.draw(last - len(rows), seed=int(seed[0]) << 31 ^ int(seed[1]))
    return _make_items(pool, settings, draws, len(rows) + 1)


def draw_again(
    pool: Pool,
    settings: CampaignSettings,
    rows: Sequence[int],
    last: int,
    rounds: Sequence[tuple[Round, Pool]] = (),
) -> list[DrawnItem]:
    """Draws 1 to `last` once more, given the rows that they took: each follows from those before.

    The first ones are a sample that has labels already, if there is one. Each round comes with
    the pool as it was then, which has its own predicted losses.
    """
    settings = replace(settings, n_sampled=min(settings.n_sampled, last))
    ends = [*(one.first - 1 for one, _ in rounds), last]
    items = draw_sample(pool, settings, np.array(rows[: settings.n_sampled], dtype=np.int64))
    if ends[0] > len(items):
        items += draw_further(pool, settings, rows[: len(items)], ends[0])
    for (begun, then), end in zip(rounds, ends[1:], strict=True):
        items += draw_round(then, settings, rows[: begun.first - 1], end, begun)
    return items


def draw_sample(pool: Pool, settings: CampaignSettings, rows: IntArray) -> list[DrawnItem]:
    """A random sample that has labels already, as uniform draws 1..n."""
    if not len(rows):
        return []
    if settings.kind == "adaptive":
        driver = driver_of(pool, settings)
        frozen = driver.proposal(driver.first_predictor, rows[:0], None)
        frozen = replace(frozen, slices=_slices_left(pool, settings, rows[:0]))
    else:
        frozen = replace(
            frozen_proposal(partial(pool.runs, settings.models[0]), settings),
            weights=np.ones(settings.pool_size),
        )
    return _make_items(pool, settings, frozen.fixed(rows), 1)


def _slices_left(pool: Pool, settings: CampaignSettings, drawn: IntArray) -> tuple[PoolSlices, ...]:
    """The slices of the items left, for which the predictor is kept; none where there are many."""
    if sum(map(len, settings.slice_counts.values())) > _MOST_PREDICTED:
        return ()
    values = {name: pool.slice_values(name) for name in settings.slices}
    return tuple(
        PoolSlices(tuple(f"{name}={one}" for one in each.values), np.delete(each.codes, drawn))
        for name, each in values.items()
    )


def _make_items(
    pool: Pool, settings: CampaignSettings, draws: Draws, first: int, skip: int = 0
) -> list[DrawnItem]:
    """The drawn items after `skip` of them, with all that estimates need; the first is `first`."""
    rows = draws.index[skip:]
    design = {name: column[skip:].tolist() for name, column in (draws.design or {}).items()}
    pred, proba, columns = {}, {}, pool.at(rows)
    every = np.arange(len(rows))
    for model in settings.models:
        predictions = columns.predictions(model, pool.classes)
        if (values := predictions.of(every)) is not None:
            pred[model] = as_labels(values, settings)
        if predictions.proba is not None:
            proba[model] = [tuple(p) for p in predictions.proba.tolist()]
    slices = {name: columns.slices[name].of(every) for name in settings.slices}
    probability, n = draws.probability[skip:].tolist(), len(rows)
    mappings = (_by_item(columns, n) for columns in (design, pred, proba, slices))
    items = zip(
        rows.tolist(),
        columns.ids.to_pylist(),
        probability,
        *mappings,
        pool.shown(rows),
        strict=True,
    )
    return [DrawnItem(draw, *values) for draw, values in enumerate(items, first + skip)]


def _by_item(columns: Mapping[str, Sequence[Any]], n: int) -> list[dict[str, Any]]:
    """Columns of n values each, as one mapping for each item."""
    return [{name: values[at] for name, values in columns.items()} for at in range(n)]
