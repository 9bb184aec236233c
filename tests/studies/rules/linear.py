"""The rules of the claims of the linear studies, as the ledger states them."""

from collections.abc import Sequence

import numpy as np

from levelled._check import FloatArray
from levelled_studies.linear import data
from studies.rules.reading import Row, Rule, Settings, column, each, pick, yes

__all__ = ["RULES"]

POOL, UNSEEN = data.pool(), data.unseen()
LINE = np.polyfit(POOL.x, POOL.y, 1)
LOSSES = (POOL.y - np.polyval(LINE, POOL.x)) ** 2
IDEAL = float(np.mean((UNSEEN.y - np.polyval(LINE, UNSEEN.x)) ** 2))


def z(rows: Sequence[Row]) -> FloatArray:
    stderr = column(rows, "stderr")
    return column(rows, "mean") / np.where(stderr > 0, stderr, np.inf)


def series(rows: Sequence[Row], name: str) -> list[Row]:
    return pick(rows, series=name)


def nearer(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """LURE's line is nearer in more than half of the trajectories, by 4 standard errors."""
    (share,) = {row["nearer"] for row in series(rows, "LURE")} - {None}
    R = settings["trajectories"]
    return yes(share > 0.5 + 4 * np.sqrt(max(share * (1 - share), 1 / R) / R))


def biased(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """At each M more than 4 standard errors from 0, and more than 10 at M = 30."""
    naive = series(rows, "naive")
    at_30 = abs(z(pick(naive, labels=30))[0]) > 10
    return each([at_30, *(np.abs(z(naive)) > 4)])


def overestimates(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The mean of true risk less estimate is below 0 at each M."""
    return each(column(series(rows, "naive"), "mean") < 0)


def unbiased(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_PURE and R_LURE are less than 4 standard errors from 0 at each M."""
    return each(np.abs(z(series(rows, one))).max() < 4 for one in ("PURE", "LURE"))


def high_variance(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE varies more than the naive estimate, and more than uniform draws would, at each M."""
    lure, naive = series(rows, "LURE"), series(rows, "naive")
    M, N = column(lure, "labels"), len(POOL)
    uniform = np.sqrt(LOSSES.var(ddof=1) * (1 / M - 1 / N))
    sd = column(lure, "sd")
    return each([*(sd > column(naive, "sd")), *(sd > uniform)])


def improves(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Both gains are above 0 by 4 standard errors at each M up to 50."""
    gains = [series(rows, f"naive - {one}") for one in ("PURE", "LURE")]
    small = column(gains[0], "labels") <= 50
    return each((np.minimum(*map(z, gains)) > 4)[small])


def nearly_optimal(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE's test error is within a tenth of the ideal at each M."""
    return each(column(series(rows, "LURE"), "mean") < 1.1 * IDEAL)


def overfits_little(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The mean ALB is over 3 times the largest median overfitting bias, at each M."""
    medians = [np.abs(column(series(rows, one), "median")) for one in ("naive", "PURE", "LURE")]
    return each(np.abs(column(series(rows, "ALB"), "mean")) > 3 * np.max(medians, axis=0))


def opposite_signs(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """All medians of overfitting bias are above 0 and the mean ALB below 0, at each M."""
    medians = [column(series(rows, one), "median") for one in ("naive", "PURE", "LURE")]
    return each([*(np.min(medians, axis=0) > 0), *(column(series(rows, "ALB"), "mean") < 0)])


def naive_varies_least(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The naive variance is below both others at each M."""
    naive, *others = (column(series(rows, one), "mean") for one in ("naive", "PURE", "LURE"))
    return each(naive < np.minimum(*others))


def lure_below_pure(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Observed below, and by Theorems 1 and 3 below by 4 standard errors, at each M up to 95."""
    pure, lure = (column(series(rows, one), "mean") for one in ("PURE", "LURE"))
    exact = series(rows, "PURE - LURE given the draws")
    asked = column(exact, "labels") <= 95
    return each((lure < pure)[asked] & (column(exact, "mean") > 4 * column(exact, "stderr"))[asked])


def assumption(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """F_m >= F_(M-m+1) for m <= M/2, for each M from 10 to 100."""
    F = column(series(rows, "F"), "mean")
    return each(all(F[m - 1] >= F[M - m] for m in range(1, M // 2 + 1)) for M in range(10, 101))


def other_reading(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The three claims above hold with z-scores over the points left."""
    bias = pick(rows, proposal="geometric-left", quantity="bias")
    test = pick(rows, proposal="geometric-left", quantity="test MSE")
    found = [rule(bias, settings, name) for rule in (biased, unbiased)]
    return each(one == "holds" for one in [*found, improves(test, settings, name)])


def greedy(rule: Rule, quantity: str) -> Rule:
    return lambda rows, settings, name: rule(
        pick(rows, proposal="epsilon-greedy", quantity=quantity), settings, name
    )


def at_share(rows: Sequence[Row], one: str, what: str, labels: int = 30) -> FloatArray:
    """A column for each share of the optimal proposal, from uniform upwards."""
    own = [row for row in pick(rows, series=one, labels=labels) if row["proposal"] != "geometric"]
    return column(sorted(own, key=lambda row: float(row["proposal"])), what)


def exact_optimum(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """No error of R_PURE or R_LURE reaches 1e-10 at the optimum."""
    errors = [
        at_share(rows, one, "largest_error", M)[-1]
        for one in ("PURE", "LURE")
        for M in (10, 30, 60)
    ]
    return yes(max(errors) < 1e-10)


def less_variance(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """R_LURE varies less than the naive estimate with a share of 0.95 of the optimum."""
    return yes(at_share(rows, "LURE", "variance")[-2] < at_share(rows, "naive", "variance")[-2])


def first_rule(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The ratio of mean squared errors falls at every step; partly, if only in the end."""
    ratio = at_share(rows, "LURE", "mse") / at_share(rows, "naive", "mse")
    if (np.diff(ratio) < 0).all():
        return "holds"
    return "holds partly" if ratio[-2] < ratio[0] else "does not hold"


def power(rows: Sequence[Row]) -> tuple[float, float]:
    """The power of M by which a mean falls: weighted least squares on log scales."""
    x, y = np.log(column(rows, "labels")), np.log(column(rows, "mean"))
    weight = (column(rows, "mean") / column(rows, "stderr")) ** 2
    design = np.stack([np.ones_like(x), x], axis=1)
    inverse = np.linalg.inv(design.T @ (weight[:, None] * design))
    return float((inverse @ (design.T @ (weight * y)))[1]), float(np.sqrt(inverse[1, 1]))


def vanishes(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The mean squared error falls faster than M to the power -1/2, by 4 standard errors."""
    rate, stderr = power(series(rows, f"{name.split('-')[0].upper()} squared error"))
    return yes(rate + 4 * stderr < -0.5)


def stays_biased(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The naive error is below 0 by 4 standard errors at each size."""
    return yes((z(series(rows, "naive error")) < -4).all())


def stays_bad(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The naive excess risk does not halve, and LURE's falls faster than M^(-1/2)."""
    naive = column(series(rows, "naive excess"), "mean")
    rate, stderr = power(series(rows, "LURE excess"))
    return each([naive[-1] > naive[0] / 2, rate + 4 * stderr < -0.5])


PROPOSALS = ("uniform", "geometric", "near-optimal")


def term(rows: Sequence[Row], proposal: str, one: str, name: str, labels: int = 30) -> float:
    (row,) = pick(rows, proposal=proposal, series=one, term=name, labels=labels)
    return float(row["value"])


def adds_up(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Each sum is less than 4.5 standard errors from what was observed."""
    off = pick(rows, term="sum - observed")
    return each(abs(row["value"]) < 4.5 * row["stderr"] or not row["stderr"] for row in off)


def second_over_first(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The second term of R_LURE is larger than the first for each proposal, at M = 30."""
    return each(
        term(rows, one, "LURE", "2") > term(rows, one, "LURE", "Var[L] / N") for one in PROPOSALS
    )


def first_term(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Term 1 of the naive estimate is above 0.8 Var[L]/N for each proposal."""
    return each(
        term(rows, one, "naive", "1") > 0.8 * term(rows, one, "LURE", "Var[L] / N")
        for one in PROPOSALS
    )


def suited(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """With the near-optimal proposal, the second term of R_LURE is below the naive term 2."""
    one = "near-optimal"
    return yes(term(rows, one, "LURE", "2") < term(rows, one, "naive", "2"))


def drift(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Term 3 is above 0 in each cell."""
    return each(row["value"] > 0 for row in pick(rows, series="naive", term="3"))


def either_sign(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Term 4 has both signs among the cells; partly, if one."""
    signs = {np.sign(row["value"]) for row in pick(rows, series="naive", term="4")}
    return "holds" if len(signs) == 2 else "holds partly"


def varies_less(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Within and between pools R_LURE varies less, with all proposals but the uniform one."""

    def variance(proposal: str, one: str) -> float:
        within = term(rows, proposal, one, "observed given the pool")
        return within + term(rows, proposal, one, "1")

    return each(variance(one, "LURE") < variance(one, "naive") for one in PROPOSALS[1:])


RULES: dict[str, dict[str, Rule]] = {
    "linear-illustration": {"nearer-to-ideal": nearer},
    "linear-bias": {
        "naive-biased": biased,
        "naive-overestimates": overestimates,
        "weighted-unbiased": unbiased,
        "high-variance": high_variance,
    },
    "linear-training": {"training-improves": improves, "nearly-optimal": nearly_optimal},
    "linear-overfitting": {
        "overfitting-is-small": overfits_little,
        "opposite-signs": opposite_signs,
    },
    "linear-variance": {
        "naive-varies-least": naive_varies_least,
        "lure-below-pure": lure_below_pure,
        "theorem-4-assumption": assumption,
    },
    "linear-epsilon-greedy": {
        "naive-biased": greedy(biased, "bias"),
        "weighted-unbiased": greedy(unbiased, "bias"),
        "training-improves": greedy(improves, "test MSE"),
        "other-reading": other_reading,
    },
    "linear-proposals": {
        "optimal-is-exact": exact_optimum,
        "weights-reduce-variance": less_variance,
        "rule-of-thumb-1": first_rule,
    },
    "linear-consistency": {
        "pure-consistent": vanishes,
        "lure-consistent": vanishes,
        "naive-inconsistent": stays_biased,
        "naive-training-inconsistent": stays_bad,
    },
    "linear-decomposition": {
        "terms-add-up": adds_up,
        "first-term-is-small": second_over_first,
        "naive-first-term": first_term,
        "weighted-variance-is-less": suited,
        "drift-is-positive": drift,
        "covariance-has-either-sign": either_sign,
        "lure-varies-less-if-suited": varies_less,
    },
}
