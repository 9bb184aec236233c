"""The rules of the claims about Levelled itself, which state their bars."""

import re
from collections.abc import Sequence

import numpy as np

from levelled._check import FloatArray
from studies.rules.reading import Row, Rule, Settings, column, pick, yes
from studies.rules.regret import judge_share

__all__ = ["RULES"]


def reaches(rows: Sequence[Row], bar: float, name: str) -> str:
    """The worst coverage is at least the bar less three standard errors of its cell."""
    cells = [row for row in rows if row[name] is not None]
    worst = min(cells, key=lambda row: float(row[name]))
    n = worst["repetitions"] * (1 - (worst["warned"] if name == "silent_coverage" else 0))
    return yes(worst[name] >= bar - 3 * np.sqrt(bar * (1 - bar) / n))


KINDS = {
    "errors": ("0/1 losses", 0.93),
    "bounded": ("losses with a bound", 0.93),
    "differences": ("differences of 0/1 losses", 0.93),
    "unbounded": ("losses without a bound", 0.90),
}


def default(rows: Sequence[Row], settings: Settings, name: str) -> str:
    kind, bar = KINDS[name]
    floors = ("uniform", "floor 0.1", "floor 0.5")
    own = [
        row
        for row in pick(rows, method="default", kind=kind)
        if row["labels"] >= 100 and row["proposal"] in floors
    ]
    return reaches(own, bar, "silent_coverage")


