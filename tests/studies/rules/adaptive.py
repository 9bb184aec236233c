"""Rules of the studies of campaigns: efficiency, coverage, guarantee, judges and gate."""

from collections.abc import Sequence

import numpy as np

from levelled._check import FloatArray
from levelled_studies.efficiency.peers import PACKAGES
from studies.rules.reading import Row, Rule, Settings, column, each, pick, yes

SIX = ("fashion-mnist-strong", "mnist-strong", "credit-card", "adult", "imdb", "spam")


def factor(row: Row) -> tuple[float, float]:
    """The label factor, from squared errors where no other is known, and its standard error."""
    kind = "label_factor" if row["label_factor"] is not None else "label_factor_mse"
    return row[kind], row[f"{kind}_se"]


def allowed(row: Row) -> float:
    value, stderr = factor(row)
    return value + 3 * stderr


def six(rows: Sequence[Row], budget: int) -> list[Row]:
    own = pick(rows, method="adaptive", budget=budget)
    return [row for row in own if row["task"] in SIX]


def six_pools(rows: Sequence[Row], settings: Settings, name: str) -> str:
    budget = int(name.split()[2])
    bar = {500: 2.1, 100: 1.9}[budget]
    return yes(np.median([allowed(row) for row in six(rows, budget)]) >= bar)


def of_the_limit(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row for row in six(rows, 500) if row["limit"] < 5]
    return yes(np.median([allowed(row) / row["limit"] for row in own]) >= 0.85)


