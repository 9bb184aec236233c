"""The rules of the claims of the image studies, as the ledger states them.

A difference counts if Student's t shows it, with at most a 5% chance of any false alarm among the
comparisons of a claim.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import stats
from scipy.special import comb

from levelled._check import FloatArray
from levelled.estimators.lure import weights as lure_weights
from studies.rules.reading import (
    ALARM,
    Row,
    Rule,
    Settings,
    beyond,
    column,
    each,
    pick,
    shown,
    within,
)

__all__ = ["PATTERNS"]

ESTIMATES = ("LURE", "PURE", "naive")
SLIGHT, LITTLE, TIMES, THIN, SIMILAR, SMALL = 0.05, 0.1, 3, 15, 1.25, 0.25


def of_way(rows: Sequence[Row], way: str) -> list[Row]:
    """The rows of one kind of trajectory, such as mnist_cnn_10000_naive."""
    return [row for row in rows if row["task"].rpartition("_")[0] == way]


def drawn(rows: Sequence[Row], way: str, name: str) -> FloatArray:
    """A column of all draws: [trajectories, labels]."""
    own = of_way(rows, way)
    return column(own, name).reshape(-1, max(row["labels"] for row in own))


def tested(rows: Sequence[Row], way: str, name: str) -> FloatArray:
    """A column at the checkpoints: [trajectories, checkpoints]."""
    own = [row for row in of_way(rows, way) if row["naive nll"] is not None]
    return column(own, name).reshape(-1, len({row["labels"] for row in own}))


def overfitting(rows: Sequence[Row], way: str, name: str) -> FloatArray:
    return tested(rows, way, f"{name} nll") - tested(rows, way, f"{name} trained")


def fixed_errors(rows: Sequence[Row], way: str, *, weighted: bool) -> FloatArray:
    """True risk less estimate of the fixed network at the checkpoints."""
    own = [row for row in of_way(rows, way) if row["naive nll"] is not None]
    at = sorted({row["labels"] for row in own})
    found = []
    for loss, risk, q, N in zip(
        *(drawn(rows, way, name) for name in ("fixed_loss", "fixed_risk", "probability")),
        drawn(rows, way, "pool_size"),
        strict=True,
    ):
        weights = [lure_weights(q[:M], int(N[0])) if weighted else np.ones(M) for M in at]
        found.append([risk[0] - np.mean(w * loss[:M]) for w, M in zip(weights, at, strict=True)])
    return np.array(found)


def mean(values: FloatArray) -> FloatArray:
    """One number a trajectory."""
    averaged: FloatArray = values.mean(axis=1)
    return averaged


def curve(rows: Sequence[Row], data: str, proposal: str, name: str) -> list[Row]:
    return pick(rows, data=data, proposal=proposal, series=name)


def z(rows: Sequence[Row]) -> FloatArray:
    return column(rows, "mean") / column(rows, "stderr")


def of_two(rows: Sequence[Row]) -> bool:
    """True of results with BALD's proposal and a floor alone."""
    return {row["proposal"] for row in rows} == {"BALD", "floor"}