def everywhere(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return reaches(pick(rows, method="default", kind="0/1 losses"), 0.92, "coverage")


def log_t(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [
        row
        for row in pick(rows, kind="losses without a bound")
        if row["method"].startswith("default")
        and row["proposal"] in ("floor 0.5", "adaptive")
        and row["labels"] >= 100
    ]
    return reaches(own, 0.925, "coverage")


def watched(rows: Sequence[Row], settings: Settings, name: str) -> str:
    bar = {"betting": 0.95, "anytime": 0.94}[name]
    return reaches(pick(rows, method=f"{name}, watched"), bar, "silent_coverage")


def width(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The median width is at most so many times 5%."""
    found = re.fullmatch(r"width-(\w+)-(uniform|floor-0\.5)", name)
    assert found
    kind, proposal = found[1], found[2].replace("-", " ")
    method = "betting, watched" if kind == "betting" else kind
    bar = {("default", "floor 0.5"): 0.65, ("default", "uniform"): 0.85}.get((kind, proposal), 1.05)
    own = pick(rows, pool="errors 5%", pool_size=10_000, labels=500)
    (cell,) = pick(own, proposal=proposal, method=method)
    return yes(cell["width"] <= bar)


def control(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """A t interval has less than this coverage, so the studies can fail."""
    method, labels, bar = {
        "control-5%": ("t, M-1 df, watched", 500, 0.65),
        "control-0.5%": ("t, M-1 df", 25, 0.3),
    }[name]
    own = pick(rows, pool=f"errors {name.removeprefix('control-')}", labels=labels)
    (cell,) = pick(own, pool_size=10_000, proposal="uniform", method=method)
    return yes(cell["coverage"] < bar)


METHODS = {
    "ratios": ("precision", "recall", "F1"),
    "macro": ("macro F1",),
    "slices": ("error in the slice",),
}


def ratios(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row for row in rows if row["method"] in METHODS[name]]
    return reaches(own, 0.93, "silent_coverage")


def ratios_watched(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row for row in rows if row["method"].endswith("watched")]
    return reaches(own, 0.95, "silent_coverage")


def all_looks(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return reaches(rows, 0.945, "coverage")


def stop(rows: Sequence[Row], settings: Settings, name: str) -> str:
    own = [row | {"repetitions": row["paths"]} for row in rows if row["paths"]]
    return reaches(own, 0.945, "stop_coverage")


def at_the_budget(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """At most 1.08 in every cell; partly, if in the median."""
    wide = column([row for row in rows if row["width_ratio"] is not None], "width_ratio")
    if (wide <= 1.08).all():
        return "holds"
    return "holds partly" if np.median(wide) <= 1.08 else "does not hold"


def saved(rows: Sequence[Row], settings: Settings, name: str) -> str:
    real = [row for row in rows if row["saved"] is not None]
    last = pick(real, labels=max(settings["budgets"]))
    if name == "labels-saved":
        return yes(np.median(column(last, "saved")) >= 1.3)
    if name == "worth":
        worth = column(last, "worth_ratio")
        return yes(((worth >= 0.9) & (worth <= 1.1)).all())
    if name == "few-errors":
        few = [row for row in rows if row["saved"] is None]
        return yes((column(few, "width_once") / column(few, "width_random")).max() <= 1.1)
    bars = {100: 0.75, 500: 0.85}
    return yes(all((column(pick(real, labels=n), "saved") >= bar).all() for n, bar in bars.items()))


def likely(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The median ratio of a pool is within 0.7 to 1.3 on three quarters of the pools."""
    labels = int(name.removeprefix("likely-"))
    own = pick(rows, metric="error", resampled=0, labels=labels)
    close = [
        0.7 <= np.median(column(mine, "needed") / column(mine, "likely")) <= 1.3
        for pool in {row["pool"] for row in own}
        for mine in [pick(own, pool=pool)]
    ]
    return yes(np.mean(close) >= 0.75)


def ranges(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """The range contains the number needed in 90% of the plans."""
    _, labels, where = name.split("-")
    own = [
        row
        for row in pick(rows, metric="error", labels=int(labels))
        if bool(row["resampled"]) == (where == "resampled")
    ]
    return yes(np.mean([row["low"] <= row["needed"] <= row["high"] for row in own]) >= 0.9)


def demo(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return yes(np.mean([row["low"] <= row["truth"] <= row["high"] for row in rows]) >= 0.95)


def cells_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {name: pick(rows, setting=name) for name in dict.fromkeys(r["setting"] for r in rows)}


def risks_of(rows: Sequence[Row]) -> dict[str, FloatArray]:
    return {way: column(rows, way) for way in WAYS}


LINES = {
    "verdicts-line": "line, 30 labels",
    "verdicts-line-learner": "line by a learner, 30",
}
SHARE = ("mean", "worst", "naive", "control", "verdict")
WAYS = ("naive", "PURE", "LURE", "verdict", "share", "shuffled")


def on_the_line(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """By the share the mean risk is no higher than with the weights of R_LURE."""
    own = risks_of(pick(rows, setting=LINES[name]))
    return yes(own["share"].mean() <= own["LURE"].mean())


def by_the_share(rows: Sequence[Row], settings: Settings, name: str) -> str:
    cells = [risks_of(own) for own in cells_of(rows).values()]
    return judge_share(cells, name.removeprefix("verdicts-"), worst=0.07)


def words(rows: Sequence[Row], settings: Settings, name: str) -> str:
    """Advice by setting, right where the mean risk with R_LURE is lower, or is not."""
    right = said = 0
    for own in cells_of(rows).values():
        helps = column(own, "LURE").mean() < column(own, "naive").mean()
        given = {each: len(pick(own, advice=each)) for each in ("correct", "do not correct")}
        said += sum(given.values())
        right += given["correct" if helps else "do not correct"]
    return yes(right >= 0.9 * said) if said else "cannot tell"


def few_fits(rows: Sequence[Row], settings: Settings, name: str) -> str:
    return yes(max(row["fits"] for row in rows) <= 12)


def known_labels(rows: Sequence[Row], settings: Settings, name: str) -> str:
    chosen = [row for row in rows if row["choice"] not in ("none", "random")]
    if name == "known-labels-unbiased":
        return yes((np.abs(column(chosen, "z")) < 4).all())
    if name == "known-labels-coverage":
        return reaches(chosen, 0.93, "coverage")
    if name == "known-labels-refused":
        at_random = column(pick(rows, choice="random"), "refused_as_sample")
        return yes((column(chosen, "refused_as_sample") >= 0.99).all() and not at_random.any())
    for row in chosen:  # no wider, but for two standard errors of the ratio of two means
        (alone,) = pick(rows, pool=row["pool"], choice="none")
        ratio = row["width"] / alone["width"]
        parts = [one["width_se"] / one["width"] for one in (row, alone)]
        if ratio > 1 + 2 * ratio * np.sqrt(parts[0] ** 2 + parts[1] ** 2):
            return "does not hold"
    return "holds"


RULES: dict[str, dict[str, Rule]] = {
    "demo": {"demo": demo},
    "intervals": {
        **dict.fromkeys(KINDS, default),
        "errors-everywhere": everywhere,
        "log-t": log_t,
        "betting": watched,
        "anytime": watched,
        "width-default-floor-0.5": width,
        "width-default-uniform": width,
        "width-betting-floor-0.5": width,
        "control-5%": control,
        "control-0.5%": control,
    },
    "ratios": {**dict.fromkeys(METHODS, ratios), "betting": ratios_watched},
    "looks": {"all-looks": all_looks, "stop": stop, "width-at-the-budget": at_the_budget},
    "labels-saved": dict.fromkeys(
        ("labels-saved", "labels-saved-least", "worth", "few-errors"), saved
    ),
    "known-labels": dict.fromkeys(
        (
            "known-labels-unbiased",
            "known-labels-coverage",
            "known-labels-width",
            "known-labels-refused",
        ),
        known_labels,
    ),
    "planning": {
        **{f"likely-{n}": likely for n in (0, 50, 100)},
        **{f"range-{n}-real": ranges for n in (0, 50, 100)},
        **{f"range-{n}-resampled": ranges for n in (0, 100)},
    },
    "verdicts": {
        **dict.fromkeys(LINES, on_the_line),
        **{f"verdicts-share-{each}": by_the_share for each in SHARE},
        "verdicts-words": words,
        "verdicts-fits": few_fits,
    },
}
