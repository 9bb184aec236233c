"""Figures and claims of the study of verdicts.

The truth of a setting is the relative gain g of weighted training: how much lower the risk in the
population is, on average over the runs, as a share of the risk without weights. With a tolerance
of 2% of the risk, below which a difference counts as none,

    "correct"          is right where  g > 2%
    "do not correct"   is right where  g <= 2%, so that there is nothing to gain
    "no difference"    is right where  |g| <= 2%
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from levelled.reports.plots import BLACK, canvas, footnote
from levelled_studies.all_or_nothing import TOLERANCE
from levelled_studies.study import Claim, Plot, Ruling
from levelled_studies.tables import judge
from levelled_studies.verdicts.settings import SETTINGS
from levelled_studies.verdicts.trial import VERDICTS, VerdictSettings

__all__ = ["Outcome", "claims", "figures", "is_right", "outcomes"]

WHERE = "Levelled, advice"
COLOURS = dict(zip(VERDICTS, ("#009E73", "#D55E00", "#0072B2", "#DDDDDD"), strict=True))
DECIDED = VERDICTS[:3]


@dataclass(frozen=True, slots=True)
class Outcome:
    """All runs of one setting: how often each verdict was given, and the truth."""

    runs: int
    counts: Mapping[str, int]
    lower: Mapping[str, int]
    """Runs with that verdict in which weights lowered the risk."""
    higher: Mapping[str, int]
    gain: float
    """Relative to the risk without weights, on average over the runs."""
    stderr: float
    """Computed as if the risk without weights were known; too large where the gain is large."""

    def share(self, *advice: str) -> float:
        """The share of runs in which one of these verdicts was given."""
        return sum(self.counts[each] for each in advice) / self.runs

    def n_right(self, tolerance: float) -> int:
        """Verdicts that were right, of those that decide."""
        return sum(self.counts[each] for each in DECIDED if is_right(each, self.gain, tolerance))

    def n_right_between(self, tolerance: float) -> tuple[int, int]:
        """The fewest and the most, were the true gain up to two standard errors off."""
        near = [replace(self, gain=self.gain + off * self.stderr) for off in (-2, 0, 2)]
        counts = [own.n_right(tolerance) for own in near]
        return min(counts), max(counts)

    @property
    def takes_weights(self) -> bool:
        """True if weights changed the risk in any run; otherwise the model takes no weights."""
        return any((*self.lower.values(), *self.higher.values()))

    @property
    def n_decided(self) -> int:
        """Verdicts other than "not enough labels"."""
        return sum(self.counts[each] for each in DECIDED)


def is_right(advice: str, gain: float, tolerance: float) -> bool:
    """True if a verdict that decides is right where weights gain that share of the risk.

    >>> is_right("correct", 0.08, 0.02), is_right("no difference", 0.08, 0.02)
    (True, False)
    """
    if advice == "no difference":
        return abs(gain) <= tolerance
    return (gain > tolerance) == (advice == "correct")


def outcomes(table: pa.Table) -> dict[str, Outcome]:
    """The batches of each setting, put together."""
    rows = table.to_pylist()
    return {
        name: _together([row for row in rows if row["setting"] == name])
        for name in dict.fromkeys(row["setting"] for row in rows)
    }


def _together(rows: Sequence[Mapping[str, float]]) -> Outcome:
    def total(column: str) -> float:
        return sum(row[column] for row in rows)

    runs, naive = total("runs"), total("naive")
    mean = (naive - total("lure")) / runs
    variance = max(total("gain squared") / runs - mean**2, 0.0) / (runs - 1)
    return Outcome(
        runs=int(runs),
        counts={each: int(total(each)) for each in VERDICTS},
        lower={each: int(total(f"{each}; lower")) for each in VERDICTS},
        higher={each: int(total(f"{each}; higher")) for each in VERDICTS},
        gain=mean / (naive / runs),
        stderr=float(np.sqrt(variance)) / (naive / runs),
    )


def claims(table: pa.Table, settings: VerdictSettings) -> list[Claim]:
    """One claim for each promise that the advice makes."""
    cases = outcomes(table)
    return [
        _on_the_line(cases),
        _interpolating(cases),
        _right("right", "all settings", list(cases.values())),
        _right(
            "right-weights",
            "all settings whose model takes weights",
            [own for own in cases.values() if own.takes_weights],
        ),
        _right(
            "right-unknown",
            "the settings that were not used when the rule was made",
            [own for name, own in cases.items() if not SETTINGS[name].used_for_rule],
        ),
        _classifiers({name: own for name, own in cases.items() if _classifies(name)}),
    ]


def _on_the_line(cases: Mapping[str, Outcome]) -> Claim:
    lines = [cases[f"line, {labels} labels"] for labels in (30, 60)]
    held = all(o.share("correct") >= 0.6 and o.share("do not correct") <= 0.05 for o in lines)
    shares = "; ".join(
        f"M = {labels}: {own.share('correct'):.1%} and {own.share('do not correct'):.1%}"
        for labels, own in zip((30, 60), lines, strict=True)
    )
    return Claim(
        "verdict-line",
        WHERE,
        'On the paper\'s linear problem with 30 and 60 labels the verdict is "correct" in at '
        'least 60% of the runs and "do not correct" in at most 5%.',
        f"{shares} of {lines[0].runs} runs each",
        _ruling(held),
        f"Weights lower the risk by {lines[0].gain:.0%} and {lines[1].gain:.0%} there.",
    )


def _interpolating(cases: Mapping[str, Outcome]) -> Claim:
    useless = {
        name: own
        for name, own in cases.items()
        if SETTINGS[name].interpolates and own.gain <= TOLERANCE
    }
    shares = ", ".join(f"{own.share('correct'):.1%} {name}" for name, own in useless.items())
    rarely = [own.share("correct") <= 0.1 for own in useless.values()]
    return Claim(
        "verdict-interpolating",
        WHERE,
        f"For models that interpolate, where weights lower the risk by {TOLERANCE:.0%} or less, "
        'the verdict is "correct" in at most 10% of the runs.',
        shares or "no such setting was run",
        judge(rarely, np.logical_not(rarely)),
    )


def _right(name: str, of: str, cases: Sequence[Outcome]) -> Claim:
    share, finer = (_share_right(cases, tolerance) for tolerance in (TOLERANCE, 0.01))
    decided, runs = (sum(own.n_decided for own in cases), sum(own.runs for own in cases))
    least, most = _share_between(cases)
    helped, hurt = _by_sign(cases)
    return Claim(
        f"verdict-{name}",
        WHERE,
        f'Of all verdicts other than "not enough labels" in {of}, at least 90% are right.',
        f"{share:.1%} of {decided:,} verdicts in {runs:,} runs; {least:.1%} to {most:.1%} where "
        f"true gains are up to two standard errors off; with a tolerance of 1% of the risk instead "
        f"of {TOLERANCE:.0%}, {finer:.1%}",
        _ruling(share >= 0.9) if (least >= 0.9) == (most >= 0.9) and decided else "cannot tell",
        f'Right is what is right on average over the runs of a setting. {helped:.1%} of "correct" '
        f'are in settings where weights lower the mean risk at all, {hurt:.1%} of "do not correct" '
        f"in settings where they raise it; {_right_in_run(cases):.1%} of both agree with the sign "
        f"of their own run's difference.",
    )


def _classifiers(cases: Mapping[str, Outcome]) -> Claim:
    n_each = {name: own.counts["correct"] for name, own in cases.items() if own.counts["correct"]}
    right = {name: n for name, n in n_each.items() if cases[name].gain > TOLERANCE}
    n_given, n_right = sum(n_each.values()), sum(right.values())
    helped = sum(n for name, n in n_each.items() if cases[name].gain > 0)
    share = f" ({n_right / n_given:.1%})" if n_given else ""
    return Claim(
        "verdict-correct-classifiers",
        WHERE,
        'Of the verdicts "correct" on classifiers, at least 90% are right.',
        f"{n_right:,} of {n_given:,}{share} in {sum(own.runs for own in cases.values()):,} runs; "
        f"in settings where weights lower the mean risk at all, {helped:,}",
        _ruling(n_right >= 0.9 * n_given) if n_given else "cannot tell",
        f"Right ones are in: {', '.join(right) or 'no setting'}.",
    )


def _classifies(name: str) -> bool:
    return hasattr(SETTINGS[name].model(), "predict_proba")


def _by_sign(cases: Sequence[Outcome]) -> tuple[float, float]:
    """The share of "correct" where weights help, and of "do not correct" where they hurt."""
    helped = [own for own in cases if own.gain > 0]
    hurt = [own for own in cases if own.gain < 0]
    return _share_given("correct", helped, cases), _share_given("do not correct", hurt, cases)


def _share_given(advice: str, among: Sequence[Outcome], cases: Sequence[Outcome]) -> float:
    n_each = sum(own.counts[advice] for own in cases)
    return sum(own.counts[advice] for own in among) / n_each if n_each else 0.0


def _right_in_run(cases: Sequence[Outcome]) -> float:
    said = sum(own.counts["correct"] + own.counts["do not correct"] for own in cases)
    agreed = sum(own.lower["correct"] + own.higher["do not correct"] for own in cases)
    return agreed / said if said else 0.0


def _share_right(cases: Sequence[Outcome], tolerance: float) -> float:
    decided = sum(own.n_decided for own in cases)
    return sum(own.n_right(tolerance) for own in cases) / decided if decided else 0.0


def _share_between(cases: Sequence[Outcome]) -> tuple[float, float]:
    """The lowest and highest share of right verdicts within the error of the truth."""
    decided = sum(own.n_decided for own in cases)
    bounds = [own.n_right_between(TOLERANCE) for own in cases]
    least, most = (sum(each[at] for each in bounds) for at in (0, 1))
    return (least / decided, most / decided) if decided else (0.0, 0.0)


def _ruling(held: bool) -> Ruling:
    return "holds" if held else "does not hold"


def figures(table: pa.Table, settings: VerdictSettings) -> Mapping[str, Plot]:
    """The shares of the four verdicts in each setting, and the truth beside them."""
    cases = outcomes(table)
    figure, axes = canvas(height=4.6)
    names = list(cases)[::-1]
    start = np.zeros(len(names))
    for advice in VERDICTS:
        share = np.array([cases[name].share(advice) for name in names])
        axes.barh(names, share, left=start, color=COLOURS[advice], label=advice, height=0.72)
        start += share
    for at, name in enumerate(names):
        own = cases[name]
        axes.text(1.02, at, f"{own.gain:+.1%}", va="center", fontsize=6, color=BLACK)
    axes.text(1.02, len(names) - 0.2, "true gain", fontsize=6, va="bottom")
    axes.set_yticks(range(len(names)), [_with_mark(name) for name in names], fontsize=6)
    axes.tick_params(axis="x", labelsize=7)
    axes.set(xlim=(0, 1), ylim=(-0.6, len(names) - 0.4))
    axes.set_xlabel("share of runs", fontsize=8)
    axes.legend(loc="lower left", bbox_to_anchor=(-0.62, 1.03), ncols=2, fontsize=6, frameon=False)
    runs = next(iter(cases.values())).runs
    footnote(figure, f"{runs} runs each; * not looked at when the rule was made")
    return {"verdicts": figure}


def _with_mark(name: str) -> str:
    return name if SETTINGS[name].used_for_rule else f"{name} *"