def overestimates(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """With each proposal the naive risk is above the true one by 5 standard errors at each M."""
    proposals = ["BALD"] if of_two(rows) else dict.fromkeys(row["proposal"] for row in rows)
    return each((z(curve(rows, "mnist", one, "naive")) < -5).all() for one in proposals)


def unbiased(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Less than 4 standard errors from 0 where the median design ESS is at least 15."""
    data, kind = name.removeprefix("image-unbiased-").rsplit("-", 1)
    proposal = {"bare": "BALD"}.get(kind, kind)
    tells = column(curve(rows, data, proposal, "design ESS"), "median") >= THIN
    if of_two(rows) and proposal == "floor":
        tells = np.ones_like(tells)  # the floor alone keeps the weights in bounds
    far = [np.abs(z(curve(rows, data, proposal, one))[tells]) for one in ("PURE", "LURE")]
    if not tells.any():
        return "cannot tell"
    return "holds" if max(own.max() for own in far) < 4 else "does not hold"


def lower_variance(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The s.d. of R_LURE and of R_PURE is at most 1.25 times the naive one at each M."""
    found = re.fullmatch(r"image-lower-variance-(.+)-(\w+)", name)
    if found is None:  # R_LURE alone, and no more than the naive one
        sd = [column(curve(rows, "mnist", "BALD", one), "sd") for one in ("LURE", "naive")]
        return each(sd[0] < sd[1])
    data, proposal = found.groups()
    lure, pure, naive = (column(curve(rows, data, proposal, one), "sd") for one in ESTIMATES)
    return each(np.maximum(lure, pure) <= SIMILAR * naive)


def small_on_fashion(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """At M = 100 below a quarter of the risk; partly, if a smaller share than on MNIST."""
    proposal = name.removeprefix("image-fashion-small").removeprefix("-") or "BALD"
    share = {}
    for data in ("mnist", "fashion-mnist"):
        (row,) = pick(curve(rows, data, proposal, "naive"), labels=100)
        share[data] = -row["mean"] / row["risk"]
    if share["fashion-mnist"] < SMALL:
        return "holds"
    return "holds partly" if share["fashion-mnist"] < share["mnist"] else "does not hold"


def way_of(settings: Settings) -> str:
    return f"{settings['data']}_{settings['network']}_10000_naive"


def not_better(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Neither LURE nor PURE is better than naive by 5% of it; two comparisons."""
    kind, sign = ("nll", 1) if name.startswith("training-loss") else ("accuracy", -1)
    way = way_of(settings)
    naive = tested(rows, way, f"naive {kind}")
    found = [
        beyond(sign * mean(tested(rows, way, f"{one} {kind}") - naive), -SLIGHT * naive.mean(), 2)
        for one in ("LURE", "PURE")
    ]
    return shown(*zip(*found, strict=True))


def as_said(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """LURE and PURE are shown to be worse; with dropout's loss, within 5% of naive."""
    kind = "nll" if "-nll-" in name else "accuracy"
    way = way_of(settings)
    naive = tested(rows, way, f"naive {kind}")
    apart = [mean(tested(rows, way, f"{one} {kind}") - naive) for one in ("LURE", "PURE")]
    if name == "training-nll-as-said-mnist-dropout":
        return shown(*zip(*(within(one, SLIGHT * naive.mean(), 2) for one in apart), strict=True))
    sign = 1 if kind == "nll" else -1
    return shown(*zip(*(beyond(sign * one, 0, 2) for one in apart), strict=True))


def learns(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The naive loss at the last checkpoint is shown to be below that at the first."""
    loss = tested(rows, way_of(settings), "naive nll")
    up, down = beyond(loss[:, 0] - loss[:, -1], 0)
    return shown([up], [down])


def opposite(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Overfitting bias above 0 for all three, ALB below 0; four comparisons."""
    way = f"{name.removeprefix('overfitting-opposite-')}_cnn_10000_naive"
    found = [beyond(mean(overfitting(rows, way, one)), 0, 4) for one in ("naive", "PURE", "LURE")]
    found.append(beyond(-mean(fixed_errors(rows, way, weighted=False)), 0, 4))
    return shown(*zip(*found, strict=True))


def other_bias(rows: Sequence[Row], data: str, name: str) -> FloatArray:
    """The active learning bias that a claim compares with, one number a trajectory."""
    pairing = re.sub(r"^overfitting-(similar-mnist|dominates-fashion)-?", "", name)
    if pairing in ("", "same"):
        return mean(fixed_errors(rows, f"{data}_cnn_10000_naive", weighted=False))
    own = of_way(rows, f"{data}_cnn_{pairing}_own")
    return mean(column(own, "own bias").reshape(-1, len({row["labels"] for row in own})))


def similar(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """ALB below 0, and overfitting bias between a third and three times its size; 3 comparisons."""
    over = mean(overfitting(rows, "mnist_cnn_10000_naive", "naive"))
    bias = other_bias(rows, "mnist", name)
    most, least = over + TIMES * bias, over + bias / TIMES
    (high, low), (positive, negative) = beyond(most, 0, 3), beyond(bias, 0, 3)
    above, below = beyond(least, 0, 3)
    return shown([negative and low and above], [positive or (negative and (high or below))])


def dominates(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Overfitting bias above three times ALB, whichever sign that has; 3 comparisons."""
    over = mean(overfitting(rows, "fashion-mnist_cnn_10000_naive", "naive"))
    bias = other_bias(rows, "fashion-mnist", name)
    found = [beyond(over + sign * TIMES * bias, 0, 3) for sign in (1, -1)]
    held, refuted = zip(*found, strict=True)
    return shown([all(held)], [any(refuted)])


def reduced(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Naive less LURE is shown to be above 0, by more than R_LURE's own error if that is told."""
    way = "fashion-mnist_cnn_10000_naive"
    less = mean(overfitting(rows, way, "naive") - overfitting(rows, way, "LURE"))
    if any(row["task"].split("_")[3] == "own" for row in rows):  # both biases are kept
        own = abs(float(fixed_errors(rows, way, weighted=True).mean()))
        return shown([beyond(less, own)[0]], [beyond(less, -own)[1]])
    up, down = beyond(less, 0)
    return shown([up], [down])


TEMPERATURES = ("1000", "5000", "10000", "15000", "20000")


def at_temperature(rows: Sequence[Row], T: str, name: str) -> FloatArray:
    return tested(rows, f"mnist_cnn_{T}_naive", name)


def little_effect(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Each temperature's loss is within a tenth of that at 10,000; four comparisons."""
    base = at_temperature(rows, "10000", "naive nll")
    found = [
        within(mean(at_temperature(rows, T, "naive nll") - base), LITTLE * base.mean(), 4)
        for T in TEMPERATURES
        if T != "10000"
    ]
    return shown(*zip(*found, strict=True))


def same_pattern(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """LURE is not better than naive by 5% at any temperature; five comparisons."""
    limit = -SLIGHT * at_temperature(rows, "10000", "naive nll").mean()
    found = [
        beyond(
            mean(at_temperature(rows, T, "LURE nll") - at_temperature(rows, T, "naive nll")),
            limit,
            5,
        )
        for T in TEMPERATURES
    ]
    return shown(*zip(*found, strict=True))


def spread_of_weights(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The s.d. of LURE's weights is shown to rise from each temperature to the next."""
    spread = {}
    for T in TEMPERATURES:
        way = f"mnist_cnn_{T}_naive"
        pairs = zip(drawn(rows, way, "probability"), drawn(rows, way, "pool_size"), strict=True)
        spread[T] = np.array([lure_weights(q, int(N[0])).std() for q, N in pairs])
    found = [beyond(spread[hot] - spread[cold], 0, 4) for cold, hot in pairwise(TEMPERATURES)]
    return shown(*zip(*found, strict=True))


def uniform(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """At the last draw evenness is above 0.9 at 1,000, and falls from 10,000 to 20,000."""
    last = {T: drawn(rows, f"mnist_cnn_{T}_naive", "evenness")[:, -1] for T in TEMPERATURES}
    found = [beyond(last["1000"] - 0.9, 0, 2), beyond(last["10000"] - last["20000"], 0, 2)]
    return shown(*zip(*found, strict=True))


def throughout(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The difference is within 5% of the naive choice."""
    kind = name.removeprefix("throughout-")
    one, other = (
        tested(rows, f"mnist_cnn_10000_{acquire}", f"LURE {kind}") for acquire in ("LURE", "naive")
    )
    inside, outside = within(mean(one - other), SLIGHT * other.mean())
    return shown([inside], [outside])


def below(low: FloatArray, high: FloatArray) -> bool:
    """Every trajectory of one kind lies below every one of the other, which chance does rarely."""
    rare = 1 / comb(len(low) + len(high), len(low), exact=True) <= ALARM
    return bool(rare and low.max() < high.min())


def chosen(rows: Sequence[Row], settings: Settings, way: str, name: str) -> FloatArray:
    return mean(drawn(rows, way, name)[:, settings["start"] :])


def proportional(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Evenness above 0.5, and above Boltzmann's, in each trajectory."""
    even, sharp = (
        chosen(rows, settings, f"mnist_cnn_{proposal}_naive", "evenness")
        for proposal in ("proportional", "10000")
    )
    return shown(
        [even.min() > 0.5 and below(sharp, even)], [even.max() < 0.5 or below(even, sharp)]
    )


def compressed(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The spread of scores with dropout is below that of the radial posterior in each pair."""
    narrow, wide = (
        chosen(rows, settings, f"mnist_{network}_10000_naive", "spread")
        for network in ("dropout", "cnn")
    )
    return shown([below(narrow, wide)], [below(wide, narrow)])


def varies_more(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The ratio of variances over trajectories is beyond Fisher's F at 5%, two-sided."""
    variances = [
        mean(tested(rows, f"mnist_{network}_10000_naive", "naive nll")).var(ddof=1)
        for network in ("mlp", "cnn")
    ]
    n = len(tested(rows, "mnist_mlp_10000_naive", "naive nll"))
    quantile = stats.f.ppf(1 - ALARM / 2, n - 1, n - 1)
    ratio = variances[0] / variances[1]
    return shown([ratio > quantile], [ratio < 1 / quantile])


PATTERNS: dict[str, Rule] = {
    r"image-naive-overestimates": overestimates,
    r"image-unbiased-.+": unbiased,
    r"image-lower-variance.*": lower_variance,
    r"image-fashion-small.*": small_on_fashion,
    r"training-(loss|accuracy)-(?!as-said).+": not_better,
    r"training-(nll|accuracy)-as-said-.+": as_said,
    r"training-learns": learns,
    r"overfitting-opposite-.+": opposite,
    r"overfitting-similar-mnist.*": similar,
    r"overfitting-dominates-fashion.*": dominates,
    r"overfitting-reduced-fashion": reduced,
    r"temperature-little-effect": little_effect,
    r"temperature-same-pattern": same_pattern,
    r"temperature-variance": spread_of_weights,
    r"temperature-uniform": uniform,
    r"throughout-.+": throughout,
    r"proposals-proportional": proportional,
    r"proposals-dropout": compressed,
    r"proposals-mlp": varies_more,
}
