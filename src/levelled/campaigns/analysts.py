"""The part of a campaign that analysts read: figures, comparisons, claims, judges and reports."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from levelled._optional import optional
from levelled.campaigns.drawing.learnt import CampaignPredictor, learnt_sections, predictor_of
from levelled.campaigns.drawing.planning import plan_further
from levelled.campaigns.drawing.pools import CampaignPool, predicted_numbers
from levelled.campaigns.figures.comparing import (
    comparable_figures,
    compare_models,
    compare_with_first,
)
from levelled.campaigns.figures.exporting import as_table, make_report, write_table
from levelled.campaigns.figures.figures import (
    CampaignDiagnosis,
    diagnose_campaign,
    estimate_history,
)
from levelled.campaigns.figures.gate import GateClaim, decide_better, decide_limit
from levelled.campaigns.figures.judging import judge_model, judge_section
from levelled.campaigns.log import decide
from levelled.campaigns.log.log import CampaignLog
from levelled.campaigns.log.state import CampaignState
from levelled.errors import InputError
from levelled.metrics.comparison import Comparison
from levelled.metrics.figure import Figure
from levelled.metrics.judge import JudgeReport
from levelled.metrics.planning import Plan
from levelled.reports import Report, page
from levelled.sources import Pool

if TYPE_CHECKING:
    import pyarrow as pa


class Analysts(ABC):
    """The readings of analysts. Each is a function of the state; none appends an event.

    A subclass knows the log, the state and the pool.
    """

    _log: CampaignLog
    _pool: CampaignPool

    @property
    @abstractmethod
    def state(self) -> CampaignState:
        """The state after every event that is stored by now."""

    @abstractmethod
    def pool(self) -> Pool:
        """The pool of the campaign."""

    @property
    def predictor(self) -> CampaignPredictor | None:
        """What an adaptive campaign has learnt about its losses; None before its first round."""
        return predictor_of(self.state, self._pool.at, self._log.cache)

    def estimate(self) -> list[Figure]:
        """Every metric, model and slice with its interval, from the settled draws.

        The intervals are valid however often you look, except where a warning says otherwise.
        `figure.difference("v2")` compares another model with a figure.
        """
        return comparable_figures(self.state, self._log.cache)

    def compare(
        self, model: str, against: str | None = None, metric: str | None = None
    ) -> list[Comparison]:
        """The metric of `model` minus that of another, on the same labels; one comparison a metric.

        `against` is the first model where it is not given, and "first" names that one too. Without
        a `metric` all of the campaign are compared. `comparison.better` names the better model;
        the interval is valid like those of the estimates.
        """
        return compare_models(self.state, self._log.cache, model, against, metric)

    def gate(
        self,
        metric: str | None = None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        better_than: str | None = None,
        margin: float = 0.0,
        model: str | None = None,
        level: float | None = None,
    ) -> GateClaim:
        """The word on one claim: shown, refuted, or not yet; labels and files stay as they are.

        `at_least` and `at_most` are limits of the metric, the first one if none is named, of the
        first `model` or another. `better_than` names a model that `model` is better than, by more
        than `margin`. The word comes from an interval with a finite-sample guarantee: however
        often you look, it is wrong with probability 1 - `level` at most.
        """
        state, cache, about = self.state, self._log.cache, (metric, model, level)
        if better_than is not None and at_least is None and at_most is None:
            return decide_better(state, cache, *about, better_than, margin)
        if better_than is None and at_most is None and at_least is not None:
            return decide_limit(state, cache, *about, "at least", at_least)
        if better_than is None and at_least is None and at_most is not None:
            return decide_limit(state, cache, *about, "at most", at_most)
        raise InputError("A claim needs one of at_least, at_most and better_than.")

    def judge(
        self,
        model: str | None = None,
        *,
        against: str | None = None,
        positive: str | None = None,
        by: str | None = None,
        tpr: float = 0.9,
        tnr: float = 0.9,
    ) -> JudgeReport:
        """Check the verdicts of a model, the first unless it is named, against the labels.

        The report has the rate of the `positive` class that people would find in the pool beside
        the judge's own, TPR, TNR, precision, agreement and kappa, slices (all, or that of `by`)
        where the judge is worst first, and whether its TPR and TNR are shown to be at least `tpr`
        and `tnr`. `against` names another model to compare with. For ratings the report has the
        mean, bias, mean absolute difference and correlation.
        """
        options = {"against": against, "positive": positive, "by": by}
        numbers = partial(predicted_numbers, self.state, self.pool)
        return judge_model(self.state, self._log.cache, numbers, model, **options, tpr=tpr, tnr=tnr)

    def comparisons(self) -> list[Comparison]:
        """Each further model against the first, in every metric that can be compared."""
        return compare_with_first(self.state, self._log.cache)

    def diagnosis(self) -> CampaignDiagnosis | None:
        """The weights of the labels, and those that matter most; None before one is settled."""
        return diagnose_campaign(self.state, self._log.cache)

    def plan(self, width: float, metric: str | None = None, expected: float | None = None) -> Plan:
        """The number of labels until an interval is `width` wide, from the labels there are."""
        return plan_further(self.state, self._log.cache, self.pool(), width, metric, expected)

    def history(self) -> list[Figure]:
        """The first metric of the first model after 1, 2, ... settled draws.

        Long campaigns are read at about 150 evenly spaced numbers of draws.
        """
        return estimate_history(self.state, self._log.cache)

    def is_reached(self, figures: Sequence[Figure], target_width: float | None = None) -> bool:
        """True if the first interval is at most `target_width` wide, or the campaign's width."""
        width, first = self._target(target_width), figures[0].estimate
        return width is None or first.high - first.low <= width

    def _target(self, width: float | None) -> float | None:
        settings = self.state.settings
        return decide.check_width(settings.metrics[0], width) or settings.target_width

    def report(self, path: str | Path) -> None:
        """Write figures, plots, settings and corrections as one HTML file."""
        text = page(self.report_content())
        Path(path).write_text(text, encoding="utf-8", errors="backslashreplace")

    def report_content(self) -> Report:
        """The content of the report, for other pages to show the same."""
        state, cache = self.state, self._log.cache
        return make_report(
            state,
            comparable_figures(state, cache),
            estimate_history(state, cache),
            compare_with_first(state, cache),
            self._log.last_hash,
            [
                *judge_section(state, cache),
                *learnt_sections(predictor_of(state, self._pool.at, cache)),
            ],
        )

    def to_table(self) -> "pa.Table":
        """Draws, labels, predictions and training weights: one row for each draw given out."""
        return as_table(self.state)

    def to_frame(self) -> Any:  # noqa: ANN401
        """`to_table` as a pandas frame."""
        optional("pandas", extra="pandas")
        return self.to_table().to_pandas()

    def export(self, path: str | Path, *, raw: bool = False) -> None:
        """Write `to_table` as .parquet, .jsonl or .csv, harmless to spreadsheets unless `raw`."""
        write_table(self.to_table(), Path(path), raw=raw)
