"""The draws that estimates rest on: from the first on without a gap, answered or resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.records import Drawn, Label
from levelled.campaigns.state import State
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.metrics.named import Metric, Values
from levelled.metrics.ratio import Pairs

__all__ = ["Settled", "settled"]


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Draws 1..m, the labels of those that have one, and which ones do."""

    items: tuple[Drawn, ...]
    labels: tuple[Label | None, ...]
    draws: Draws
    labelable: BoolArray

    @property
    def unlabelable_share(self) -> float:
        """The estimated share of the pool that cannot be labelled."""
        if self.labelable.all():
            return 0.0
        return float(np.mean(lure_weights(self.draws) * ~self.labelable))

    def lure_weights(self) -> FloatArray:
        """The weights of R_LURE for these draws."""
        return lure_weights(self.draws)

    def inside(self, column: str | None, value: str | None) -> BoolArray:
        """Which of the draws have a label and lie in the slice."""
        if column is None:
            return self.labelable
        here = np.array([item.slices[column] == value for item in self.items], dtype=bool)
        return here & self.labelable

    def values(self, state: State, metric: Metric, model: str) -> Values:
        """The metric's losses (or pairs) of every draw; 0 where there is no label."""
        at = np.flatnonzero(self.labelable)
        labels = [self.labels[i] for i in at]
        pred, proba = self._predictions(state, model, at.tolist())
        found = metric.values(
            labels,
            pred if metric.needs in ("pred", "number") else None,
            proba if metric.needs == "proba" else None,
            state.settings.classes,
        )
        if found.denominators is None:
            return Values(self._spread(found.losses, at))
        return Values(self._spread(found.losses, at), self._spread(found.denominators, at))

    def pairs(
        self,
        state: State,
        metric: Metric,
        model: str,
        inside: BoolArray,
        counts: Mapping[str, int] | None,
    ) -> Pairs:
        """A ratio's numerators and denominators; outside of `inside` both are 0.

        `counts` are the model's predictions in the whole pool, where all of it is meant.
        """
        if counts is not None:
            pred, _ = self._predictions(state, model, range(len(self.items)))
            return metric.pairs(list(self.labels), pred, state.settings.n_pool, counts)
        found = self.values(state, metric, model)
        most = metric.d_max or 1.0
        left = state.settings.n_pool - len(self.items)
        unseen = [(left, [(0.0, 0.0), (0.0, most / 2), (0.0, most), (most, most)])]
        assert found.denominators is not None  # it is a ratio
        return Pairs(
            found.losses * inside, found.denominators * inside, unseen, "positive in this slice"
        )

    def _predictions(
        self, state: State, model: str, at: Sequence[int]
    ) -> tuple[list[Label], list[tuple[float, ...]]]:
        later = state.attached.get(model)
        if later is not None:
            draws = [self.items[i].draw for i in at]
            return [later.pred[d] for d in draws], [later.proba.get(d, ()) for d in draws]
        items = [self.items[i] for i in at]
        missing = ""
        return (
            [item.pred.get(model, missing) for item in items],
            [item.proba.get(model, ()) for item in items],
        )

    def _spread(self, part: FloatArray, at: np.ndarray) -> FloatArray:
        whole = np.zeros(len(self.items))
        whole[at] = part
        return whole


def settled(state: State, n: int | None = None) -> Settled:
    """The first n draws: all that are settled, unless told otherwise."""
    n = state.n_settled if n is None else n
    items = state.draws[:n]
    names = tuple(items[0].design) if items else ()
    answers = [state.answers.get(item.draw) for item in items]
    design = {name: np.array([item.design[name] for item in items]) for name in names}
    return Settled(
        items,
        tuple(None if answer is None else answer.label for answer in answers),
        Draws(
            np.array([item.row for item in items], dtype=np.int64),
            np.array([item.probability for item in items]),
            state.settings.n_pool,
            design=design or None,
        ),
        np.array([answer is not None for answer in answers], dtype=bool),
    )