def worst(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """At least 0.8 where the risk is at least 0.5%; label factors have an allowance."""
    key = name.removeprefix("worst ").replace(" ", "_")
    own = [
        row
        for row in pick(rows, method="adaptive")
        if row["budget"] >= 100 and row["risk"] >= 0.005 and row[key] is not None
        if key == "label_factor" or row["budget"] == 500
    ]
    slack = 3 if key == "label_factor" else 0
    return yes(min(row[key] + slack * (row["label_factor_se"] or 0) for row in own) >= 0.8)


def against(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Within 3% of the peer, or ahead, on 80% of the tasks."""
    at = {(row["task"], row["method"]): row for row in pick(rows, budget=500)}
    peer = name.removeprefix("against ")
    ours = [task for task, method in at if method == peer and (task, "adaptive") in at]
    behind = [
        task for task in ours if allowed(at[task, "adaptive"]) < 0.97 * factor(at[task, peer])[0]
    ]
    return yes(len(behind) <= 0.2 * len(ours))


def width_shown(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return yes(np.median(column(six(rows, 500), "width_factor")) >= 1.8)


def no_bias(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row for row in pick(rows, method="adaptive") if row["bias_z"] is not None]
    return yes(np.abs(column(own, "bias_z")).max() < 4)


def judge_coverage(values: FloatArray, repetitions: int) -> str:
    """92% in every cell and 94.5% on average; an allowance decides from 400 repetitions on."""
    slack = 3 * np.sqrt(0.92 * 0.08 / repetitions)
    low = values.min() + slack < 0.92 or values.mean() + slack / np.sqrt(len(values)) < 0.945
    if low:
        return "does not hold"
    return "holds" if values.min() >= 0.92 or repetitions >= 400 else "cannot tell"


def looks_at_once(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row for row in pick(rows, method="adaptive") if row["budget"] >= 100]
    return judge_coverage(column(own, "coverage"), own[0]["repetitions"])


def packages(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return "holds" if set(PACKAGES) <= {row["method"] for row in rows} else "holds partly"


def is_ratio(row: Row) -> bool:
    return row["metric"].partition(":")[0] in ("precision", "recall", "f1")


def of_averages(rule: Rule) -> Rule:
    """The rule on averages alone; ratios have claims of their own."""
    return lambda rows, settings, name: rule(
        [row for row in rows if not is_ratio(row)], settings, name
    )


def of_ratios(rule: Rule) -> Rule:
    return lambda rows, settings, name: rule([row for row in rows if is_ratio(row)], settings, name)


def spam_ratios(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = pick(rows, method="adaptive", budget=500)
    return yes(min(allowed(row) for row in own if row["task"].startswith("spam")) >= 2)


def ratios_against(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Within 3% of each other method, or ahead, ratio by ratio."""
    at = pick(rows, budget=500)
    ours = {row["task"]: row for row in pick(at, method="adaptive")}
    others = [row for row in at if row["method"] not in ("adaptive", "uniform")]
    return each(allowed(ours[row["task"]]) >= 0.97 * factor(row)[0] for row in others)


def ratio_looks(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """92% in every cell; a cell below it by less than an allowance decides nothing."""
    own = [row for row in pick(rows, method="adaptive") if row["budget"] >= 100]
    least, n = column(own, "coverage").min(), column(own, "repetitions").min()
    if least >= 0.92:
        return "holds"
    return "cannot tell" if least + 3 * np.sqrt(0.92 * 0.08 / n) >= 0.92 else "does not hold"


def adaptive_coverage(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """A cell in which at least half of the campaigns are warned need not meet the bar."""
    silent = [row for row in rows if row["warned"] < 0.5]
    return judge_coverage(column(silent, "coverage"), settings["trajectories"])


def misses(rows: Sequence[Row], settings: Settings, name: str) -> str:
    slack = 3 * np.sqrt(0.05 * 0.95 / settings["trajectories"])
    return yes(column(rows, "misses").max() <= 0.05 + slack)


def judge_factor(rows: Sequence[Row], settings: Settings, name: str) -> str:
    pool = name.removeprefix("label factor, ")
    (own,) = pick(rows, pool=pool, figure="rate", method="adaptive")
    return yes(own["label_factor"] >= {"AlpacaEval": 1.3, "rare detector": 3.0}[pool])


def judge_peers(rows: Sequence[Row], settings: Settings, name: str) -> str:
    of_pool = pick(rows, pool=name.removeprefix("against peers, "), figure="rate")
    factors = {row["method"]: factor(row)[0] for row in of_pool}
    return yes(factors["adaptive"] == max(factors.values()))


def judge_coverages(rows: Sequence[Row], settings: Settings, name: str) -> str:
    of_rate = name.endswith("rate")
    own = [row for row in pick(rows, method="adaptive") if (row["figure"] == "rate") == of_rate]
    bar, least = 0.94 if of_rate else 0.93, column(own, "coverage").min()
    slack = 3 * np.sqrt(bar * (1 - bar) / own[0]["repetitions"])
    return "cannot tell" if bar - slack <= least < bar else yes(least >= bar)


def wrong_words(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The largest share of wrong words is at most 5%, three standard errors allowed."""
    allowance = 3 * np.sqrt(0.05 * 0.95 / settings["trajectories"])
    return yes(all(row["wrong"] <= 0.05 + allowance for row in rows))


def gate_power(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Campaigns with a guarantee show more claims about a limit than random labels do."""
    limits = {row["claim"] for row in rows} - {"better than"}
    shown = {(row["claim"], row["draws"]): row["shown"] for row in rows}
    return yes(all(shown[one, "finite"] > shown[one, "random"] for one in limits))


def no_better_constant(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """No change is better by 3% beyond two standard errors, with coverage within half a point.

    The coverage of bets is proven.
    """
    better = False
    for key in {(row["constant"], row["side"], row["group"]) for row in rows}:
        own = [row for row in rows if (row["constant"], row["side"], row["group"]) == key]
        of_interval = key[2] in ("interval", "static", "betting", "hedged")
        ratio = "squared_width" if of_interval else "variance"
        values, spread = column(own, ratio), column(own, f"{ratio}_se")
        mean = np.prod(values) ** (1 / len(own))
        error = mean * np.sqrt(np.sum((spread / values) ** 2)) / len(own)
        lost = np.mean(column(own, "coverage_before") - column(own, "coverage"))
        holds = key[2] in ("betting", "hedged") or lost <= 0.005
        better |= bool(mean < 0.97 - 2 * error and holds)
    return yes(not better)


AVERAGES: dict[str, Rule] = {
    "six pools, 500 labels": six_pools,
    "six pools, 100 labels": six_pools,
    "share of the limit": of_the_limit,
    "worst label factor": worst,
    "worst width factor": worst,
    "against static": against,
    "against active-testing": against,
    "against ppi": against,
    "against with-replacement": against,
    "width shown": width_shown,
    "unbiased": no_bias,
    "coverage of all planned looks": looks_at_once,
    "packages of others": packages,
}
RATIOS: dict[str, Rule] = {
    "ratios, spam": spam_ratios,
    "ratios, against others": ratios_against,
    "ratios, coverage of all planned looks": ratio_looks,
    "ratios, unbiased": no_bias,
}
RULES: dict[str, dict[str, Rule]] = {
    "label-efficiency": {
        **{name: of_averages(rule) for name, rule in AVERAGES.items()},
        **{name: of_ratios(rule) for name, rule in RATIOS.items()},
    },
    "adaptive-coverage": {"coverage of all planned looks": adaptive_coverage},
    "constants": {"half and twice each constant": no_better_constant},
    "guarantee": {"misses of the hedged interval": misses},
    "gate": {"wrong words of the gate": wrong_words, "power of the gate": gate_power},
    "judges": {
        "label factor, AlpacaEval": judge_factor,
        "label factor, rare detector": judge_factor,
        "against peers, AlpacaEval": judge_peers,
        "against peers, rare detector": judge_peers,
        "coverage of the rate": judge_coverages,
        "coverage of the figures": judge_coverages,
    },
}
