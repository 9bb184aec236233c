"""Figures with a control are exactly unbiased, and so are their variances: all paths are summed."""

from collections.abc import Iterator

import numpy as np
import pytest

from levelled._check import FloatArray, IntArray
from levelled.draws import Draws
from levelled.metrics.controlled import Columns, FigureForm, controlled_estimate, figure_moments
from levelled.metrics.ratios import Look

N, M, C = 7, 4, 3
LABEL = np.array([0, 1, 2, 0, 1, 0, 2])
PRED = np.array([0, 1, 0, 0, 2, 1, 2])
OTHER_PRED = np.array([0, 1, 2, 1, 2, 1, 2])
SLICE = np.array([1, 0, 1, 1, 0, 1, 0], dtype=float)
PRIOR = np.array([[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


def chances(seen: list[int]) -> FloatArray:
    """A predictor of the label that learns after every label: how often each prediction held."""
    pi = PRIOR[PRED].copy()
    for n in seen:
        pi[PRED[n] == PRED, LABEL[n]] += 0.5
    return np.asarray(pi / pi.sum(axis=1, keepdims=True))


def errors(pred: IntArray) -> FloatArray:
    return np.asarray(np.arange(C) != pred[:, None], dtype=np.float64)


def tables(kind: str) -> FloatArray:
    """The columns [2P, N, C] of a figure for every label that an item may have."""
    first, second = errors(PRED), errors(OTHER_PRED)
    ones = np.ones((N, C))
    if kind == "average":
        return np.stack([first, ones])
    if kind == "slice":
        return np.stack([first * SLICE[:, None], ones * SLICE[:, None]])
    if kind == "difference":
        return np.stack([first, second, ones, ones])
    right = (PRED[:, None] == 1) * (np.arange(C) == 1) * ones  # the recall of class 1
    return np.stack([right, (np.arange(C) == 1) * ones])


def every_path(
    frozen: bool,
) -> Iterator[tuple[float, list[int], list[FloatArray], list[FloatArray]]]:
    """The chance of each path of M draws, its rows, and the chances and proposals before each."""
    stack: list[tuple[float, list[int], list[FloatArray], list[FloatArray]]] = [(1.0, [], [], [])]
    while stack:
        chance, rows, before, proposals = stack.pop()
        if len(rows) == M:
            yield chance, rows, before, proposals
            continue
        pi = chances(rows)
        spread = np.ones(N) if frozen else 0.2 + np.sqrt(pi.max(axis=1) * (1 - pi.max(axis=1)))
        q = np.where(np.isin(np.arange(N), rows), 0.0, spread)
        q /= q.sum()
        stack += [
            (chance * q[n], [*rows, int(n)], [*before, pi], [*proposals, q])
            for n in np.flatnonzero(q)
        ]


def columns_of(
    table: FloatArray, rows: list[int], before: list[FloatArray], proposals: list[FloatArray]
) -> tuple[Columns, Draws]:
    K = len(table)
    control, left, likely = (np.zeros((K, M)) for _ in range(3))
    spread = np.zeros((M, K, K))
    for m, (n, pi, q) in enumerate(zip(rows, before, proposals, strict=True)):
        mean = np.einsum("nc,knc->kn", pi, table)
        rest = q > 0
        control[:, m], left[:, m] = mean[:, n], mean[:, rest].sum(axis=1)
        likely[:, m] = table[:, n, pi[n].argmax()]
        squares = np.einsum("nc,knc,jnc->kjn", pi, table, table)
        squares -= mean[:, None] * mean[None]
        spread[m] = (squares[..., rest] / q[rest]).sum(axis=-1) / N**2
    q = np.array([q[n] for n, q in zip(rows, proposals, strict=True)])
    values = table[:, rows, LABEL[rows]]
    draws = Draws(np.array(rows), q, N, design={"max_weight": np.ones(M)})
    return Columns(values, control, left, spread, likely, table[:, rows]), draws


def true_mean(kind: str) -> float:
    table = tables(kind)
    at = table[:, np.arange(N), LABEL].mean(axis=1)
    half = len(at) // 2
    parts = at[:half] / at[half:]
    return float(parts[0] - parts[1]) if half == 2 else float(parts[0])


def form_of(kind: str, share: float = 1.0, known: FloatArray | float = 0.0) -> FigureForm:
    table = tables(kind)
    P = len(table) // 2
    D = table[P:, :, 0].mean(axis=1) * share + np.broadcast_to(known, 2 * P)[P:]
    bounds = (-1.0, 1.0) if kind == "difference" else (0.0, 1.0)
    return FigureForm(np.array([1.0, -1.0][:P]), D, bounds, share, known)


@pytest.mark.parametrize("kind", ["average", "slice", "difference"])
@pytest.mark.parametrize("frozen", [False, True])
def test_value_and_variance_are_exactly_unbiased(kind: str, frozen: bool) -> None:
    form, mean, square, variance = form_of(kind), 0.0, 0.0, 0.0
    for chance, rows, before, proposals in every_path(frozen):
        columns, draws = columns_of(tables(kind), rows, before, proposals)
        found = figure_moments(columns, form, Look(draws, 0.95, "auto"))
        mean += chance * found.value
        square += chance * found.value**2
        variance += chance * float(found.observed)
    assert mean == pytest.approx(true_mean(kind), abs=1e-10)
    assert variance == pytest.approx(square - mean**2, abs=1e-10)


@pytest.mark.parametrize("kind", ["average", "difference"])
def test_labels_that_are_known_and_settled_items_join_exactly(kind: str) -> None:
    # Three more items, which are never drawn, with columns that are known.
    total = 10
    sums = np.array([2.0, 3.0]) if kind == "average" else np.array([2.0, 1.0, 3.0, 3.0])
    form = form_of(kind, N / total, sums / total)
    P = len(sums) // 2
    A = tables(kind)[:P, np.arange(N), LABEL].sum(axis=1) + sums[:P]
    truth = float(A[0] / total - (A[1] / total if P == 2 else 0.0))
    mean = square = variance = 0.0
    for chance, rows, before, proposals in every_path(frozen=False):
        columns, draws = columns_of(tables(kind), rows, before, proposals)
        found = figure_moments(columns, form, Look(draws, 0.95, "auto"))
        mean += chance * found.value
        square += chance * found.value**2
        variance += chance * float(found.observed)
    assert mean == pytest.approx(truth, abs=1e-10)
    assert variance == pytest.approx(square - mean**2, abs=1e-10)


def test_a_value_given_between_draws_keeps_the_estimate_unbiased() -> None:
    # Item 6 becomes known after two draws unless it was drawn before; it is drawn no more.
    table, mean = tables("average"), 0.0
    for chance, rows, before, proposals in _given_paths():
        columns, draws = columns_of(table, rows, before, proposals)
        given = np.zeros((2, M))
        if 6 not in rows[:2]:
            given[:, 2:] = table[:, 6, LABEL[6]][:, None]
        found = figure_moments(
            Columns(
                columns.values,
                columns.control,
                columns.left,
                columns.spread,
                columns.likely,
                columns.possible,
                given,
            ),
            form_of("average"),
            Look(draws, 0.95, "auto"),
        )
        mean += chance * found.value
    assert mean == pytest.approx(true_mean("average"), abs=1e-10)


def _given_paths() -> Iterator[tuple[float, list[int], list[FloatArray], list[FloatArray]]]:
    stack: list[tuple[float, list[int], list[FloatArray], list[FloatArray]]] = [(1.0, [], [], [])]
    while stack:
        chance, rows, before, proposals = stack.pop()
        if len(rows) == M:
            yield chance, rows, before, proposals
            continue
        pi = chances(rows)
        gone = [*rows, 6] if len(rows) >= 2 else rows
        q = np.where(np.isin(np.arange(N), gone), 0.0, 0.3 + pi[:, 0])
        q /= q.sum()
        stack += [
            (chance * q[n], [*rows, int(n)], [*before, pi], [*proposals, q])
            for n in np.flatnonzero(q)
        ]


def test_the_naive_mean_fails_in_the_same_harness() -> None:
    mean = sum(
        chance * float((LABEL[rows] != PRED[rows]).mean()) for chance, rows, *_ in every_path(False)
    )
    assert abs(mean - true_mean("average")) > 1e-3


def test_a_ratio_has_fiellers_limits_around_its_value() -> None:
    table = tables("recall")
    form = FigureForm(np.ones(1), np.full(1, np.nan), (0.0, 1.0))
    for _, rows, before, proposals in every_path(frozen=False):
        columns, draws = columns_of(table, rows, before, proposals)
        est = controlled_estimate(
            columns, form, Look(draws, 0.9, "auto"), (0.0, 1.0), columns.values[1] > 0, "label"
        )
        assert est.value is None or est.low <= est.value <= est.high


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_limits_scale_with_losses_that_have_no_bound(scale: float) -> None:
    rows, q = [0, 1, 2, 3], 1 / np.arange(7.0, 3.0, -1)
    values = np.array([[1.0, 2.0, 0.2, 0.5], np.ones(4)])
    values[0] *= scale
    zeros = np.zeros((2, 4))
    columns = Columns(
        values, zeros, zeros, np.tile(np.diag([scale**2, 0.0]), (4, 1, 1)), zeros, values[..., None]
    )
    form = FigureForm(np.ones(1), np.ones(1), (0.0, np.inf), counts_errors=False)
    look = Look(Draws(np.array(rows), q, N, design={"max_weight": np.ones(4)}), 0.95, "auto")
    est = controlled_estimate(columns, form, look, (0.0, np.inf), np.ones(4, bool), "label")
    assert est.interval == "log_t"
    assert est.high / scale == pytest.approx(
        controlled_estimate(
            Columns(
                np.stack([values[0] / scale, np.ones(4)]),
                zeros,
                zeros,
                np.tile(np.diag([1.0, 0.0]), (4, 1, 1)),
                zeros,
                values[..., None],
            ),
            form,
            look,
            (0.0, np.inf),
            np.ones(4, bool),
            "label",
        ).high
    )
