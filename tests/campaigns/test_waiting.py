"""Hard items take longer, so an estimate has to wait for the ones that are still out."""

import heapq
from datetime import timedelta

import numpy as np

from campaigns.simulated import START, beginning, spam, tell_one
from levelled.campaigns.figures.settled import settled_draws
from levelled.campaigns.log import decide
from levelled.campaigns.log.events import apply_events
from levelled.campaigns.log.records import DrawnItem
from levelled.campaigns.log.state import CampaignState
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.metrics.named import parse_metric

LABELLERS, ARRIVED = 16, 25
CAMPAIGNS = 300  # dropping misses by 55 standard errors, a bias a tenth as large would be found
POOL, TRUTH = spam(100, seed=5)


def loss(item: DrawnItem) -> float:
    return float(TRUTH[str(item.id)] != item.pred[""])


def campaign(seed: int) -> tuple[float, float]:
    """Sixteen people label; the estimates without what is out at the 25th label, and with it."""
    rng = np.random.default_rng(seed)
    asked = ARRIVED + LABELLERS - 1
    state = apply_events(beginning(POOL, asked, seed=seed, in_flight=LABELLERS, budget=asked))
    at_work: list[tuple[float, int]] = []
    state = ask(state, LABELLERS, 0.0, at_work, rng)
    dropping = None
    while at_work:
        now, draw = heapq.heappop(at_work)
        item = state.draws[draw - 1]
        when = START + timedelta(seconds=now)
        state = apply_events(tell_one(state, item, TRUTH[str(item.id)], None, when), state)
        if len(state.answers) == ARRIVED:
            dropping = without_pending(state)
        state = ask(state, 1, now, at_work, rng)
    assert state.n_settled == asked
    assert dropping is not None
    everything = settled_draws(state)
    losses, _ = everything.losses(parse_metric("error"), "")
    return dropping, float(np.mean(lure_weights(everything.draws) * losses))


def ask(
    state: CampaignState,
    n: int,
    now: float,
    at_work: list[tuple[float, int]],
    rng: np.random.Generator,
) -> CampaignState:
    """Whoever is free takes the next item; one that the model gets wrong takes ten times longer."""
    given = decide.ask(state, n, None, START + timedelta(seconds=now))
    for one in given.asks:
        minutes = rng.exponential(1 + 9 * loss(state.draws[one.draw - 1]))
        heapq.heappush(at_work, (now + minutes, one.draw))
    return apply_events(given.events, state) if given.events else state


def without_pending(state: CampaignState) -> float:
    """What one gets who takes the answers that have arrived for all the draws there were."""
    items = [state.draws[draw - 1] for draw in sorted(state.answers)]
    draws = Draws(
        np.array([item.row for item in items]),
        np.array([item.probability for item in items]),
        state.settings.pool_size,
    )
    return float(np.mean(lure_weights(draws) * [loss(item) for item in items]))


def test_waiting_for_all_is_unbiased_and_dropping_what_is_pending_is_not(seed: int) -> None:
    runs = [campaign(seed * CAMPAIGNS + run) for run in range(CAMPAIGNS)]
    dropping, waiting = np.array(runs).T
    truth = float(np.mean([TRUTH[f"r{i}"] != predicted(i) for i in range(len(POOL))]))

    def z(values: np.ndarray) -> float:
        return float((values.mean() - truth) / (values.std(ddof=1) / np.sqrt(CAMPAIGNS)))

    assert abs(z(waiting)) < 5.5  # by the normal law fails at most 1 run in 10**7
    assert z(dropping) < -10


def predicted(row: int) -> str:
    return "spam" if POOL["proba_spam"][row].as_py() > 0.5 else "ham"
