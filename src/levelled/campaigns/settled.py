"""The draws that estimates rest on: from the first on without a gap, answered or resolved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from levelled._check import BoolArray, FloatArray
from levelled.campaigns.records import Label
from levelled.campaigns.state import CampaignState, Items
from levelled.draws import Draws
from levelled.estimators import lure_weights
from levelled.metrics.metric import Metric, Values
from levelled.metrics.ratio import Pairs, Unseen

__all__ = ["Settled", "settled"]

Labels = tuple[Label | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Draws 1..m, the labels of those that have one, and which ones do."""

    items: Items
    """All that were drawn; the first of them are meant."""
    labels: Labels
    draws: Draws
    labelable: BoolArray

    def __len__(self) -> int:
        return len(self.labels)

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
        return self.here(column, value) & self.labelable

    def here(self, column: str | None, value: str | None) -> BoolArray:
        """Which of the draws lie in the slice, whether or not they can be labelled."""
        if column is None:
            return np.ones(len(self), dtype=bool)
        key = "slice", column
        if key not in self.items.known:
            self.items.known[key] = np.array([item.slices[column] for item in self.items])
        return np.asarray(self.items.known[key][: len(self)] == value)

    def values(self, state: CampaignState, metric: Metric, model: str) -> Values:
        """The metric's losses (or pairs) of every draw; 0 where there is no label.

        Only what was not known at an earlier look is computed.
        """
        key = "values", metric.name, model, _version(state, model)
        before: _Known = self.items.known.get(key, _NOTHING)
        new = before.differing(self.labels)
        found = before.table(len(self))
        found[:, new] = 0.0
        at = [i for i in new if self.labels[i] is not None]
        if at:
            pred, proba = self._predictions(state, model, at)
            parts = metric.values(
                [self.labels[i] for i in at],
                pred if metric.needs in ("pred", "number") else None,
                proba if metric.needs == "proba" else None,
                state.settings.classes,
            )
            found[0, at] = parts.losses
            found[1, at] = 0.0 if parts.denominators is None else parts.denominators
        self.items.known[key] = _Known(self.labels, found)
        return Values(found[0], found[1] if metric.kind == "ratio" else None)

    def pairs(
        self,
        state: CampaignState,
        metric: Metric,
        model: str,
        inside: BoolArray,
        left: int,
        counts: Mapping[str, int] | None,
    ) -> Pairs:
        """A ratio's numerators and denominators; outside of `inside` both are 0.

        `left` items of the slice are yet to be drawn. `counts` are the model's predictions in
        the whole pool, where all of it is meant and they are known.
        """
        found, most = self.values(state, metric, model), metric.d_max or 1.0
        assert found.denominators is not None  # it is a ratio
        numerator, denominator = found.losses * inside, found.denominators * inside
        if not counts:
            unseen: Unseen = [(left, [(0.0, 0.0), (0.0, most / 2), (0.0, most), (most, most)])]
            return Pairs(numerator, denominator, unseen, "positive among these items")
        shape = metric.pairs([], [], 1, {})
        positive = str(metric.positive)
        unlabelled = counts.get(positive, 0)
        unlabelled -= int(np.count_nonzero(self._pred(state, model) == positive))
        (_, if_positive), (_, if_not) = shape.unseen
        unseen = [(unlabelled, if_positive), (left - unlabelled, if_not)]
        mean = metric.denominator_mean(counts, state.settings.pool_size)
        return Pairs(numerator, denominator, unseen, shape.what, mean)

    def _pred(self, state: CampaignState, model: str) -> NDArray[Any]:
        """The predictions as an array."""
        key = "pred", model, _version(state, model)
        if key not in self.items.known:
            pred, _ = self._predictions(state, model, range(len(self.items)))
            self.items.known[key] = np.array(pred)
        return self.items.known[key][: len(self)]

    def _predictions(
        self, state: CampaignState, model: str, at: Sequence[int]
    ) -> tuple[list[Label], list[tuple[float, ...]]]:
        items = [self.items[i] for i in at]
        later = state.attached.get(model)
        if later is not None:
            draws = [item.draw for item in items]
            return [later.pred[d] for d in draws], [later.proba.get(d, ()) for d in draws]
        missing = ""
        return (
            [item.pred.get(model, missing) for item in items],
            [item.proba.get(model, ()) for item in items],
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Losses and denominators of draws 1.. as they were at an earlier look, and their labels."""

    labels: Labels
    found: FloatArray

    def differing(self, labels: Labels) -> list[int]:
        """The draws whose label was another one then, or that were not looked at."""
        n = min(len(labels), len(self.labels))
        pairs = enumerate(zip(self.labels[:n], labels[:n], strict=True))
        changed = [i for i, (then, now) in pairs if then is not now and then != now]
        return [*changed, *range(n, len(labels))]

    def table(self, n: int) -> FloatArray:
        """Room for n draws, filled as far as they are known."""
        made = np.zeros((2, n))
        known = self.found[:, :n]
        made[:, : known.shape[1]] = known
        return made


_NOTHING = _Known((), np.zeros((2, 0)))


def _version(state: CampaignState, model: str) -> str | None:
    """Which predictions of the model are meant: they may be attached anew."""
    later = state.attached.get(model)
    return None if later is None else later.fingerprint


def settled(state: CampaignState, n: int | None = None) -> Settled:
    """The first n draws: all that are settled, unless told otherwise."""
    n = state.n_settled if n is None else n
    answers = map(state.answers.get, range(1, n + 1))
    labels = tuple([None if answer is None else answer.label for answer in answers])
    columns = {name: column[:n] for name, column in state.draws.columns.items()}
    row, probability = columns.pop("row"), columns.pop("probability")
    return Settled(
        state.draws,
        labels,
        Draws(row, probability, state.settings.pool_size, design=columns or None),
        np.array([label is not None for label in labels], dtype=bool),
    )
