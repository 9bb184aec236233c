"""Figures and claims of the study of verdicts, from the risks of each way of training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from levelled_studies.regret import WAYS, Bars, Cell, share_claims
from levelled_studies.regret_plots import plot_cells
from levelled_studies.study import Claim, Plot, Row, Ruling
from levelled_studies.verdicts.trial import VerdictSettings

__all__ = ["Outcome", "claims", "figures", "outcomes"]

WHERE = "Levelled, advice"
LINES = {"line, 30 labels": "verdicts-line", "line by a learner, 30": "verdicts-line-learner"}
"""The paper's line, its labels drawn elsewhere and by a learner; the names of the claims."""
FITS = 12
HELPED = 0.0
"""Weights help where they lower the mean risk by more than this share of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """All runs of one setting."""

    cell: Cell
    shares: Sequence[float]
    advice: Sequence[str]
    fits: int
    """The most fits of the model for one decision."""

    def given(self, advice: str) -> int:
        """The runs with that advice."""
        return sum(each == advice for each in self.advice)

    @property
    def gain(self) -> float:
        """The share by which the weights of R_LURE lower the mean risk."""
        return -self.cell.beside("LURE", "naive").mean


def outcomes(table: pa.Table) -> dict[str, Outcome]:
    """The runs of each setting."""
    rows = table.to_pylist()
    names = dict.fromkeys(row["setting"] for row in rows)
    return {name: _outcome(name, [r for r in rows if r["setting"] == name]) for name in names}


def _outcome(name: str, rows: Sequence[Row]) -> Outcome:
    risks = {way: np.array([row[way] for row in rows], dtype=float) for way in WAYS}
    return Outcome(
        Cell(name, risks),
        shares=[row["amount"] for row in rows],
        advice=[row["advice"] for row in rows],
        fits=max(row["fits"] for row in rows),
    )


def claims(table: pa.Table, settings: VerdictSettings) -> list[Claim]:
    """One claim for each promise of the share."""
    runs = outcomes(table)
    cells = [own.cell for own in runs.values()]
    lines = [_on_the_line(claim, runs[name]) for name, claim in LINES.items() if name in runs]
    shared = [
        replace(claim, name=f"verdicts-{claim.name}")
        for claim in share_claims(cells, Bars(), WHERE)
    ]
    return [*lines, *shared, _words(list(runs.values())), _fits(runs)]


def _on_the_line(name: str, own: Outcome) -> Claim:
    share, lure = (own.cell.beside(way, "naive") for way in ("share", "LURE"))
    return Claim(
        name,
        WHERE,
        f"On the paper's linear problem ({own.cell.title}) training by the share lowers the risk "
        f"at least as much as the weights of R_LURE do.",
        f"beside plain training {share.mean:+.1%} ± {share.stderr:.1%}, with the weights of R_LURE "
        f"{lure.mean:+.1%} ± {lure.stderr:.1%}, by the verdict of the first version "
        f"{own.cell.beside('verdict', 'naive').mean:+.1%}; {share.n} runs",
        _ruling(share.mean <= lure.mean),
    )


def _words(runs: Sequence[Outcome]) -> Claim:
    """How often "correct" is said where weights help, and "do not correct" where they do not."""
    said = {
        advice: sum(own.given(advice) for own in runs) for advice in ("correct", "do not correct")
    }
    right = {
        "correct": sum(own.given("correct") for own in runs if own.gain > HELPED),
        "do not correct": sum(own.given("do not correct") for own in runs if own.gain <= HELPED),
    }
    n_said, n_right = sum(said.values()), sum(right.values())
    return Claim(
        "verdicts-words",
        WHERE,
        'Of all advice to "correct" or "do not correct", at least 90% is given in settings where '
        "the weights of R_LURE lower the mean risk, or do not.",
        "; ".join(f'{right[each]:,} of {said[each]:,} "{each}"' for each in said)
        + f" in {sum(len(own.advice) for own in runs):,} runs",
        _ruling(n_right >= 0.9 * n_said) if n_said else "cannot tell",
    )


def _fits(runs: Mapping[str, Outcome]) -> Claim:
    most = max(own.fits for own in runs.values())
    return Claim(
        "verdicts-fits",
        WHERE,
        f"A decision takes at most {FITS} fits of the model.",
        f"at most {most}",
        _ruling(most <= FITS),
    )


def _ruling(held: bool) -> Ruling:
    return "holds" if held else "does not hold"


def figures(table: pa.Table, settings: VerdictSettings) -> Mapping[str, Plot]:
    """Regrets of all ways of training, setting by setting."""
    about = (
        f"{settings.trajectories} runs each, seed {settings.seed}\n"
        "risk: Brier score of classifiers, squared error of regressions; grey: less than 2%"
    )
    return {"regret": plot_cells([own.cell for own in outcomes(table).values()], about)}
