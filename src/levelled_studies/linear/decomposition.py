"""Section 4 in numbers (ours): the terms of Theorem 6 beside those of Theorems 1 and 3."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from levelled.reports.numbers import with_error
from levelled.reports.plots import BLACK, Axes, canvas, footnote, title
from levelled_studies.linear.settings import presets
from levelled_studies.linear.terms import POOL, RULES, DecompositionSettings, run
from levelled_studies.study import Claim, Plot, Study
from levelled_studies.tables import verdict

__all__ = ["STUDIES"]

AT = 30
PROPOSALS = tuple(RULES)
ESTIMATORS = ("naive", "PURE", "LURE")
STACK = {
    "1": ("#BBBBBB", "", "1: between pools"),
    "2": ("#56B4E9", "", "2: each draw"),
    "3": ("#E69F00", "//", "3: drift of the mean"),
    "4": ("#CC79A7", "xx", "4: covariance (negative)"),
}


@dataclass(frozen=True, slots=True)
class Terms:
    """The table by proposal, estimator, term and budget."""

    values: Mapping[tuple[str, str, str, int], tuple[float, float]]

    def value(self, proposal: str, name: str, term: str, labels: int = AT) -> float:
        """One term."""
        return self.values[proposal, name, term, labels][0]

    def text(self, proposal: str, name: str, term: str, labels: int = AT) -> str:
        """One term with its standard error."""
        return with_error(*self.values[proposal, name, term, labels])

    def z(self, proposal: str, name: str, term: str, labels: int) -> float:
        """One term in standard errors."""
        value, stderr = self.values[proposal, name, term, labels]
        return value / stderr if stderr > 0 else 0.0

    @property
    def budgets(self) -> list[int]:
        """The budgets at which there are terms."""
        return sorted({labels for *_, labels in self.values})


def _terms(table: pa.Table) -> Terms:
    return Terms(
        {
            (row["proposal"], row["series"], row["term"], row["labels"]): (
                row["value"],
                row["stderr"] or 0.0,
            )
            for row in table.to_pylist()
        }
    )


def figures(table: pa.Table, settings: DecompositionSettings) -> Mapping[str, Plot]:
    """The terms as stacked bars, negative ones below the axis; a dot at the observed variance."""
    terms = _terms(table)
    figure, panels = canvas(rows=len(PROPOSALS), height=5.4)
    for axes, proposal in zip(panels, PROPOSALS, strict=True):
        for place, name in enumerate(ESTIMATORS):
            _bar(axes, place, terms, proposal, name)
        axes.axhline(0, color=BLACK, linewidth=0.6)
        axes.set_ylabel(r"variance $\times 10^3$")
        title(axes, f"{proposal} proposal")
    panels[-1].set_xticks(range(len(ESTIMATORS)), ESTIMATORS)
    handles, labels = panels[0].get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    figure.legend(
        named.values(), named, loc="outside upper center", ncols=2, fontsize=7, frameon=False
    )
    footnote(
        figure,
        f"N = {POOL}, M = {AT}, {settings.trajectories:,} random pools x {settings.per_pool} "
        f"trajectories, seed {settings.seed}",
    )
    return {"decomposition": figure}


def _bar(axes: Axes, place: int, terms: Terms, proposal: str, name: str) -> None:
    up = down = 0.0
    for term, (colour, hatch, label) in STACK.items():
        if (proposal, name, term, AT) not in terms.values:
            continue
        value = 1e3 * terms.value(proposal, name, term)
        look = {"color": colour, "hatch": hatch, "edgecolor": BLACK, "linewidth": 0.4}
        axes.bar(place, value, 0.55, up if value >= 0 else down, label=label, **look)
        up, down = up + max(value, 0), down + min(value, 0)
    observed = 1e3 * _observed(terms, proposal, name)
    axes.plot(place, observed, "D", color=BLACK, ms=3.5, label="observed variance")


def _observed(terms: Terms, proposal: str, name: str) -> float:
    """Within pools and between them."""
    return terms.value(proposal, name, "observed given the pool") + terms.value(proposal, name, "1")


def claims(table: pa.Table, settings: DecompositionSettings) -> list[Claim]:
    """The sentences of section 4, one by one."""
    terms = _terms(table)
    return [
        _adds_up(terms),
        _first_term_is_small(terms),
        _naive_first_term(terms),
        _weighted_variance_is_less(terms),
        _drift_is_positive(terms),
        _covariance_has_either_sign(terms),
        _lower_variance(terms),
    ]


def _adds_up(terms: Terms) -> Claim:
    z = {
        (proposal, name, labels): abs(terms.z(proposal, name, "sum - observed", labels))
        for proposal in PROPOSALS
        for name in ESTIMATORS
        for labels in terms.budgets
    }
    worst = max(z, key=lambda key: z[key])
    return Claim(
        "terms-add-up",
        "Theorems 1, 3 and 6",
        "Given the pool, the terms add up to the variance of each estimator.",
        f"the worst of {len(z)} sums is {z[worst]:.1f} standard errors from what was observed; "
        f"with the geometric proposal at M = {AT} the naive terms sum to "
        f"{terms.text('geometric', 'naive', 'sum given the pool')}, observed "
        f"{terms.text('geometric', 'naive', 'observed given the pool')}",
        verdict([value < 4.5 for value in z.values()]),
        f"The worst is {worst[1]}, {worst[0]} proposal, M = {worst[2]}; 4.5 standard errors were "
        f"allowed.",
    )


def _first_term_is_small(terms: Terms) -> Claim:
    ratio = {
        proposal: terms.value(proposal, "LURE", "2") / terms.value(proposal, "LURE", "Var[L] / N")
        for proposal in PROPOSALS
    }
    text = ", ".join(f"{value:.2g} {proposal}" for proposal, value in ratio.items())
    return Claim(
        "first-term-is-small",
        "section 3.1, remark on Theorem 1",
        "The second term is O(N/M) times larger than the first, and will generally dominate.",
        f"second over first term of R_LURE at M = {AT} (N/M = {POOL / AT:.1f}): {text}",
        verdict([value > 1 for value in ratio.values()]),
        "A proposal that suits the loss makes the second term small; the first is a property of "
        "the pool that no proposal changes.",
    )


def _naive_first_term(terms: Terms) -> Claim:
    ratio = {
        proposal: terms.value(proposal, "naive", "1") / terms.value(proposal, "LURE", "Var[L] / N")
        for proposal in PROPOSALS
    }
    text = ", ".join(f"{terms.text(proposal, 'naive', '1')} {proposal}" for proposal in PROPOSALS)
    shared = terms.value("uniform", "LURE", "Var[L] / N")
    return Claim(
        "naive-first-term",
        "section 4",
        "Term 1 of the naive estimator will typically be larger than, or similar to, its unbiased "
        "counterpart Var[L] / N.",
        f"at M = {AT}: {text}; Var[L] / N is {shared:.5f}",
        verdict([value > 0.8 for value in ratio.values()]),
        "Similar: more than 0.8 times it.",
    )


def _weighted_variance_is_less(terms: Terms) -> Claim:
    pairs = {
        proposal: (terms.value(proposal, "naive", "2"), terms.value(proposal, "LURE", "2"))
        for proposal in PROPOSALS
    }
    text = ", ".join(
        f"{terms.text(proposal, 'LURE', '2')} against {terms.text(proposal, 'naive', '2')} "
        f"{proposal}"
        for proposal in PROPOSALS
    )
    good = pairs["near-optimal"]
    return Claim(
        "weighted-variance-is-less",
        "section 4",
        "For a well-designed strategy the second half of R_LURE's variance is reliably smaller "
        "than term 2 of the naive estimator.",
        f"at M = {AT}: {text}",
        "holds" if good[1] < good[0] else "does not hold",
        "Judged with the near-optimal proposal. The geometric one knows nothing of the loss, and "
        + ("profits too." if pairs["geometric"][1] < pairs["geometric"][0] else "does not profit."),
    )


def _drift_is_positive(terms: Terms) -> Claim:
    values = [
        terms.value(proposal, "naive", "3", labels)
        for proposal in PROPOSALS
        for labels in terms.budgets
    ]
    text = ", ".join(f"{terms.text(proposal, 'naive', '3')} {proposal}" for proposal in PROPOSALS)
    return Claim(
        "drift-is-positive",
        "section 4",
        "Term 3 is always positive and so contributes to a higher variance of the naive estimator.",
        f"at M = {AT}: {text}",
        verdict([value > 0 for value in values]),
        "Term 4 outweighs it here."
        if all(
            terms.value(proposal, "naive", "3") < -terms.value(proposal, "naive", "4")
            for proposal in PROPOSALS
        )
        else "",
    )


def _covariance_has_either_sign(terms: Terms) -> Claim:
    signs = {
        np.sign(terms.value(proposal, "naive", "4", labels))
        for proposal in PROPOSALS
        for labels in terms.budgets
    }
    text = ", ".join(f"{terms.text(proposal, 'naive', '4')} {proposal}" for proposal in PROPOSALS)
    return Claim(
        "covariance-has-either-sign",
        "section 4",
        "Term 4 can be positive or negative depending on the problem.",
        f"at M = {AT}: {text}",
        "holds" if len(signs) == 2 else "holds partly",
        ""
        if len(signs) == 2
        else "Only one of the two signs comes up here: drawing without "
        "replacement makes the losses to come smaller after large ones.",
    )


def _lower_variance(terms: Terms) -> Claim:
    ratio = {
        proposal: _observed(terms, proposal, "LURE") / _observed(terms, proposal, "naive")
        for proposal in PROPOSALS
    }
    text = ", ".join(f"{value:.2f} {proposal}" for proposal, value in ratio.items())
    within = terms.value("geometric", "LURE", "2") / terms.value(
        "geometric", "naive", "observed given the pool"
    )
    return Claim(
        "lure-varies-less-if-suited",
        "section 4",
        "The variance of R_LURE is typically smaller than that of the naive estimator under "
        "sensible proposals.",
        f"Var R_LURE / Var naive over pools at M = {AT}: {text}",
        verdict([ratio["geometric"] < 1, ratio["near-optimal"] < 1]),
        f"With one pool held fixed, as in Figure 5a, the ratio is {within:.1f} for the geometric "
        f"proposal; over pools the naive estimator's bias varies too, which is its term 1.",
    )


STUDIES = {
    "linear-decomposition": Study(
        name="linear-decomposition",
        title="Ours: where the variance of each estimate comes from (section 4)",
        presets=presets(DecompositionSettings(), DecompositionSettings(trajectories=60)),
        tasks=lambda settings: PROPOSALS,
        run=run,
        figures=figures,
        claims=claims,
    )
}
